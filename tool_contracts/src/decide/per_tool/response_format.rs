//! R13: the response that proposed the call has the right form.

use serde_json::Value as Json;

use crate::call::Exchange;
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::read::response_format::{ResponseFormat, normalise};
use crate::reason::shown_or_missing;

/// Refuses calls whose response ended for another reason, or brought text beside them.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let format = context.tool.and_then(|tool| tool.response_format.as_ref());
    let (Some(format), Some(exchange)) = (format, &context.batch.exchange) else { return };
    if let Some(sentence) = problem(format, &exchange.response) {
        reasons.push(Reason::new(Code::ResponseFormatInvalid, format.place.path.to_string(), sentence));
    }
}

fn problem(format: &ResponseFormat, response: &Json) -> Option<String> {
    let finish = response.get("finish_reason");
    if let Some(wanted) = &format.finish_reason
        && finish.and_then(Json::as_str).map(normalise) != Some(wanted.as_str())
    {
        return Some(format!(
            "the response must finish with `{wanted}`, and finished with {}",
            shown_or_missing(finish)
        ));
    }
    let text = response.get("content").map(text_of).unwrap_or_default();
    if format.content_empty && !text.trim().is_empty() {
        return Some("no text may accompany the calls, and some does".to_owned());
    }
    None
}

/// The text of a content: a string, or parts with texts.
fn text_of(content: &Json) -> String {
    match content {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

/// The codes for a response as a whole: a request that forced a call, and got none or another.
#[must_use]
pub fn response_codes(set: &Compiled, exchange: &Exchange) -> Vec<Code> {
    let request = &exchange.request;
    let Some(forced) = forced(request) else { return Vec::new() };
    let requires = |name: &str| {
        let format = set.tools.get(name).and_then(|tool| tool.response_format.as_ref());
        format.is_some_and(|format| format.tool_calls_present)
    };
    let is_required = match &forced {
        Forced::Any => offered(request).iter().any(|name| requires(name)),
        Forced::Named(name) => requires(name),
    };
    let called = called(&exchange.response);
    match forced {
        _ if !is_required => Vec::new(),
        _ if called.is_empty() => vec![Code::ToolNotInvoked],
        Forced::Named(name) if !called.contains(&name) => vec![Code::WrongTool],
        _ => Vec::new(),
    }
}

/// The tool choice that a request forces.
enum Forced {
    Any,
    Named(String),
}

fn forced(request: &Json) -> Option<Forced> {
    let choice = request.get("tool_choice")?;
    let kind = choice.as_str().or_else(|| choice.get("type")?.as_str())?;
    let name = tool_name(choice).filter(|_| choice.is_object());
    match (kind, name) {
        ("auto" | "none", _) => None,
        ("required" | "any", _) => Some(Forced::Any),
        (_, name) => name.map(Forced::Named),
    }
}

/// The tools that a request offers.
pub(crate) fn offered(request: &Json) -> Vec<String> {
    request.get("tools").and_then(Json::as_array).into_iter().flatten().filter_map(tool_name).collect()
}

/// The tools that a response calls.
pub(crate) fn called(response: &Json) -> Vec<String> {
    response.get("tool_calls").and_then(Json::as_array).into_iter().flatten().filter_map(tool_name).collect()
}

/// The name of a tool in any of the forms that providers use.
fn tool_name(tool: &Json) -> Option<String> {
    let name = tool.as_str().or_else(|| tool.get("name")?.as_str());
    name.or_else(|| tool.get("function")?.get("name")?.as_str()).map(ToOwned::to_owned)
}
