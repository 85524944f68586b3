//! Compares the actual result with the expected one.

use serde_json::Value as Json;

use super::Checked;
use crate::decide::{Decision, Verdict};

/// The texts of a list, or of one text with separators; nothing for anything else.
pub(super) fn codes(value: &Json) -> Vec<String> {
    match value {
        Json::Array(items) => items.iter().filter_map(|item| item.as_str().map(ToOwned::to_owned)).collect(),
        Json::String(text) => split(text),
        _ => Vec::new(),
    }
}

fn split(text: &str) -> Vec<String> {
    text.split([',', '+', ' ', '|']).filter(|part| !part.is_empty()).map(ToOwned::to_owned).collect()
}

/// Fails unless both have the same codes, whatever their order.
pub(super) fn same_codes(what: &str, got: &[String], wanted: &[String]) -> Checked {
    let (mut left, mut right) = (got.to_vec(), wanted.to_vec());
    left.sort();
    right.sort();
    if left == right { Ok(()) } else { Err(format!("{what}: got {left:?}, wanted {right:?}")) }
}

/// Fails unless a text is the one that is wanted.
pub(super) fn same_text(what: &str, got: &str, wanted: &str) -> Checked {
    if got == wanted { Ok(()) } else { Err(format!("{what}: got {got}, wanted {wanted}")) }
}

/// A decision as vectors write it: `allow`, `hold`, or `block:` and the codes in the order of the rules.
pub(super) fn written(decision: &Decision) -> String {
    match decision.verdict {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Hold => "hold".to_owned(),
        Verdict::Block => {
            let codes: Vec<_> = decision.codes().iter().map(|code| code.name()).collect();
            format!("block:{}", codes.join(","))
        }
    }
}

/// True when a decision is what is wanted; codes may be written once or as often as they come.
pub(super) fn is_same_decision(got: &str, wanted: &str) -> bool {
    let parts =
        |text: &str| -> Vec<Vec<String>> { text.split('>').map(|part| split(&part.replace(':', ","))).collect() };
    let once = |parts: Vec<Vec<String>>| -> Vec<Vec<String>> {
        let mut parts = parts;
        parts.iter_mut().for_each(Vec::dedup);
        parts
    };
    let (got, wanted) = (parts(got), parts(wanted));
    got == wanted || once(got) == once(wanted)
}
