//! `input_from`: which text a check reads.

use std::fmt;

use serde::{Serialize, Serializer};

use super::http_mock_assertions::{Field, read_field};
use super::unanswered;
use crate::evidence::{Answer, Evidence, FileEntry, FileKind, Files, Probe};
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::types::ServiceName;
use crate::spec::validate::Rules;
use crate::spec::yaml::{Kind, Node};
use crate::verdict::Verdict;

/// How many files of the workspace are read, and how much of each.
const MOST_FILES: usize = 50;
const MOST_FILE_BYTES: u64 = 16 * 1024;

/// The text that a check reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFrom {
    /// What the agent printed.
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

    /// Reads the text from what was observed; otherwise the verdict without it.
    pub(super) fn text(&self, answers: &[Answer], evidence: &Evidence) -> Result<String, Box<Verdict>> {
        match self {
            Self::AgentOutput => Ok(evidence.agent.stdout.text()),
            Self::Workspace => {
                let files = answers.iter().find_map(|answer| match answer {
                    Answer::Files(files) => Some(files),
                    _ => None,
                });
                files.map(listing).ok_or_else(|| Box::new(unanswered()))
            }
            Self::Service(service, field) => {
                let journal = evidence.journals.get(service.as_str()).ok_or_else(|| Box::new(unanswered()))?;
                read_field(field, journal).map_err(|problem| {
                    Box::new(Verdict::failed(format!("nothing to judge at `{service}.{field}`: {problem}")))
                })
            }
        }
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

/// Where our own logs are, which the agent did not leave.
const OWN_FOLDER: &str = ".keystone/";

/// The files that the agent left, as one text.
fn listing(files: &Files) -> String {
    let mut text = String::new();
    let left = |entry: &&FileEntry| entry.kind == FileKind::File && !entry.path.starts_with(OWN_FOLDER);
    for entry in files.entries.iter().filter(left) {
        let content = entry.content.as_ref().map(crate::evidence::Blob::text).unwrap_or_default();
        text.push_str(&format!("--- {} ({} bytes)\n{content}\n", entry.path, entry.size));
    }
    if files.incomplete {
        text.push_str("--- there are more files\n");
    }
    text
}
