//! OpenAI's responses.

use serde_json::{Value as Json, json};

use super::{CREATED, Finish, Reply, ReplyTool, event, pieces};

/// The answer in one piece.
pub(super) fn whole(reply: &Reply) -> Json {
    response(reply, last_status(reply))
}

/// The status of a response that has ended.
fn last_status(reply: &Reply) -> &'static str {
    if reply.finish == Finish::Natural { "completed" } else { "incomplete" }
}

/// Returns the reason why a response is incomplete.
fn incomplete_details(reply: &Reply) -> Json {
    match reply.finish {
        Finish::Natural => Json::Null,
        Finish::Length => json!({"reason": "max_output_tokens"}),
        Finish::ContentFilter => json!({"reason": "content_filter"}),
    }
}

/// Formats the response in a state; only a completed one has its output and its token counts.
fn response(reply: &Reply, status: &str) -> Json {
    let completed = status != "in_progress";
    let tokens = reply.tokens;
    let usage = json!({
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.input + tokens.output,
    });
    json!({
        "id": reply.id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": if completed { incomplete_details(reply) } else { Json::Null },
        "instructions": null,
        "max_output_tokens": null,
        "model": reply.model,
        "output": if completed { items(reply) } else { Vec::new() },
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": if completed { usage } else { Json::Null },
        "user": null,
        "metadata": {},
    })
}

fn items(reply: &Reply) -> Vec<Json> {
    let message = reply.content.iter().map(|text| message(reply, "completed", vec![part(text)]));
    let tools = reply.tools.iter().enumerate();
    message.chain(tools.map(|(index, tool)| call(reply, index, tool, "completed"))).collect()
}

fn message(reply: &Reply, status: &str, content: Vec<Json>) -> Json {
    json!({"id": message_id(reply), "type": "message", "status": status, "role": "assistant", "content": content})
}

fn message_id(reply: &Reply) -> String {
    format!("msg_{}", reply.number)
}

fn part(text: &str) -> Json {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn call(reply: &Reply, index: usize, tool: &ReplyTool, status: &str) -> Json {
    json!({
        "id": call_item_id(reply, index),
        "type": "function_call",
        "status": status,
        "arguments": if status == "completed" { tool.arguments_text() } else { String::new() },
        "call_id": tool.id("call_"),
        "name": tool.name,
    })
}

fn call_item_id(reply: &Reply, index: usize) -> String {
    format!("fc_{}_{index}", reply.number)
}

/// The events of a stream, each with its place in it.
#[derive(Default)]
struct Events {
    sent: String,
    sequence_number: u64,
}

impl Events {
    fn send(&mut self, name: &str, mut data: Json) {
        data["sequence_number"] = self.sequence_number.into();
        self.sequence_number += 1;
        self.sent.push_str(&event(name, data));
    }
}

/// The answer as a stream of events.
pub(super) fn stream(reply: &Reply) -> String {
    let mut events = Events::default();
    for state in ["created", "in_progress"] {
        events.send(&format!("response.{state}"), json!({"response": response(reply, "in_progress")}));
    }
    let mut output_index = 0;
    if let Some(text) = &reply.content {
        send_message(&mut events, reply, text);
        output_index += 1;
    }
    for (index, tool) in reply.tools.iter().enumerate() {
        send_call(&mut events, reply, output_index + index, index, tool);
    }
    let last = last_status(reply);
    events.send(&format!("response.{last}"), json!({"response": response(reply, last)}));
    events.sent
}

fn send_message(events: &mut Events, reply: &Reply, text: &str) {
    let at = |mut data: Json| {
        data["item_id"] = message_id(reply).into();
        data["output_index"] = 0.into();
        data["content_index"] = 0.into();
        data
    };
    let begun = message(reply, "in_progress", Vec::new());
    events.send("response.output_item.added", json!({"output_index": 0, "item": begun}));
    events.send("response.content_part.added", at(json!({"part": part("")})));
    for piece in pieces(text) {
        events.send("response.output_text.delta", at(json!({"delta": piece, "logprobs": []})));
    }
    events.send("response.output_text.done", at(json!({"text": text, "logprobs": []})));
    events.send("response.content_part.done", at(json!({"part": part(text)})));
    let done = message(reply, "completed", vec![part(text)]);
    events.send("response.output_item.done", json!({"output_index": 0, "item": done}));
}

fn send_call(events: &mut Events, reply: &Reply, output_index: usize, index: usize, tool: &ReplyTool) {
    let item = |status| json!({"output_index": output_index, "item": call(reply, index, tool, status)});
    let at = |mut data: Json| {
        data["item_id"] = call_item_id(reply, index).into();
        data["output_index"] = output_index.into();
        data
    };
    let arguments = tool.arguments_text();
    events.send("response.output_item.added", item("in_progress"));
    for piece in pieces(&arguments) {
        events.send("response.function_call_arguments.delta", at(json!({"delta": piece})));
    }
    events.send("response.function_call_arguments.done", at(json!({"name": tool.name, "arguments": arguments})));
    events.send("response.output_item.done", item("completed"));
}
