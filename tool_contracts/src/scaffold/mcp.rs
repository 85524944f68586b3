//! Tools as an MCP server lists them.

use serde_json::Value as Json;

use super::{SeenTool, ToolHints};

/// A value that is no list of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no result of `tools/list`: a list of tools, each with a `name`, is expected under `tools`")]
pub struct NoToolList;

/// The tools in a result of `tools/list`, the whole response around it, or the list alone. What annotations promise is a
/// hint and no more: the server wrote them.
///
/// # Errors
/// The value is none of these, or a tool has no name.
pub fn seen_in_mcp(listed: &Json) -> Result<Vec<SeenTool>, NoToolList> {
    let result = listed.get("result").unwrap_or(listed);
    let tools = result.get("tools").unwrap_or(result).as_array().ok_or(NoToolList)?;
    tools.iter().map(seen).collect()
}

fn seen(tool: &Json) -> Result<SeenTool, NoToolList> {
    let text = |key: &str| tool.get(key).and_then(Json::as_str).map(ToOwned::to_owned);
    let hint = |key: &str| tool.pointer(&format!("/annotations/{key}")).and_then(Json::as_bool);
    let hints = ToolHints { method: None, is_read_only: hint("readOnlyHint"), is_destructive: hint("destructiveHint") };
    let description = text("description").or_else(|| text("title")).unwrap_or_default();
    Ok(SeenTool { name: text("name").ok_or(NoToolList)?, description, hints, calls: Vec::new() })
}
