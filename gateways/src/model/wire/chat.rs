//! OpenAI's chat completions.

use serde_json::{Value as Json, json};

use super::{CREATED, Finish, Reply, ReplyTool, pieces};

/// The answer in one piece.
pub(super) fn whole(reply: &Reply) -> Json {
    let choices: Vec<_> = (0..reply.choices).map(|index| choice(reply, index)).collect();
    json!({
        "id": id(reply),
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": choices,
        "usage": usage(reply),
        "system_fingerprint": null,
    })
}

fn choice(reply: &Reply, index: usize) -> Json {
    let mut message = json!({"role": "assistant", "content": reply.content, "refusal": null});
    if !reply.tools.is_empty() {
        let tools = reply.tools.iter().map(|tool| {
            let function = json!({"name": tool.name, "arguments": tool.arguments_text()});
            json!({"id": tool_id(tool, index), "type": "function", "function": function})
        });
        message["tool_calls"] = tools.collect();
    }
    json!({"index": index, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)})
}

/// The answer as a stream of chunks.
pub(super) fn stream(reply: &Reply) -> String {
    let mut sent = String::new();
    for index in 0..reply.choices {
        for delta in deltas(reply, index) {
            let choice = json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": null});
            chunk(&mut sent, reply, json!([choice]), &Json::Null);
        }
        let end = json!({"index": index, "delta": {}, "logprobs": null, "finish_reason": finish_reason(reply)});
        chunk(&mut sent, reply, json!([end]), &Json::Null);
    }
    if reply.include_usage {
        chunk(&mut sent, reply, json!([]), &usage(reply));
    }
    sent.push_str("data: [DONE]\n\n");
    sent
}

fn deltas(reply: &Reply, choice: usize) -> Vec<Json> {
    let content = if reply.content.is_some() { json!("") } else { Json::Null };
    let mut deltas = vec![json!({"role": "assistant", "content": content, "refusal": null})];
    deltas.extend(reply.content.iter().flat_map(|text| pieces(text)).map(|piece| json!({"content": piece})));
    for (index, tool) in reply.tools.iter().enumerate() {
        let function = json!({"name": tool.name, "arguments": ""});
        let begin = json!({"index": index, "id": tool_id(tool, choice), "type": "function", "function": function});
        deltas.push(json!({"tool_calls": [begin]}));
        let arguments = tool.arguments_text();
        deltas.extend(
            pieces(&arguments).map(|piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})),
        );
    }
    deltas
}

fn chunk(sent: &mut String, reply: &Reply, choices: Json, usage: &Json) {
    let mut chunk = json!({
        "id": id(reply),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": reply.model,
        "system_fingerprint": null,
        "choices": choices,
    });
    if reply.include_usage {
        chunk["usage"] = usage.clone();
    }
    sent.push_str(&format!("data: {chunk}\n\n"));
}

fn id(reply: &Reply) -> String {
    reply.id("chatcmpl-")
}

/// Every choice has tools of its own.
fn tool_id(tool: &ReplyTool, choice: usize) -> String {
    if choice == 0 { tool.id("call_") } else { format!("call_{}_c{choice}", tool.key) }
}

fn finish_reason(reply: &Reply) -> &'static str {
    match reply.finish {
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
        Finish::Natural if reply.tools.is_empty() => "stop",
        Finish::Natural => "tool_calls",
    }
}

fn usage(reply: &Reply) -> Json {
    let tokens = reply.tokens;
    json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    })
}
