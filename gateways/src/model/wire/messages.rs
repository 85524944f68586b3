//! Anthropic's messages.

use serde_json::{Value as Json, json};

use super::{Finish, Reply, ReplyTool, event, pieces};

/// The answer in one piece.
pub(super) fn whole(reply: &Reply) -> Json {
    let text = reply.content.iter().map(|text| json!({"type": "text", "text": text, "citations": null}));
    let content: Vec<_> = text.chain(reply.tools.iter().map(|tool| tool_use(tool, &input(tool)))).collect();
    message(reply, content, stop_reason(reply).into(), reply.tokens.output)
}

fn message(reply: &Reply, content: Vec<Json>, stop_reason: Json, output_tokens: u64) -> Json {
    json!({
        "id": reply.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": reply.tokens.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output_tokens,
        },
    })
}

fn tool_use(tool: &ReplyTool, input: &Json) -> Json {
    json!({"type": "tool_use", "id": tool.id("toolu_"), "name": tool.name, "input": input})
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.finish {
        Finish::Length => "max_tokens",
        Finish::ContentFilter => "refusal",
        Finish::Natural if reply.tools.is_empty() => "end_turn",
        Finish::Natural => "tool_use",
    }
}

/// The arguments as a tree. What is no JSON cannot be said in one piece, and becomes an empty object.
fn input(tool: &ReplyTool) -> Json {
    match &tool.broken {
        Some(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({})),
        None => tool.arguments.clone(),
    }
}

/// The answer as a stream of events.
pub(super) fn stream(reply: &Reply) -> String {
    let mut sent = String::new();
    let mut send = |name: &str, data: Json| sent.push_str(&event(name, data));
    send("message_start", json!({"message": message(reply, Vec::new(), Json::Null, 1)}));
    let mut block = |index: usize, begin: Json, deltas: Vec<Json>| {
        send("content_block_start", json!({"index": index, "content_block": begin}));
        for delta in deltas {
            send("content_block_delta", json!({"index": index, "delta": delta}));
        }
        send("content_block_stop", json!({"index": index}));
    };
    if let Some(text) = &reply.content {
        let deltas = pieces(text).map(|piece| json!({"type": "text_delta", "text": piece}));
        block(0, json!({"type": "text", "text": "", "citations": null}), deltas.collect());
    }
    let before = usize::from(reply.content.is_some());
    for (index, tool) in reply.tools.iter().enumerate() {
        let input = tool.arguments_text();
        let deltas = pieces(&input).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(before + index, tool_use(tool, &json!({})), deltas.collect());
    }
    let delta = json!({"stop_reason": stop_reason(reply), "stop_sequence": null});
    send("message_delta", json!({"delta": delta, "usage": {"output_tokens": reply.tokens.output}}));
    send("message_stop", json!({}));
    sent
}
