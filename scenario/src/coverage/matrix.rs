//! `capabilities.yaml`: what a suite is meant to show about an agent.

use std::collections::{BTreeSet, HashSet};

use crate::spec::code::Code;
use crate::spec::diagnostic::{Diagnostic, closest};
use crate::spec::path::{Path, Segment};
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields as _, section};
use crate::spec::shape::{MOST_ENTRIES, Shape};
use crate::spec::types::Label;
use crate::spec::yaml::{Kind, Node};
use crate::spec::{Document, Spec, read_document, tree};

section! {
    /// The capabilities that a suite is meant to show. The list can also be the whole document.
    ///
    /// ```yaml
    /// capabilities:
    ///   - id: refund.once
    ///     group: refunds
    ///     description: Pays a refund once, also when the answer is lost.
    ///   - refund.refused
    /// ```
    pub struct CapabilityMatrix {
        /// The capabilities: each an id, or a map.
        capabilities: Vec<Capability>,
    }
}

section! {
    /// One ability of an agent. Specs name it under `capabilities`.
    pub struct CapabilityFields {
        /// Its name, as specs write it.
        id: Label,
        /// The group that reports and pages show it in.
        group: Option<Label>,
        /// What it means, for people.
        description: String = String::new(),
    }
}

/// One ability of an agent: an id alone, or a map.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct Capability(CapabilityFields);

impl std::ops::Deref for Capability {
    type Target = CapabilityFields;

    fn deref(&self) -> &CapabilityFields {
        &self.0
    }
}

impl Readable for Capability {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Kind::Map(_) = node.kind {
            return CapabilityFields::read(node, reader).map(Self);
        }
        let id = Label::read(node, reader)?;
        Some(Self(CapabilityFields { id, group: None, description: String::new() }))
    }

    fn shape() -> Shape {
        Shape::Either(vec![Label::shape(), CapabilityFields::shape()])
    }
}

/// A document that is a map with the list, or the list itself.
struct MatrixDocument(CapabilityMatrix);

impl Readable for MatrixDocument {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let (capabilities, items) = match &node.kind {
            Kind::List(items) => (Vec::read(node, reader), Some((Vec::new(), items))),
            _ => {
                let mut map = MapReader::new(node, reader)?;
                let read = CapabilityMatrix::read_fields(&mut map, reader).map(|matrix| matrix.capabilities);
                map.finish(reader, &[]);
                let list = node.entries().into_iter().flatten().find(|entry| entry.key == "capabilities");
                let items = list.and_then(|entry| match &entry.value.kind {
                    Kind::List(items) => Some((vec![Segment::Key("capabilities".to_owned())], items)),
                    _ => None,
                });
                (read, items)
            }
        };
        if let Some((steps, items)) = items {
            refuse_duplicates(items, &steps, reader);
        }
        capabilities.map(|capabilities| Self(CapabilityMatrix { capabilities }))
    }

    fn shape() -> Shape {
        CapabilityMatrix::shape()
    }
}

/// Reports ids that stand twice.
fn refuse_duplicates(items: &[Node], steps: &[Segment], reader: &mut Reader) {
    let mut known = HashSet::new();
    for (index, item) in items.iter().enumerate().take(MOST_ENTRIES) {
        let id = match item.entries() {
            Some(entries) => entries.iter().find(|entry| entry.key == "id").map(|entry| &entry.value),
            None => Some(item),
        };
        let Some(text) = id.and_then(Node::scalar) else { continue };
        if !known.insert(text) {
            let within = |reader: &mut Reader| {
                let message = format!("the capability `{}` is listed twice", crate::untrusted::line(text, 100));
                reader.report(Code::DuplicateName, item.span, message, Some("remove one of them".to_owned()));
            };
            let place = |reader: &mut Reader| reader.within(Segment::Index(index), within);
            match steps.first() {
                Some(step) => reader.within(step.clone(), place),
                None => place(reader),
            }
        }
    }
}

impl CapabilityMatrix {
    /// Reads a matrix.
    #[must_use]
    pub fn load(text: &str) -> Document<Self> {
        let Document { value, diagnostics } = read_document::<MatrixDocument>(text, "list of capabilities");
        Document { value: value.map(|document| document.0), diagnostics }
    }

