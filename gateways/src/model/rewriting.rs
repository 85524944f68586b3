//! Answers of providers and recordings that a fault changes: read, changed, and written again in the same dialect.

use bytes::Bytes;
use scenario::dialect::{Answer, Part, ProposedCall, ReadLimits};
use scenario::evidence::{Dialect, TokenCount};
use scenario::spec::sections::LlmMode;
use serde_json::json;

use super::answering::read;
use super::fault::{self, Cut};
use super::request::ModelRequest;
use super::wire::{Finish, Reply, ReplyTool};
use crate::faults::Fault;

/// An answer after a fault changed it.
pub(super) struct Rewritten {
    pub(super) body: Bytes,
    /// Place where it breaks off.
    pub(super) cut: Option<Cut>,
    /// The answer before the fault, which was billed.
    pub(super) original: Answer,
}

/// Changes an answer that came whole; `number` tells it from others. `None` when it cannot be read, or has nothing that the fault
/// could change.
pub(super) fn rewrite(
    fault: &Fault<LlmMode>,
    asked: &ModelRequest,
    stream: bool,
    body: &Bytes,
    number: u64,
) -> Option<Rewritten> {
    let dialect = asked.route.dialect;
    let original = read(dialect, stream, body, ReadLimits::NONE)?;
    if !original.ended || original.error.is_some() || original.messages.is_empty() {
        return None;
    }
    if let Some(cut) = fault::cut_of(&fault.mode, body, stream) {
        return Some(Rewritten { body: body.slice(..cut.bytes), cut: Some(cut), original });
    }
    let mut reply = reply_of(&original, asked, number)?;
    let is_changed = fault::change(fault, &mut reply);
    is_changed.then(|| Rewritten { body: reply.render(dialect, stream), cut: None, original })
}

/// An answer as a script would give it. `None` when it has several choices, or parts that are no text, thought or tool. Thoughts
/// are left out.
pub(super) fn reply_of(answer: &Answer, asked: &ModelRequest, number: u64) -> Option<Reply> {
    if asked.route.dialect == Dialect::Chat && answer.messages.len() > 1 {
        return None;
    }
    let (mut content, mut tools) = (None, Vec::new());
    for part in answer.messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::Text(text) => content.get_or_insert_with(String::new).push_str(text),
            Part::Thought(_) => {}
            Part::Call(call) => tools.push(tool_of(call)),
            Part::Result(_) | Part::Other(_) => return None,
        }
    }
    let tokens = answer.usage.unwrap_or_else(|| TokenCount {
        input: (asked.size as u64).div_ceil(4),
        output: answer.bytes().div_ceil(4),
        cache_read: 0,
        estimated: true,
    });
    Some(Reply {
        number,
        id: answer.id.clone(),
        model: answer.model.clone().unwrap_or_else(|| asked.model.clone()),
        content,
        tools,
        tokens,
        choices: 1,
        include_usage: asked.body["stream_options"]["include_usage"] == true,
        finish: finish_of(answer),
    })
}

/// A tool with the id that the provider gave it. Arguments that are no JSON stay as they are.
fn tool_of(call: &ProposedCall) -> ReplyTool {
    let arguments = serde_json::from_str(&call.arguments).ok();
    ReplyTool {
        key: call.id.clone(),
        id: Some(call.id.clone()),
        name: call.name.clone(),
        broken: (arguments.is_none() && !call.arguments.is_empty()).then(|| call.arguments.clone()),
        arguments: arguments.unwrap_or_else(|| json!({})),
    }
}

fn finish_of(answer: &Answer) -> Finish {
    match answer.finish_reasons.last().map(String::as_str) {
        Some("length" | "max_tokens" | "incomplete") => Finish::Length,
        Some("content_filter" | "refusal") => Finish::ContentFilter,
        _ => Finish::Natural,
    }
}
