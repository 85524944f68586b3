//! What a judge reads.

use std::fmt;

use serde::{Serialize, Serializer};

use super::super::http_mock_assertions::Field;
use crate::evidence::{FileEntry, FileKind, Files};
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::types::ServiceName;
use crate::spec::yaml::{Kind, Node};

/// What a judge reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFrom {
    /// What the agent printed.
    AgentOutput,
    /// The files that the agent left.
    Workspace,
    /// A field of a recording mock's requests.
    Service(ServiceName, Field),
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
pub(super) fn listing(files: &Files) -> String {
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
