//! The model asked again: its answer and the reasons against its calls, as one more turn of the conversation.

use scenario::dialect::{Answer, Part, ProposedCall};
use scenario::evidence::Dialect;
use serde_json::{Value as Json, json};

/// The result of a call that was fine by itself.
const NOT_DONE: &str = "not carried out, because another call of the same answer was refused";

/// The request with the refused answer and a result for each of its calls.
pub(super) fn asked_again(dialect: Dialect, body: &Json, answer: &Answer, refusals: &[Option<String>]) -> Json {
    let texts = answer.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let calls: Vec<(String, &ProposedCall, &str)> = answer
        .calls()
        .enumerate()
        .map(|(place, call)| {
            let id = if call.id.is_empty() { format!("call_{place}") } else { call.id.clone() };
            let result = refusals.get(place).and_then(Option::as_deref).unwrap_or(NOT_DONE);
            (id, call, result)
        })
        .collect();
    let mut again = body.clone();
    match dialect {
        Dialect::Messages => push(&mut again, "messages", messages(&text, &calls)),
        Dialect::Responses => {
            if let Some(said) = again["input"].as_str() {
                again["input"] = json!([{"role": "user", "content": said}]);
            }
            push(&mut again, "input", responses(&text, &calls));
        }
        _ => push(&mut again, "messages", chat(&text, &calls)),
    }
    // A forced call was made, and refused: another may be better.
    if let Some(fields) = again.as_object_mut() {
        fields.shift_remove("tool_choice");
    }
    again
}

fn push(body: &mut Json, key: &str, items: Vec<Json>) {
    if let Some(list) = body[key].as_array_mut() {
        list.extend(items);
    }
}

fn chat(text: &str, calls: &[(String, &ProposedCall, &str)]) -> Vec<Json> {
    let content = if text.is_empty() { Json::Null } else { text.into() };
    let tools: Vec<_> = calls
        .iter()
        .map(|(id, call, _)| {
            json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
        })
        .collect();
    let said = json!({"role": "assistant", "content": content, "tool_calls": tools});
    let results =
        calls.iter().map(|(id, _, result)| json!({"role": "tool", "tool_call_id": id, "content": refused(result)}));
    std::iter::once(said).chain(results).collect()
}

fn messages(text: &str, calls: &[(String, &ProposedCall, &str)]) -> Vec<Json> {
    let said = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let used = calls.iter().map(|(id, call, _)| {
        let input = serde_json::from_str::<Json>(&call.arguments).ok().filter(Json::is_object);
        json!({"type": "tool_use", "id": id, "name": call.name, "input": input.unwrap_or_else(|| json!({}))})
    });
    let results = calls.iter().map(|(id, _, result)| {
        json!({"type": "tool_result", "tool_use_id": id, "content": refused(result), "is_error": true})
    });
    vec![
        json!({"role": "assistant", "content": said.into_iter().chain(used).collect::<Vec<_>>()}),
        json!({"role": "user", "content": results.collect::<Vec<_>>()}),
    ]
}

fn responses(text: &str, calls: &[(String, &ProposedCall, &str)]) -> Vec<Json> {
    let said = (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
    let called = calls.iter().map(
        |(id, call, _)| json!({"type": "function_call", "call_id": id, "name": call.name, "arguments": call.arguments}),
    );
    let results = calls
        .iter()
        .map(|(id, _, result)| json!({"type": "function_call_output", "call_id": id, "output": refused(result)}));
    said.into_iter().chain(called).chain(results).collect()
}

fn refused(reason: &str) -> String {
    format!("The call was refused. {reason}")
}
