//! `input_from`: which text a check reads.

use std::fmt;

use serde::{Serialize, Serializer};

use super::http_mock_assertions::{Field, read_field};
use super::{Case, unanswered};
use crate::evidence::{Answer, Captured, FileEntry, FileKind, Files, Probe};
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::types::ServiceName;
use crate::spec::validate::Rules;
use crate::spec::yaml::{Kind, Node};
use crate::untrusted;
use crate::verdict::Verdict;

/// Maximum number of files of the workspace that are read, and the maximum size of each.
const MOST_FILES: usize = 50;
const MOST_FILE_BYTES: u64 = 16 * 1024;

/// The text that a check reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFrom {
    /// The output of the agent.
    AgentOutput,
    /// The files that the agent left.
    Workspace,
    /// A field of a recording mock's requests.
    Service(ServiceName, Field),
}

impl InputFrom {
    /// Reports a service whose requests cannot be read; `rules` stand at the check.
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        if let Self::Service(service, _) = self {
            rules.at("input_from").judged_mock(service);
        }
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        match self {
            Self::Workspace => {
                vec![Probe::Files { path: "**".to_owned(), content_bytes: MOST_FILE_BYTES, most: MOST_FILES }]
            }
            Self::AgentOutput | Self::Service(..) => Vec::new(),
        }
    }

    /// Reads the text from the observations, for a model; the error is the verdict without it.
    pub(super) fn text(&self, case: &Case<'_>) -> Result<String, Box<Verdict>> {
        self.read_input(case).map(|input| input.captured.text())
    }

    /// Reads the text from the observations; the error is the verdict without it.
    pub(super) fn read_input(&self, case: &Case<'_>) -> Result<Input, Box<Verdict>> {
        match self {
            Self::AgentOutput => Ok(Input::printed(&case.agent.stdout)),
            Self::Workspace => {
                let files = case.answers.iter().find_map(|answer| match answer {
                    Answer::Files(files) => Some(files),
                    _ => None,
                });
                files.map(Input::listed).ok_or_else(|| Box::new(unanswered()))
            }
            Self::Service(service, field) => {
                let journal = case.evidence.journals.get(service.as_str()).ok_or_else(|| Box::new(unanswered()))?;
                let text = read_field(field, journal).map_err(|problem| {
                    Box::new(Verdict::failed(format!("nothing to judge at `{service}.{field}`: {problem}")))
                })?;
                Ok(Input { name: format!("`{self}`"), captured: Captured::from(text.as_str()), missing: None })
            }
        }
    }
}

/// A text that a check reads, as far as it was kept.
pub(super) struct Input {
    name: String,
    captured: Captured,
    /// A description of the part that was not kept; `None` when the text is whole.
    missing: Option<String>,
}

impl Input {
    fn printed(stdout: &Captured) -> Self {
        let missing = (!stdout.is_complete()).then(|| format!("{} bytes of it were not kept", stdout.dropped_bytes));
        Self { name: "the agent's output".to_owned(), captured: stdout.clone(), missing }
    }

    fn listed(files: &Files) -> Self {
        let is_cut =
            |entry: &FileEntry| entry.content.as_ref().is_none_or(|content| (content.0.len() as u64) < entry.size);
        let missing = if files.incomplete {
            Some(format!("only {MOST_FILES} of its entries were read"))
        } else {
            let cut = left_files(files).find(|entry| is_cut(entry));
            cut.map(|entry| format!("not all of its file {:?} was read", untrusted::cut(&entry.path, SHOWN)))
        };
        Self { name: "the workspace".to_owned(), captured: Captured::from(listing(files).as_str()), missing }
    }

    /// The text's name for messages: `the agent's output`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The text; fails when a part of it was not kept, because a part proves nothing about the whole.
    pub(super) fn whole(&self) -> Result<&str, Box<Verdict>> {
        self.require_whole().map(|()| self.captured.head.as_str())
    }

    /// Fails when a part of the text was not kept.
    pub(super) fn require_whole(&self) -> Result<(), Box<Verdict>> {
        let Some(missing) = &self.missing else { return Ok(()) };
        let name = &self.name;
        let message = format!("{name} is known in part only ({missing}), and a part proves nothing about the whole");
        Err(Box::new(Verdict::unproven(message)))
    }

    /// The verdict when something is in none of the pieces. It may be in a part that was not kept, so that this proves no absence.
    pub(super) fn not_found(&self, message: String) -> Verdict {
        if self.missing.is_some() { Verdict::unproven(message) } else { Verdict::failed(message) }
    }

    /// The pieces that were kept: the whole text, or its beginning and its end.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &str> {
        [self.captured.head.as_str()].into_iter().chain(self.captured.tail.as_deref())
    }

    /// Describes a place in one of the pieces, given the text before it: `on line 3`.
    pub(super) fn place(&self, piece: &str, before: &[u8]) -> String {
        if self.captured.tail.as_deref().is_some_and(|tail| std::ptr::eq(tail, piece)) {
            return "after the part that was not kept".to_owned();
        }
        format!("on line {}", 1 + before.iter().filter(|byte| **byte == b'\n').count())
    }

    /// The beginning of the text, escaped, for a message.
    pub(super) fn excerpt(&self) -> String {
        let is_all = self.missing.is_none();
        let shown = shown(&self.captured.head);
        if is_all || shown.ends_with('…') { shown } else { format!("{shown}…") }
    }
}

/// Number of characters of a text that a message shows.
const SHOWN: usize = 200;

/// Returns the beginning of an untrusted text, escaped, for a message.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl fmt::Display for InputFrom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AgentOutput => formatter.write_str("agent_output"),
            Self::Workspace => formatter.write_str("workspace"),
            Self::Service(service, field) => write!(formatter, "{service}.{field}"),
        }
    }
}

impl Serialize for InputFrom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for InputFrom {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(text) = &node.kind else {
            return reader.wrong_type(node, "a string: `agent_output`, `workspace` or `SERVICE.FIELD`");
        };
        let field =
            text.split_once('.').and_then(|(service, field)| ServiceName::new(service).zip(Field::parse(field).ok()));
        match (text.as_str(), field) {
            ("agent_output" | "stdout", _) => Some(Self::AgentOutput),
            ("workspace", _) => Some(Self::Workspace),
            (_, Some((service, field))) => Some(Self::Service(service, field)),
            (_, None) => {
                let help = "write `agent_output`, `workspace`, or a mock's field such as `mail.last_request.body`";
                reader.report(
                    Code::UnknownInput,
                    node.span,
                    format!("{} names nothing that can be judged", node.describe()),
                    Some(help.to_owned()),
                );
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::Word {
            name: "judge input",
            pattern: r"^(agent_output|stdout|workspace|[a-z0-9-]+\..+)$",
            example: "mail.last_request.body",
        }
    }
}

/// Folder of our own logs, which are not the agent's files.
const OWN_FOLDER: &str = ".keystone/";

/// The files that the agent left, as one text.
fn listing(files: &Files) -> String {
    let mut text = String::new();
    for entry in left_files(files) {
        let content = entry.content.as_ref().map(crate::evidence::Blob::text).unwrap_or_default();
        text.push_str(&format!("--- {} ({} bytes)\n{content}\n", entry.path, entry.size));
    }
    if files.incomplete {
        text.push_str("--- there are more files\n");
    }
    text
}

fn left_files(files: &Files) -> impl Iterator<Item = &FileEntry> {
    files.entries.iter().filter(|entry| entry.kind == FileKind::File && !entry.path.starts_with(OWN_FOLDER))
}
