//! Requests with fewer tools.

use scenario::evidence::Dialect;
use serde_json::{Value as Json, json};

use super::seen::name;

/// Takes tools out of a request. A choice that names one of them becomes free, and a request without any tool forgets about
/// tools, unless its conversation has some in it and the provider asks for their definitions.
pub(super) fn narrow(dialect: Dialect, body: &mut Json, hidden: &[String]) {
    let is_hidden = |tool: &Json| name(dialect, tool).is_some_and(|name| hidden.iter().any(|one| one == name));
    let before = body["tools"].clone();
    for key in ["tools", "functions"] {
        if let Some(tools) = body.get_mut(key).and_then(Json::as_array_mut) {
            tools.retain(|tool| !is_hidden(tool));
        }
    }
    if forced(body).is_some_and(|name| hidden.contains(&name)) {
        body["tool_choice"] = if dialect == Dialect::Messages { json!({"type": "auto"}) } else { "auto".into() };
    }
    let is_empty = |key: &str| body[key].as_array().is_none_or(Vec::is_empty);
    if !is_empty("tools") || !is_empty("functions") {
        return;
    }
    if dialect == Dialect::Messages && has_tool_blocks(body) {
        body["tools"] = before;
        body["tool_choice"] = json!({"type": "none"});
        return;
    }
    if let Some(fields) = body.as_object_mut() {
        for key in ["tools", "functions", "tool_choice", "function_call", "parallel_tool_calls"] {
            fields.shift_remove(key);
        }
    }
}

/// The tool that a request forces by its name.
fn forced(body: &Json) -> Option<String> {
    let choice = &body["tool_choice"];
    let name = choice["function"]["name"].as_str().or_else(|| choice["name"].as_str());
    name.map(ToOwned::to_owned)
}

/// True when the conversation of Anthropic's dialect holds calls or results.
fn has_tool_blocks(body: &Json) -> bool {
    let blocks = body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    blocks.flatten().any(|block| block["type"] == "tool_use" || block["type"] == "tool_result")
}

/// Adds a text of the system to a request.
pub(super) fn tell(dialect: Dialect, body: &mut Json, text: &str) {
    match dialect {
        Dialect::Messages => match &mut body["system"] {
            Json::Array(blocks) => blocks.push(json!({"type": "text", "text": text})),
            Json::String(before) => *before = format!("{before}\n\n{text}"),
            other => *other = text.into(),
        },
        Dialect::Responses => match &mut body["instructions"] {
            Json::String(before) => *before = format!("{before}\n\n{text}"),
            other => *other = text.into(),
        },
        _ => {
            if let Some(messages) = body["messages"].as_array_mut() {
                messages.push(json!({"role": "system", "content": text}));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::Dialect;
    use serde_json::json;

    use super::{narrow, tell};

    #[test]
    fn a_choice_of_a_hidden_tool_becomes_free() {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
        let choice = json!({"type": "function", "function": {"name": "pay"}});
        let mut body =
            json!({"tools": [tool("pay"), tool("look")], "tool_choice": choice, "parallel_tool_calls": true});
        narrow(Dialect::Chat, &mut body, &["pay".to_owned()]);
        let expected = json!({"tools": [tool("look")], "tool_choice": "auto", "parallel_tool_calls": true});
        assert_eq!(body, expected);
        narrow(Dialect::Chat, &mut body, &["look".to_owned()]);
        assert_eq!(body, json!({}), "a request without tools says nothing of them");
    }

    #[test]
    fn a_conversation_with_tools_keeps_their_definitions_where_the_provider_needs_them() {
        let tools = json!([{"name": "pay", "input_schema": {}}]);
        let used =
            json!([{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "pay", "input": {}}]}]);
        let mut body = json!({"tools": tools, "messages": used});
        narrow(Dialect::Messages, &mut body, &["pay".to_owned()]);
        assert_eq!(body, json!({"tools": tools, "messages": used, "tool_choice": {"type": "none"}}));
        let mut fresh = json!({"tools": tools, "messages": []});
        narrow(Dialect::Messages, &mut fresh, &["pay".to_owned()]);
        assert_eq!(fresh, json!({"messages": []}));
    }

    #[test]
    fn a_text_of_the_system_is_added_to_what_is_there() {
        let mut chat = json!({"messages": [{"role": "user", "content": "hi"}]});
        tell(Dialect::Chat, &mut chat, "no");
        assert_eq!(chat["messages"][1], json!({"role": "system", "content": "no"}));
        let mut messages = json!({"system": "be kind"});
        tell(Dialect::Messages, &mut messages, "no");
        assert_eq!(messages["system"], "be kind\n\nno");
        let mut responses = json!({"input": "hi"});
        tell(Dialect::Responses, &mut responses, "no");
        assert_eq!(responses["instructions"], "no");
    }
}
