//! MCP servers whose tools are offered to the agent.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::sections::{Container, Service, ServiceCommon, ServiceKind};
use crate::spec::shape::Shape;
use crate::spec::template::Text;
use crate::spec::types::{
    Command, EnvName, Filled, Label, Many, RequestPath, ServiceName, Table, Timespan, ToolName, Whole,
};
use crate::spec::yaml::{Kind, Node};

section! {
    /// An MCP server whose tools are offered to the agent: a command in the sandbox that speaks MCP on its standard input and
    /// output, an image, or the address of a service.
    ///
    /// It is started once for each scenario, and ready when it answers `tools/list`. It is never started again: a server that has
    /// ended answers every call with an error.
    ///
    /// ```yaml
    /// tools:
    ///   - server: files
    ///     command: [python3, server.py]
    ///     tools: [read_file, write_file]
    ///     pin: true
    /// ```
    pub struct ToolServer {
        /// A name for it, in evidence and messages.
        server: ServiceName,
        /// The command, run in the workspace as the user of the agent. With `image`, it replaces the image's command.
        command: Option<Command>,
        /// An image that serves MCP over HTTP at `port` and `path`. It becomes a service of this name.
        image: Option<Filled>,
        /// The port of an image.
        port: Whole<1, 65535> = Whole::new(8000),
        /// The path of an image.
        path: Option<RequestPath>,
        /// The address of MCP over HTTP at a service of the spec, such as `http://notes:8000/mcp`.
        url: Option<ServerUrl>,
        /// Environment variables of the command or image.
        env: Table<EnvName, Text> = Table::default(),
        /// The tools of the server that are offered. The others are hidden and cannot be called. Without it, all of them are
        /// offered.
        tools: Option<Many<Label>>,
        /// A text before the names of its tools.
        prefix: Option<ToolName>,
        /// Refuses calls of a tool whose definition is no longer the one that was offered first.
        pin: bool = false,
        /// How long the server may take until it is ready.
        start_timeout: Timespan = Timespan::from_secs(30),
        /// How long a call may take. After that it is answered with an error.
        timeout: Timespan = Timespan::from_secs(60),
    }
}

/// The path of an image that serves MCP, when the spec names none.
const USUAL_PATH: &str = "/mcp";

impl ToolServer {
    /// The name under which one of its tools is offered.
    #[must_use]
    pub fn offered_name(&self, tool: &str) -> String {
        format!("{}{tool}", self.prefix.as_ref().map_or("", ToolName::as_str))
    }

    /// The names of its tools that are known before it is started.
    pub fn known_names(&self) -> impl Iterator<Item = String> {
        self.tools.iter().flat_map(|tools| tools.iter()).map(|tool| self.offered_name(tool))
    }

    /// True when it offers this tool.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name.as_str() == tool))
    }

    /// The service that its image is; `None` without an image.
    #[must_use]
    pub fn service(&self) -> Option<Service> {
        let image = self.image.clone()?;
        Some(Service {
            common: ServiceCommon { name: self.server.clone(), ports: vec![self.port], env: self.env.clone() },
            kind: ServiceKind::Container(Container {
                image,
                command: self.command.clone(),
                database: None,
                wait_for: None,
                wait_timeout: self.start_timeout,
            }),
        })
    }

    /// The address of MCP over HTTP, where that is how it is reached.
    #[must_use]
    pub fn address(&self) -> Option<ServerUrl> {
        let of_image = || ServerUrl {
            service: self.server.to_string(),
            port: u16::try_from(self.port.get()).unwrap_or_default(),
            path: self.path.as_ref().map_or(USUAL_PATH, RequestPath::as_str).to_owned(),
        };
        self.url.clone().or_else(|| self.image.as_ref().map(|_| of_image()))
    }
}

/// The address of MCP over HTTP at a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// The service.
    pub service: String,
    /// The port.
    pub port: u16,
    /// The path.
    pub path: String,
}

impl ServerUrl {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("http://")?;
        let (host, path) =
            rest.split_once('/').map_or((rest, "/".to_owned()), |(host, path)| (host, format!("/{path}")));
        let (name, port) = match host.split_once(':') {
            Some((name, port)) => (name, port.parse().ok().filter(|port| *port > 0)?),
            None => (host, 80),
        };
        let service = name.strip_suffix(".services.internal").unwrap_or(name);
        ServiceName::new(service)?;
        RequestPath::new(&path)?;
        Some(Self { service: service.to_owned(), port, path })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}:{}{}", self.service, self.port, self.path)
    }
}

impl Serialize for ServerUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl Readable for ServerUrl {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(text) = &node.kind else { return reader.wrong_type(node, "a URL of a service") };
        Self::parse(text).or_else(|| {
            let help = "write it like `http://notes:8000/mcp`, with the name of a service of the spec";
            reader.invalid(
                node,
                format!("{} is no URL of a service", crate::spec::yaml::shorten(text)),
                Some(help.to_owned()),
            )
        })
    }

    fn shape() -> Shape {
        Shape::Word { name: "URL of a service", pattern: "^http://[a-z0-9][^\\s]*$", example: "http://notes:8000/mcp" }
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerUrl, ToolServer};
    use crate::checks::testing::read;

    #[test]
    fn urls_name_a_service() {
        let url = |text: &str| ServerUrl::parse(text).map(|url| url.to_string());
        assert_eq!(url("http://notes:8000/mcp").as_deref(), Some("http://notes:8000/mcp"));
        assert_eq!(url("http://notes.services.internal/a/b").as_deref(), Some("http://notes:80/a/b"));
        assert_eq!(url("http://notes").as_deref(), Some("http://notes:80/"));
        for wrong in
            ["https://notes/mcp", "notes:8000", "http://user@notes/", "http://notes:0/", "http://a.example.com/"]
        {
            assert_eq!(url(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_subset_hides_the_other_tools_and_a_prefix_names_them() {
        let server: ToolServer = read("{server: files, command: [x], tools: [read], prefix: fs_}");
        assert!(server.offers("read") && !server.offers("write"));
        assert_eq!(server.known_names().collect::<Vec<_>>(), ["fs_read"]);
        let image: ToolServer = read("{server: files, image: x}");
        assert_eq!(image.address().map(|url| url.to_string()).as_deref(), Some("http://files:8000/mcp"));
    }
}
