//! Requests and answers as contracts see them: in one form for all dialects.

use scenario::dialect::{Answer, Part, tool_results};
use scenario::evidence::Dialect;
use serde_json::{Value as Json, json};
use tool_contracts::{
    Exchange, ModelRequest as RawRequest, ModelRequestSeen, OfferedTool, ProposedCall, ToolResultSeen,
};

use crate::model::refusal::Shape;
use crate::model::request::ModelRequest;

/// A request.
pub(super) fn request(asked: &ModelRequest) -> ModelRequestSeen {
    let dialect = asked.route.dialect;
    let provider = match asked.route.shape {
        Shape::OpenAi => "openai",
        Shape::Anthropic => "anthropic",
    };
    let results = tool_results(dialect, &asked.body).into_iter().map(|sent| ToolResultSeen {
        id: sent.id.to_owned(),
        text: sent.text(),
        is_error: sent.is_error,
    });
    ModelRequestSeen {
        request: RawRequest { provider: provider.to_owned(), body: asked.body.clone() },
        offered: offered(dialect, &asked.body),
        results: results.collect(),
    }
}

/// The tools that a request offers. A tool of the provider has a type and maybe no name.
fn offered(dialect: Dialect, body: &Json) -> Vec<OfferedTool> {
    let lists = ["tools", "functions"].into_iter().filter_map(|key| body[key].as_array()).flatten();
    lists.filter_map(|tool| Some(OfferedTool { name: name(dialect, tool)?.to_owned(), schema: schema(tool) })).collect()
}

/// The name of an offered tool.
pub(super) fn name(dialect: Dialect, tool: &Json) -> Option<&str> {
    let function = if dialect == Dialect::Chat { tool["function"]["name"].as_str() } else { None };
    function.or_else(|| tool["name"].as_str()).or_else(|| tool["type"].as_str())
}

fn schema(tool: &Json) -> Option<Json> {
    let holders = [&tool["function"]["parameters"], &tool["parameters"], &tool["input_schema"]];
    holders.into_iter().find(|schema| schema.is_object()).cloned()
}

/// The calls of an answer.
pub(super) fn proposed(answer: &Answer) -> Vec<ProposedCall> {
    let call = |call: &scenario::dialect::ProposedCall| ProposedCall {
        id: call.id.clone(),
        tool: call.name.clone(),
        arguments: arguments(&call.arguments),
    };
    answer.calls().map(call).collect()
}

/// Arguments as a tree; the text where they are no JSON.
fn arguments(text: &str) -> Json {
    match text.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

/// A request and its answer, for rules about both.
pub(super) fn exchange(asked: &ModelRequest, answer: &Answer) -> Exchange {
    let body = &asked.body;
    let messages = if asked.route.dialect == Dialect::Responses { &body["input"] } else { &body["messages"] };
    let texts = answer.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let content = texts.collect::<Vec<_>>().join("\n");
    let calls: Vec<_> =
        answer.calls().map(|call| json!({"name": call.name, "arguments": arguments(&call.arguments)})).collect();
    let mut request = json!({"model": body["model"], "messages": messages, "tools": body["tools"]});
    if !body["tool_choice"].is_null() {
        request["tool_choice"] = body["tool_choice"].clone();
    }
    let content = if content.is_empty() { Json::Null } else { content.into() };
    let finish = finish_reason(asked.route.dialect, answer, !calls.is_empty());
    Exchange { request, response: json!({"content": content, "finish_reason": finish, "tool_calls": calls}) }
}

/// The reason for the end, as chat completions call it. Responses of the third dialect have a status in its place.
fn finish_reason(dialect: Dialect, answer: &Answer, calls_tools: bool) -> Option<String> {
    let last = answer.finish_reasons.last();
    match (dialect, last.map(String::as_str)) {
        (Dialect::Responses, Some("completed") | None) => {
            Some(if calls_tools { "tool_calls" } else { "stop" }.to_owned())
        }
        _ => last.cloned(),
    }
}
