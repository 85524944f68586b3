//! A first set of contracts for tools that were seen: in a description of an API, at an MCP server, or in a recorded run.
//!
//! Everything that nobody said is a guess, and has a comment `# guess: …` beside it, for a person to look at.

mod guess;
mod mcp;
mod order;
mod recorded;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeSet;

use serde_json::Value as Json;
use yaml_tree::untrusted;

use crate::compile::RawFile;
pub use mcp::{NoToolList, seen_in_mcp};
pub use recorded::seen_in_trace;

/// The longest name of a tool, because it is the name of a file too.
const MOST_NAME: usize = 200;
/// The names that files of a set have already.
const TAKEN: [&str; 2] = ["session", "workflow"];

/// A tool that was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeenTool {
    /// Its name.
    pub name: String,
    /// Its description; empty when there is none.
    pub description: String,
    /// Hints about its effect.
    pub hints: ToolHints,
    /// Its calls, where some were recorded.
    pub calls: Vec<SeenCall>,
}

/// Hints of a description about the effect of a tool; nothing of it is proven.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolHints {
    /// The method of HTTP that carries it out.
    pub method: Option<String>,
    /// The tool says whether it only reads.
    pub is_read_only: Option<bool>,
    /// The tool says whether it destroys something.
    pub is_destructive: Option<bool>,
}

/// A call that was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCall {
    /// Its place among all calls of the run.
    pub place: u64,
    /// Its arguments.
    pub arguments: Json,
}

/// The files of a first set, and notes about tools that are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaffold {
    /// `session.yaml`, and a file for each tool.
    pub files: Vec<RawFile>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Writes a first set for tools that were seen. `source` says in a few words where.
#[must_use]
pub fn scaffold(agent: &str, source: &str, seen: &[SeenTool]) -> Scaffold {
    let mut notes = Vec::new();
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for tool in seen {
        match problem_with(&tool.name) {
            Some(problem) => notes.push(format!("left out the tool {:?}: {problem}", untrusted::line(&tool.name, 60))),
            None if !names.insert(tool.name.as_str()) => {
                notes.push(format!("the tool `{}` was seen twice; the first counts", tool.name));
            }
            None => tools.push(tool),
        }
    }
    let session = RawFile { name: "session.yaml".to_owned(), text: text::session(agent, source, &tools) };
    let file = |tool: &&SeenTool| RawFile { name: format!("{}.yaml", tool.name), text: text::tool(tool) };
    let files = std::iter::once(session).chain(tools.iter().map(file)).collect();
    Scaffold { files, notes }
}

/// The reason for which a name cannot be that of a file.
fn problem_with(name: &str) -> Option<&'static str> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Some("its name cannot be the name of a file");
    }
    if name.len() > MOST_NAME {
        return Some("its name is too long for a file");
    }
    TAKEN.contains(&name).then_some("the file with its name has another meaning")
}
