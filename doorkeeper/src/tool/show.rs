//! Tools and results as text.

use serde_json::Value as Json;

/// Formats a line for each tool: its name, and the first line of its description.
pub(super) fn list(tools: &[Json]) -> String {
    let name = |tool: &Json| text(tool, "name").to_owned();
    let widest = tools.iter().map(|tool| name(tool).chars().count()).max().unwrap_or_default();
    let line = |tool: &Json| {
        let about = match text(tool, "description") {
            "" => text(tool, "title"),
            description => description,
        };
        let line = format!("{:widest$}  {}", name(tool), about.trim().lines().next().unwrap_or_default());
        format!("{}\n", line.trim_end())
    };
    tools.iter().map(line).collect()
}

/// Formats a tool: its description, its arguments, and an example of a call.
pub(super) fn one(tool: &Json) -> String {
    let name = text(tool, "name");
    let mut shown = format!("{name}\n");
    for about in
        ["title", "description"].map(|key| text(tool, key).trim()).into_iter().filter(|about| !about.is_empty())
    {
        shown.push_str(&format!("{about}\n"));
    }
    for (key, what) in [("inputSchema", "arguments"), ("outputSchema", "result")] {
        if let Some(schema) = tool.get(key) {
            shown.push_str(&format!("\nJSON Schema of the {what}:\n{schema:#}\n"));
        }
    }
    shown.push_str(&format!("\ncall it: touchstone-tool {name} '{}'\n", example(tool)));
    shown
}

/// A result: its text, or its structured content where it has none.
pub(super) fn result(result: &Json) -> String {
    let content = result.get("content").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut shown: String = content.iter().map(item).collect();
    let has_text = content.iter().any(|item| !text(item, "text").is_empty());
    if let Some(structured) = result.get("structuredContent").filter(|_| !has_text) {
        shown.push_str(&format!("{structured:#}\n"));
    }
    shown
}

/// A part of a result, with a line break at its end.
fn item(item: &Json) -> String {
    let resource = item.get("resource").unwrap_or(item);
    let shown = match text(item, "type") {
        "text" => text(item, "text").to_owned(),
        "resource" if !text(resource, "text").is_empty() => text(resource, "text").to_owned(),
        "resource" | "resource_link" => format!("[resource {}]", text(resource, "uri")),
        kind => format!("[{kind} {}, {} characters of base64]", text(item, "mimeType"), text(item, "data").len()),
    };
    if shown.is_empty() || shown.ends_with('\n') { shown } else { shown + "\n" }
}

/// Arguments that are needed, with a value of their type.
fn example(tool: &Json) -> Json {
    let schema = tool.get("inputSchema").unwrap_or(&Json::Null);
    let required = schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let argument = |name: &str| {
        let schema = schema.get("properties").and_then(|properties| properties.get(name));
        (name.to_owned(), value(schema.unwrap_or(&Json::Null)))
    };
    Json::Object(required.map(argument).collect())
}

fn value(schema: &Json) -> Json {
    if let Some(first) = schema.get("enum").and_then(|values| values.get(0)) {
        return first.clone();
    }
    match text(schema, "type") {
        "integer" | "number" => 1.into(),
        "boolean" => true.into(),
        "array" => Json::Array(Vec::new()),
        "object" => Json::Object(serde_json::Map::new()),
        _ => "…".into(),
    }
}

fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{list, one, result};

    #[test]
    fn tools_stand_in_lines() {
        let tools = [
            json!({"name": "read", "description": "Read a note\nand more"}),
            json!({"name": "write_note", "title": "Write"}),
            json!({"name": "x"}),
        ];
        assert_eq!(list(&tools), "read        Read a note\nwrite_note  Write\nx\n");
    }

    #[test]
    fn a_tool_is_shown_with_a_call_of_it() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}, "k": {"enum": ["a"]}}, "required": ["id", "n", "k"]});
        let shown = one(&json!({"name": "read", "description": "Read a note", "inputSchema": schema}));
        assert!(shown.starts_with("read\nRead a note\n\nJSON Schema of the arguments:\n{\n"), "{shown}");
        assert!(shown.ends_with("call it: touchstone-tool read '{\"id\":\"…\",\"n\":1,\"k\":\"a\"}'\n"), "{shown}");
    }

    #[test]
    fn structured_content_stands_for_a_text_that_is_missing() {
        assert_eq!(result(&json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"a": 1}})), "a\n");
        assert_eq!(result(&json!({"content": [], "structuredContent": {"a": 1}})), "{\n  \"a\": 1\n}\n");
        assert_eq!(result(&json!({})), "");
        let content = json!([{"type": "image", "mimeType": "image/png", "data": "AAAA"}, {"type": "resource", "resource": {"uri": "x:y"}}]);
        assert_eq!(result(&json!({"content": content})), "[image image/png, 4 characters of base64]\n[resource x:y]\n");
    }
}
