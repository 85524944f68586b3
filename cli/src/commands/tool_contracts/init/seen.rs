//! The tools of a source.

use std::path::Path;

use scenario::import::openapi::{ImportOptions, import};
use scenario::untrusted;
use serde_json::Value as Json;
use tool_contracts::scaffold::{SeenTool, ToolHints, seen_in_mcp, seen_in_trace};

use super::super::trace::entries;
use super::{Source, mcp_server};
use crate::commands::tools::read_document;
use crate::data_dir::StoreOption;
use crate::output::CommandError;

/// The length at which the reason is cut why there are no tools.
const MOST_REASON: usize = 10_000;

impl Source {
    /// The tools, and where they were seen in a few words.
    pub(super) fn tools(&self, store: &StoreOption) -> Result<(&'static str, Vec<SeenTool>), CommandError> {
        if let Some(path) = &self.from_openapi {
            return Ok(("an OpenAPI document", from_openapi(path)?));
        }
        if let Some(words) = &self.from_mcp {
            return Ok(("the tools of an MCP server", from_mcp(words)?));
        }
        let trace = self.from_run.as_deref().unwrap_or_default();
        Ok(("a recorded run", seen_in_trace(&entries(trace, store)?)))
    }
}

fn from_openapi(path: &Path) -> Result<Vec<SeenTool>, CommandError> {
    let imported = import(&read_document(path)?, &ImportOptions::default()).map_err(|error| {
        let reason = untrusted::cut(&error.to_string(), MOST_REASON);
        CommandError::usage(format!("{}: {}", path.display(), untrusted::visible(&reason)))
    })?;
    Ok(imported.tools.iter().map(of_operation).collect())
}

fn of_operation(tool: &Json) -> SeenTool {
    let text = |pointer: &str| tool.pointer(pointer).and_then(Json::as_str).map(ToOwned::to_owned);
    SeenTool {
        name: text("/name").unwrap_or_default(),
        description: text("/title").or_else(|| text("/description")).unwrap_or_default(),
        hints: ToolHints { method: text("/http/method"), ..ToolHints::default() },
        calls: Vec::new(),
    }
}

/// A JSON file is read, and everything else started.
fn from_mcp(words: &[String]) -> Result<Vec<SeenTool>, CommandError> {
    let listed = match words {
        [file] if file == "-" || Path::new(file).extension().is_some_and(|extension| extension == "json") => {
            let text = read_document(Path::new(file))?;
            serde_json::from_str(&text).map_err(|error| CommandError::usage(format!("{file} is no JSON: {error}")))?
        }
        _ => mcp_server::listed(words).map_err(CommandError::usage)?,
    };
    seen_in_mcp(&listed).map_err(CommandError::usage)
}
