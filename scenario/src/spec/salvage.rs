//! A broken spec with its broken parts taken out, so that the rules can look at the rest.
//!
//! Rules need types, and types need every value to have the right form. Without this step one misspelt duration would
//! hide an unknown service until it is fixed. What is put in place of a broken part is remembered as a hole, and the
//! rules are silent about holes.

use std::collections::HashSet;

use super::code::Code;
use super::diagnostic::Diagnostic;
use super::path::{Path, Segment};
use super::yaml::{Entry, Kind, Limits, Node, Span, parse};

/// Values for the sections that must be there.
const STAND_IN: &str = "version: 1\nid: x\nbase: x\ntask: {prompt: x}\n";
/// Stand-in for a broken service: a service that every rule accepts.
const SERVICE: &str = "{name: x-hole, type: http_mock, record: true, ports: [1]}";
/// The same for a broken tool.
const TOOL: &str = "{name: x-hole, mock: {}}";

/// The parts that were removed from a spec.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    /// Top-level sections that are gone or replaced.
    sections: HashSet<String>,
    /// The indices of services that are replaced, and the names of those that have one.
    services: HashSet<usize>,
    service_names: HashSet<String>,
    /// The indices of tools that are replaced, and the names of those that have one.
    tools: HashSet<usize>,
    tool_names: HashSet<String>,
    /// True when a server of tools is replaced, so that any tool may be there.
    has_broken_server: bool,
    /// Invariants that are gone.
    invariants: HashSet<String>,
}

impl Holes {
    /// Returns true if this section was removed or replaced.
    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.sections.contains(name)
    }

    /// Returns true if a broken service may have this name.
    pub(crate) fn may_have_service(&self, name: &str) -> bool {
        self.has_section("services") || self.service_names.contains(name)
    }

    /// Returns true if a broken tool may have this name.
    pub(crate) fn may_have_tool(&self, name: &str) -> bool {
        self.has_section("tools") || self.has_broken_server || self.tool_names.contains(name)
    }

    /// Returns true if any invariant is missing.
    pub(crate) fn has_broken_invariant(&self) -> bool {
        !self.invariants.is_empty() || self.has_section("invariants")
    }

    /// Returns true if the place is inside a hole.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        match path.segments() {
            [Segment::Key(section), Segment::Index(index), ..] if section == "services" => {
                self.services.contains(index)
            }
            [Segment::Key(section), Segment::Index(index), ..] if section == "tools" => self.tools.contains(index),
            [Segment::Key(section), Segment::Key(list), Segment::Index(index), ..]
                if section == "tools" && list == "list" =>
            {
                self.tools.contains(index) || self.has_section(section)
            }
            [Segment::Key(section), ..] => self.has_section(section),
            _ => false,
        }
    }
}

/// `root` with a hole wherever a finding says that a value cannot be read.
pub(super) fn salvage(root: &Node, findings: &[Diagnostic]) -> (Node, Holes) {
    let mut root = root.clone();
    let mut holes = Holes::default();
    if root.entries().is_none() {
        return (root, holes);
    }
    for finding in findings.iter().filter(|finding| finding.code != Code::UnknownKey) {
        dig(&mut root, &finding.path, &mut holes);
    }
    fill(&mut root, &mut holes);
    (root, holes)
}

/// Removes the smallest part around `path` that the rest can do without.
fn dig(root: &mut Node, path: &Path, holes: &mut Holes) {
    match path.segments() {
        [Segment::Key(section), Segment::Index(index), ..] if section == "services" => {
            if let Some(service) = item(root, section, *index)
                && holes.services.insert(*index)
            {
                holes.service_names.extend(service.get("name").and_then(Node::scalar).map(ToOwned::to_owned));
                service.kind = stand_in(SERVICE, service.span);
                rename(service, &format!("x-hole-{index}"));
            }
        }
        [Segment::Key(section), Segment::Index(index), ..] if section == "tools" => {
            replace_tool(value_of(root, section), *index, holes);
        }
        [Segment::Key(section), Segment::Key(list), Segment::Index(index), ..]
            if section == "tools" && list == "list" =>
        {
            replace_tool(value_of(root, section).and_then(|tools| value_of(tools, list)), *index, holes);
        }
        [Segment::Key(section), Segment::Key(name), ..] if section == "invariants" => {
            holes.invariants.insert(name.clone());
            if let Some(entries) = entries(root, section) {
                entries.retain(|entry| entry.key != *name);
            }
        }
        [Segment::Key(section), ..] => {
            holes.sections.insert(section.clone());
            if let Kind::Map(entries) = &mut root.kind {
                entries.retain(|entry| entry.key != *section);
            }
        }
        [] | [Segment::Index(_), ..] => {}
    }
}

/// Puts something in the place of a broken tool, and remembers which tools and which service it may have been.
fn replace_tool(list: Option<&mut Node>, index: usize, holes: &mut Holes) {
    let Some(Kind::List(items)) = list.map(|list| &mut list.kind) else { return };
    let Some(tool) = items.get_mut(index) else { return };
    if !holes.tools.insert(index) {
        return;
    }
    let scalar = |key: &str| tool.get(key).and_then(Node::scalar).map(ToOwned::to_owned);
    let (name, server) = (scalar("name"), scalar("server"));
    holes.has_broken_server |= name.is_none() || server.is_some();
    holes.tool_names.extend(name);
    holes.service_names.extend(server);
    tool.kind = stand_in(TOOL, tool.span);
    rename(tool, &format!("x-hole-{index}"));
}

/// Puts something in the place of sections that must be there.
fn fill(root: &mut Node, holes: &mut Holes) {
    let span = root.span;
    let Kind::Map(present) = &mut root.kind else { return };
    let Kind::Map(stand_ins) = stand_in(STAND_IN, span) else { return };
    for entry in stand_ins {
        if !present.iter().any(|existing| existing.key == entry.key) {
            holes.sections.insert(entry.key.clone());
            present.push(entry);
        }
    }
}

fn entries<'a>(root: &'a mut Node, section: &str) -> Option<&'a mut Vec<Entry>> {
    match &mut value_of(root, section)?.kind {
        Kind::Map(entries) => Some(entries),
        _ => None,
    }
}

fn item<'a>(root: &'a mut Node, section: &str, index: usize) -> Option<&'a mut Node> {
    match &mut value_of(root, section)?.kind {
        Kind::List(items) => items.get_mut(index),
        _ => None,
    }
}

fn value_of<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    match &mut node.kind {
        Kind::Map(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value),
        _ => None,
    }
}

/// A known text as a value that stands at `span`.
fn stand_in(text: &str, span: Span) -> Kind {
    let mut node = parse(text, Limits::default()).0.unwrap_or(Node { span, kind: Kind::Null });
    settle(&mut node, span);
    node.kind
}

fn settle(node: &mut Node, span: Span) {
    node.span = span;
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(|item| settle(item, span)),
        Kind::Map(entries) => entries.iter_mut().for_each(|entry| {
            entry.key_span = span;
            settle(&mut entry.value, span);
        }),
        _ => {}
    }
}

fn rename(service: &mut Node, name: &str) {
    if let Kind::Map(entries) = &mut service.kind {
        for entry in entries.iter_mut().filter(|entry| entry.key == "name") {
            entry.value.kind = Kind::String(name.to_owned());
        }
    }
}