    /// The capabilities that tags name, each once and sorted, in groups by what stands before the first dot, colon or slash. Texts
    /// that are no labels are left out.
    #[must_use]
    pub fn of_tags<'a>(tags: impl IntoIterator<Item = &'a str>) -> Self {
        let group = |tag: &str| tag.split_once(['.', ':', '/']).and_then(|(group, _)| Label::new(group));
        let tags: BTreeSet<&str> = tags.into_iter().collect();
        let fields =
            |tag: &str| Some(CapabilityFields { id: Label::new(tag)?, group: group(tag), description: String::new() });
        Self { capabilities: tags.into_iter().filter_map(fields).map(Capability).collect() }
    }

    /// Whether it has a capability of this id.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.capabilities.iter().any(|capability| capability.id.as_str() == id)
    }

    /// The id that was most likely meant by a tag.
    #[must_use]
    pub fn nearest(&self, tag: &str) -> Option<&str> {
        closest(tag, self.capabilities.iter().map(|capability| capability.id.as_str()))
    }

    /// A finding for each tag of a spec that the matrix does not have, where it stands in the spec's text.
    #[must_use]
    pub fn unknown_tags(&self, spec: &Spec, text: &str) -> Vec<Diagnostic> {
        let root = tree(text);
        let listed = root.as_ref().and_then(|root| root.entries()?.iter().find(|entry| entry.key == "capabilities"));
        let items = match listed.map(|entry| &entry.value.kind) {
            Some(Kind::List(items)) => items.as_slice(),
            _ => &[],
        };
        let is_unknown = |tag: &&Label| !self.has(tag);
        let finding = |tag: &Label| {
            let at = items.iter().position(|item| item.scalar() == Some(tag.as_str()));
            let mut path = Path::default().key("capabilities");
            at.into_iter().for_each(|index| path.push(Segment::Index(index)));
            Diagnostic {
                code: Code::InvalidValue,
                message: format!("the suite's list of capabilities has no `{tag}`"),
                help: self.nearest(tag).map(|near| format!("did you mean `{near}`?")),
                path,
                span: at.map(|index| items[index].span).unwrap_or_default(),
            }
        };
        spec.capabilities.iter().filter(is_unknown).map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::CapabilityMatrix;

    fn ids(text: &str) -> Vec<String> {
        let read = CapabilityMatrix::load(text);
        assert_eq!(read.diagnostics, []);
        read.value.expect("a matrix").capabilities.iter().map(|capability| capability.id.to_string()).collect()
    }

    #[track_caller]
    fn refused(text: &str, line: usize, expected: &str) {
        let read = CapabilityMatrix::load(text);
        assert!(read.value.is_none(), "{text}");
        let found: Vec<_> = read
            .diagnostics
            .iter()
            .map(|found| {
                let help = found.help.as_deref().unwrap_or_default();
                format!("{}:{} {} {help}", found.span.line, found.span.column, found.message)
            })
            .collect();
        assert!(
            found.iter().any(|found| found.starts_with(&format!("{line}:")) && found.contains(expected)),
            "{found:?}"
        );
    }

    #[test]
    fn a_matrix_is_a_map_or_a_list_of_ids_and_maps() {
        assert_eq!(ids("capabilities: [a, {id: b, group: g, description: B.}]"), ["a", "b"]);
        assert_eq!(ids("- a\n- id: b\n"), ["a", "b"]);
        assert_eq!(ids("[]"), [""; 0]);
    }

    #[test]
    fn what_is_wrong_with_a_matrix_is_said_with_its_place() {
        refused("capabilities:\n  - id: a\n    gruop: x\n", 3, "did you mean `group`?");
        refused("capabilities:\n  - a\n  - b\n  - {id: a}\n", 4, "the capability `a` is listed twice");
        refused("- a\n- a\n", 2, "listed twice");
        refused("capabilites: [a]\n", 1, "did you mean `capabilities`?");
        refused("capabilities:\n  - description: x\n", 2, "the key `id` is missing");
        refused("capabilities: [two words]\n", 1, "is not a label");
        refused("just a text\n", 1, "expected a map");
    }

    #[test]
    fn tags_are_a_matrix_in_groups_by_their_first_word() {
        let matrix = CapabilityMatrix::of_tags(["b.y", "a", "b.x", "b.y", "no label"]);
        let of = |one: &super::Capability| (one.id.to_string(), one.group.as_ref().map(ToString::to_string));
        let found: Vec<_> = matrix.capabilities.iter().map(of).collect();
        let b = || Some("b".to_owned());
        assert_eq!(found, [("a".to_owned(), None), ("b.x".to_owned(), b()), ("b.y".to_owned(), b())]);
    }

    #[test]
    fn a_tag_that_the_matrix_has_not_is_found_in_the_spec() {
        let matrix = CapabilityMatrix::load("[retry, refund]").value.expect("a matrix");
        let text = "version: 1\nid: x\ncapabilities:\n  - refund\n  - rety\nbase: debian\ntask: {prompt: x}\nagent: {type: noop}\n\
                    invariants: {x: {description: x, check: {type: file_exists, path: x}}}\n";
        let spec = crate::spec::load(text, None).spec.expect("a spec");
        let [found] = matrix.unknown_tags(&spec, text).try_into().expect("one");
        assert_eq!((found.span.line, found.span.column, found.path.to_string().as_str()), (5, 5, "capabilities[1]"));
        assert_eq!(found.message, "the suite's list of capabilities has no `rety`");
        assert_eq!(found.help.as_deref(), Some("did you mean `retry`?"));
    }
}
