//! `tools`: named operations that the agent calls over MCP.
//!
//! A tool is declared with its name and what it does: an HTTP operation of a service ([`HttpTool`]) or answers that are
//! written down ([`ToolMock`]). A [`ToolServer`] is an MCP server whose tools are offered beside them.

mod declared;
mod http;
mod mock;
mod server;

use std::ops::Deref;

use serde::Serialize;

pub use declared::{DeclaredTool, ToolAnnotations};
pub use http::{ArgumentPlace, HttpTool, PathPiece, ToolPath};
pub use mock::{MockRule, ToolMock, UnknownCall};
pub use server::{ServerUrl, ToolServer};

use crate::spec::reader::{MapReader, Readable, Reader, read_items};
use crate::spec::section::{Fields, by_default, section};
use crate::spec::shape::{MOST_ENTRIES, Shape};
use crate::spec::types::{BundlePath, Whole};
use crate::spec::yaml::{Kind, Node};

/// The tools of a spec: a list, or a map with the list and settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Tools(ToolSettings);

section! {
    /// The tools and settings of their gateway.
    pub struct ToolSettings {
        /// The tools.
        list: Vec<Tool> = Vec::new(),
        /// Keeps every call and its answer in this file, for `replay`.
        record: Option<BundlePath>,
        /// Answers calls from this file of the spec's folder, which `record` wrote. No service is called and no MCP server is
        /// started.
        replay: Option<BundlePath>,
        /// How `replay` finds the answer to a call.
        matching: super::Matching = super::Matching::Strict,
        /// Writes `.mcp.json` into the workspace as well, where some agents look for MCP servers.
        mcp_json: bool = false,
        /// How much the agent may use its tools.
        limits: ToolLimits = by_default(),
    }
}

section! {
    /// How much the agent may use its tools. The limit that fires stops the agent and fails the scenario by its name.
    pub struct ToolLimits {
        /// Calls of all tools together.
        max_calls: Option<Whole<1, 1_000_000>>,
    }
}

/// An entry of `tools`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Tool {
    /// A tool that is declared here.
    Declared(Box<DeclaredTool>),
    /// An MCP server and its tools.
    Server(Box<ToolServer>),
}

impl Tools {
    /// True when there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The tools that are declared one by one.
    pub fn declared(&self) -> impl Iterator<Item = &DeclaredTool> {
        self.list.iter().filter_map(|tool| match tool {
            Tool::Declared(tool) => Some(&**tool),
            Tool::Server(_) => None,
        })
    }

    /// The MCP servers.
    pub fn servers(&self) -> impl Iterator<Item = &ToolServer> {
        self.list.iter().filter_map(|tool| match tool {
            Tool::Server(server) => Some(&**server),
            Tool::Declared(_) => None,
        })
    }

    /// The names of all tools that are known before a scenario is run.
    pub fn known_names(&self) -> impl Iterator<Item = String> {
        let declared = self.declared().map(|tool| tool.name.to_string());
        declared.chain(self.servers().flat_map(ToolServer::known_names))
    }

    /// True when a server offers whatever tools it has, so that their names are not known before a scenario is run.
    #[must_use]
    pub fn has_open_server(&self) -> bool {
        self.servers().any(|server| server.tools.is_none())
    }
}

impl Deref for Tools {
    type Target = ToolSettings;

    fn deref(&self) -> &ToolSettings {
        &self.0
    }
}

impl Readable for Tools {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::List(items) if items.len() > MOST_ENTRIES => reader.too_many(node, items.len(), MOST_ENTRIES),
            Kind::List(items) => read_items(items, reader).map(|list| Self(ToolSettings { list, ..by_default() })),
            Kind::Map(_) => ToolSettings::read(node, reader).map(Self),
            _ => reader.wrong_type(node, "a list of tools, or a map with `list`"),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![Vec::<Tool>::shape(), ToolSettings::shape()])
    }
}

impl Readable for Tool {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        if map.node("server").is_some() {
            return ToolServer::read(node, reader).map(|server| Self::Server(Box::new(server)));
        }
        DeclaredTool::read(node, reader).map(|tool| Self::Declared(Box::new(tool)))
    }

    fn shape() -> Shape {
        Shape::Either(vec![Shape::Section(DeclaredTool::section()), Shape::Section(ToolServer::section())])
    }
}
