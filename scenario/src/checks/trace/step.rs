//! `llm`, `tool:NAME`, `http:SERVICE METHOD /path`: one step of a run.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::sections::RoutePath;
use crate::spec::shape::Shape;
use crate::spec::types::{CalledTool, Method, ServiceName};
use crate::spec::yaml::{Kind, Node};

/// A step that is expected of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A call of the model.
    Llm,
    /// A call of a tool.
    Tool(CalledTool),
    /// A request to a recording mock.
    Http(ServiceName, Method, RoutePath),
}

/// A text that is no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no step of a run")]
pub struct NoStep(String);

impl Step {
    /// Reads a step.
    pub fn parse(text: &str) -> Result<Self, NoStep> {
        let step = match text.split_once(':') {
            None if text == "llm" => Some(Self::Llm),
            Some(("tool", name)) => CalledTool::new(name).map(Self::Tool),
            Some(("http", request)) => http(request),
            _ => None,
        };
        step.ok_or_else(|| NoStep(crate::untrusted::line(text, 100)))
    }
}

fn http(request: &str) -> Option<Step> {
    let mut words = request.splitn(3, ' ');
    let (service, method, path) = (words.next()?, words.next()?, words.next()?);
    Some(Step::Http(ServiceName::new(service)?, Method::new(method)?, RoutePath::parse(path).ok()?))
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Llm => formatter.write_str("llm"),
            Self::Tool(name) => write!(formatter, "tool:{name}"),
            Self::Http(service, method, path) => write!(formatter, "http:{service} {method} {}", path.source()),
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for Step {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(text) = &node.kind else {
            return reader.wrong_type(node, "a string: a step such as `llm` or `tool:refund_order`");
        };
        let help = "write `llm`, `tool:refund_order` or `http:shop POST /refunds`";
        Self::parse(text)
            .map_err(|problem| problem.to_string())
            .map_or_else(|problem| reader.invalid(node, problem, Some(help.to_owned())), Some)
    }

    fn shape() -> Shape {
        Shape::Word {
            name: "step of a run",
            pattern: r"^(llm|tool:[A-Za-z0-9_][A-Za-z0-9_./:-]*|http:[a-z0-9_-]+ [A-Z]+ /[^?#]*)$",
            example: "http:shop POST /refunds",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_written_as_it_is_read() {
        for text in ["llm", "tool:refund_order", "tool:files/read:all", "http:shop POST /refunds/{id}", "http:a GET /*"]
        {
            assert_eq!(Step::parse(text).map(|step| step.to_string()).as_deref(), Ok(text));
        }
        for text in [
            "",
            "LLM",
            "llm:x",
            "tool:",
            "tool:a b",
            "refund_order",
            "http:shop",
            "http:shop post /",
            "http:shop GET x",
        ] {
            assert!(Step::parse(text).is_err(), "{text}");
        }
    }
}
