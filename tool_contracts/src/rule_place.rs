//! The place of a rule in the files of a set.
//!
//! Decisions name rules by their place: `aggregates/total_shares`, `transitions/valid_in_phases`,
//! `argument_value_invariants[0]`. This finds the file and the line that such a name means.

use yaml_tree::path::Segment;
use yaml_tree::{Kind, Node, Span};

use crate::compile::{Compiled, Source};
use crate::diagnostic::Place;

/// The keys that name an entry of a list.
const NAMES: [&str; 3] = ["name", "when_label", "id"];

impl Compiled {
    /// The place of a rule about a tool: in the tool's own file, or else in the session's. A part of a rule that is
    /// not written is at the place of what surrounds it. `None` for rules that no file has, such as derived ones.
    #[must_use]
    pub fn rule_place(&self, tool: &str, rule: &str) -> Option<Place> {
        let segments = segments(rule);
        let own = self.sources.iter().find(|source| source.is_of_tool(tool));
        let session = self.sources.iter().find(|source| source.is_session());
        let own = own.and_then(|source| find(source, &segments));
        let of_session = session.and_then(|source| find(source, &segments));
        let depth = |place: &Option<Place>| place.as_ref().map_or(0, |place| place.path.segments().len());
        if depth(&of_session) > depth(&own) { of_session } else { own }
    }
}

/// The steps of a rule's name.
fn segments(rule: &str) -> Vec<Segment> {
    if rule.contains('/') {
        return rule.split('/').map(|key| Segment::Key(key.to_owned())).collect();
    }
    let parts = rule.split(['.', '[']).map(|part| part.trim_end_matches(']').trim_matches('"'));
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_or_else(|_| Segment::Key(part.to_owned()), Segment::Index)).collect()
}

/// Descends from the root as far as the steps lead; at least the first one.
fn find(source: &Source, segments: &[Segment]) -> Option<Place> {
    let mut place = Place { file: source.file.clone(), ..Place::default() };
    let mut node = &source.root;
    for segment in segments {
        let Some((inner, span)) = step(node, segment) else { break };
        place.path.push(segment.clone());
        place.span = span;
        node = inner;
    }
    (!place.path.segments().is_empty()).then_some(place)
}

fn step<'n>(node: &'n Node, segment: &Segment) -> Option<(&'n Node, Span)> {
    match (&node.kind, segment) {
        (Kind::Map(entries), Segment::Key(key)) => {
            let entry = entries.iter().find(|entry| entry.key == *key)?;
            Some((&entry.value, entry.key_span))
        }
        (Kind::List(items), Segment::Index(index)) => items.get(*index).map(|item| (item, item.span)),
        (Kind::List(items), Segment::Key(name)) => {
            let is_named = |item: &&Node| NAMES.iter().any(|key| scalar(item, key) == Some(name));
            items.iter().find(is_named).map(|item| (item, item.span))
        }
        _ => None,
    }
}

fn scalar<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::scalar)
}

impl Source {
    fn is_session(&self) -> bool {
        self.stem == crate::compile::SESSION
    }

    fn is_of_tool(&self, tool: &str) -> bool {
        !self.is_session() && scalar(&self.root, "tool").unwrap_or(&self.stem) == tool
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::{Compiled, RawFile, RawSet, compile};
    use crate::options::CompileOptions;

    const SESSION: &str = "schema_version: \"1.0\"\nagent: a\nphases: [{name: open, initial: true}, {name: done, terminal: true}]\n\
        transitions: {open: [done]}\nsession_limits:\n  max_tool_calls: 9\naggregates:\n\
        \x20 - {name: first, metric: sum, tool: pay, path: $.amount, lte: 1, reason: x}\n\
        \x20 - {name: second, metric: sum, tool: pay, path: $.amount, lte: 2, reason: x}\n";
    const PAY: &str = "tool: pay\nside_effect: financial\ntransitions:\n  valid_in_phases: [open]\n  advances_to: done\n\
        argument_value_invariants:\n  - {path: $.amount, lte: 5}\n  - {path: $.currency, one_of: [EUR]}\n";

    fn set() -> Compiled {
        let file = |name: &str, text: &str| RawFile { name: name.to_owned(), text: text.to_owned() };
        let files = vec![file("session.yaml", SESSION), file("pay.yaml", PAY)];
        compile(&RawSet { files }, &CompileOptions::default()).expect("a set").0
    }

    #[track_caller]
    fn check(tool: &str, rule: &str, expected: Option<(&str, usize)>) {
        let place = set().rule_place(tool, rule);
        assert_eq!(place.as_ref().map(|place| (place.file.as_str(), place.span.line)), expected, "{tool} {rule}");
    }

    #[test]
    fn a_rule_of_a_tool_is_found_in_the_tools_file() {
        check("pay", "transitions/valid_in_phases", Some(("pay.yaml", 4)));
        check("pay", "transitions/advances_to", Some(("pay.yaml", 5)));
        check("pay", "argument_value_invariants[1]", Some(("pay.yaml", 8)));
    }

    #[test]
    fn a_rule_of_the_session_is_found_by_its_name() {
        check("pay", "aggregates/second", Some(("session.yaml", 9)));
        check("", "phases", Some(("session.yaml", 3)));
        check("pay", "session_limits/max_tool_calls", Some(("session.yaml", 6)));
    }

    #[test]
    fn a_part_that_is_not_written_is_at_what_surrounds_it() {
        check("pay", "session_limits/max_steps", Some(("session.yaml", 5)));
        check("other", "transitions/valid_in_phases", Some(("session.yaml", 4)));
    }

    #[test]
    fn a_rule_that_no_file_has_is_nowhere() {
        for rule in ["unmatched", "schema/$.amount", "", "[]"] {
            check("pay", rule, None);
        }
    }
}
