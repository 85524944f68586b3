//! One invocation of an agent in a sandbox that is reused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::output::Captured;
use super::probe::{Answer, Exit};
use super::{AgentRecord, BaselineRun};

/// One invocation of an agent in a sandbox that is reused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Invocation {
    /// The id of the rule that it was made for; `None` for the spec's own invariants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The index of the prompt, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// The agent's record; `None` when it was not invoked any more.
    pub agent: Option<AgentRecord>,
    /// The answers of models about its output, by invariant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Vec<Answer>>,
    /// The run without faults that it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRun>,
}

impl AgentRecord {
    /// Combines several invocations into one: their outputs as far as kept, up to `most` bytes, the total of their
    /// times, and the first exit that was not a good one.
    #[must_use]
    pub fn together(all: &[Self], most: usize) -> Self {
        let is_good = |one: &&Self| one.exit == Some(Exit::Code(0));
        let last = all.iter().find(|one| !is_good(one)).or(all.last());
        Self {
            exit: last.and_then(|one| one.exit),
            stdout: joined(all.iter().map(|one| &one.stdout), most),
            stderr: joined(all.iter().map(|one| &one.stderr), most),
            wall_ms: all.iter().map(|one| one.wall_ms).fold(0, u64::saturating_add),
            ..Self::default()
        }
    }
}

/// Texts one after the other, each with an end of its line.
fn joined<'a>(texts: impl Iterator<Item = &'a Captured>, most: usize) -> Captured {
    let mut joined = Captured::default();
    for text in texts {
        let mut kept = text.text();
        if !kept.is_empty() && !kept.ends_with('\n') {
            kept.push('\n');
        }
        let end = kept.floor_char_boundary(most.saturating_sub(joined.head.len()));
        joined.dropped_bytes += text.dropped_bytes + (kept.len() - end) as u64;
        joined.head.push_str(&kept[..end]);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::AgentRecord;
    use crate::evidence::{Captured, Exit};

    #[test]
    fn invocations_are_told_together() {
        let one = |printed: &str, code: i32| AgentRecord {
            exit: Some(Exit::Code(code)),
            stdout: Captured::from(printed),
            wall_ms: 5,
            ..AgentRecord::default()
        };
        let all = AgentRecord::together(&[one("a", 0), one("b\n", 3), one("ccc", 0)], 6);
        assert_eq!((all.stdout.head.as_str(), all.stdout.dropped_bytes), ("a\nb\ncc", 2));
        assert_eq!((all.exit, all.wall_ms, all.stdout.is_complete()), (Some(Exit::Code(3)), 15, false));
        assert_eq!(AgentRecord::together(&[], 6), AgentRecord::default());
    }
}
