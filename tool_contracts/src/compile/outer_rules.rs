//! Rules over the whole session that are given beside the files.

use serde_json::Value as Json;
use yaml_tree::{Limits, Problem};

use crate::code::Code;
use crate::diagnostic::Place;
use crate::read::rule::SessionRule;
use crate::read::session::{Session, check_unique};
use crate::reader::{At, Reader};

/// Reads the rules behind those of the session file, and reports ids that stand twice.
pub(super) fn add(session: &mut Session, rules: &[Json], reader: &mut Reader) {
    for (place, rule) in rules.iter().enumerate() {
        session.rules.extend(read(&format!("rules[{place}]"), rule, reader));
    }
    check_unique("rule", session.rules.iter().map(|rule| &rule.id), reader);
}

/// Reads a rule from its text as JSON, which is YAML too, so that its parts have places.
fn read(file: &str, rule: &Json, reader: &mut Reader) -> Option<SessionRule> {
    let (root, problems) = yaml_tree::parse(&rule.to_string(), "rule", Limits::default());
    for Problem { message, help, path, span, .. } in problems {
        let place = Place { file: file.to_owned(), path, span };
        reader.diagnostics.report(Code::InvalidYaml, &place, message).help(help);
    }
    SessionRule::read(&At::root(&root?, file), reader)
}
