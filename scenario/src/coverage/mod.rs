//! Capability coverage: the share of a list of abilities that is shown by something that passed.
//!
//! A spec names what it exercises under `capabilities`. A capability is *covered* when a spec that names it has a cell that
//! passed, or a contract that was kept: so a flaky cell covers it only where its bar allows for the failures, and a cell that
//! could not be judged, or whose faults never fired where they had to, does not. It is *failing* when specs name it and none of
//! them passed, and *untested* when none names it. Tags that the list does not have count nowhere: a typo cannot raise the
//! number.

mod matrix;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::untrusted;

pub use matrix::{Capability, CapabilityFields, CapabilityMatrix};

/// How many specs or capabilities a line names.
const MOST_NAMED: usize = 5;

/// One spec that ran: what it names, and whether something of it passed.
#[derive(Debug, Clone, Copy)]
pub struct Exercised<'a> {
    /// The spec's id.
    pub spec: &'a str,
    /// The capabilities that it names.
    pub tags: &'a [String],
    /// Whether a cell of it passed, or its contract was kept.
    pub passed: bool,
}

/// How much of a list of capabilities is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// covered / total; 1 for an empty list.
    pub share: f64,
    /// How many capabilities are covered.
    pub covered: usize,
    /// How many there are.
    pub total: usize,
    /// Each of them, in the order of the list.
    pub capabilities: Vec<CapabilityCoverage>,
    /// The ids of those that are not covered.
    pub uncovered: Vec<String>,
    /// Tags of specs that the list does not have.
    pub unknown_tags: Vec<UnknownTag>,
}

/// What is known about one capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityCoverage {
    /// Its id.
    pub id: String,
    /// Its group.
    #[serde(default)]
    pub group: Option<String>,
    /// What it means.
    #[serde(default)]
    pub description: String,
    /// Whether it is shown.
    pub state: CapabilityState,
    /// The specs that name it and passed.
    pub passed_in: Vec<String>,
    /// The specs that name it and did not pass.
    pub failed_in: Vec<String>,
}

/// Whether a capability is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityState {
    /// A spec that names it passed.
    Covered,
    /// Specs name it, and none passed.
    Failing,
    /// No spec names it.
    Untested,
}

/// A tag that the list of capabilities does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownTag {
    /// The tag.
    pub tag: String,
    /// The specs that name it.
    pub specs: Vec<String>,
    /// The id that was most likely meant.
    #[serde(default)]
    pub nearest: Option<String>,
}

impl CapabilityState {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::Failing => "failing",
            Self::Untested => "untested",
        }
    }
}

impl Coverage {
    /// Finds out what of a list is shown by specs that ran.
    #[must_use]
    pub fn of(matrix: &CapabilityMatrix, ran: &[Exercised<'_>]) -> Self {
        let capabilities: Vec<_> = matrix.capabilities.iter().map(|capability| shown(capability, ran)).collect();
        let uncovered: Vec<_> = capabilities.iter().filter(|one| !one.is_covered()).map(|one| one.id.clone()).collect();
        let (total, covered) = (capabilities.len(), capabilities.len() - uncovered.len());
        Self {
            share: share(covered, total),
            covered,
            total,
            capabilities,
            uncovered,
            unknown_tags: unknown(matrix, ran),
        }
    }

    /// `5/8 capabilities (62.5 %)`.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{}/{} capabilities ({:.1} %)", self.covered, self.total, 100.0 * self.share)
    }

    /// The groups, in the order in which they first appear, with their capabilities. Those without a group come under "".
    #[must_use]
    pub fn groups(&self) -> IndexMap<&str, Vec<&CapabilityCoverage>> {
        let mut groups: IndexMap<&str, Vec<&CapabilityCoverage>> = IndexMap::new();
        for capability in &self.capabilities {
            groups.entry(capability.group.as_deref().unwrap_or_default()).or_default().push(capability);
        }
        groups
    }

    /// Whether no spec names a capability that the list does not have.
    #[must_use]
    pub fn has_unknown_tags(&self) -> bool {
        !self.unknown_tags.is_empty()
    }
}

impl CapabilityCoverage {
    fn is_covered(&self) -> bool {
        self.state == CapabilityState::Covered
    }

    /// Why it is not covered: `failing in refund-agent`, `untested`; and in which specs it passed.
    #[must_use]
    pub fn why(&self) -> String {
        match self.state {
            CapabilityState::Covered => format!("passed in {}", named(&self.passed_in)),
            CapabilityState::Failing => format!("failing in {}", named(&self.failed_in)),
            CapabilityState::Untested => "untested".to_owned(),
        }
    }
}

impl UnknownTag {
    /// `modle.empty in lost-answer; did you mean model.empty?`
    #[must_use]
    pub fn message(&self) -> String {
        let near = self.nearest.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        untrusted::line(&format!("{} in {}{near}", self.tag, named(&self.specs)), 400)
    }
}

fn named(specs: &[String]) -> String {
    let shown: Vec<_> = specs.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if specs.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn shown(capability: &Capability, ran: &[Exercised<'_>]) -> CapabilityCoverage {
    let id = capability.id.to_string();
    let naming = |passed: bool| -> Vec<String> {
        let names = |one: &&Exercised<'_>| one.passed == passed && one.tags.contains(&id);
        ran.iter().filter(names).map(|one| one.spec.to_owned()).collect()
    };
    let (passed_in, failed_in) = (naming(true), naming(false));
    let state = match (passed_in.is_empty(), failed_in.is_empty()) {
        (false, _) => CapabilityState::Covered,
        (true, false) => CapabilityState::Failing,
        (true, true) => CapabilityState::Untested,
    };
    let (group, description) = (capability.group.as_ref().map(ToString::to_string), capability.description.clone());
    CapabilityCoverage { id, group, description, state, passed_in, failed_in }
}

fn unknown(matrix: &CapabilityMatrix, ran: &[Exercised<'_>]) -> Vec<UnknownTag> {
    let mut tags: IndexMap<&str, Vec<String>> = IndexMap::new();
    for one in ran {
        for tag in one.tags.iter().filter(|tag| !matrix.has(tag)) {
            tags.entry(tag).or_default().push(one.spec.to_owned());
        }
    }
    let nearest = |tag: &str| matrix.nearest(tag).map(ToOwned::to_owned);
    tags.into_iter().map(|(tag, specs)| UnknownTag { tag: tag.to_owned(), specs, nearest: nearest(tag) }).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a list has few capabilities")]
fn share(covered: usize, total: usize) -> f64 {
    if total == 0 { 1.0 } else { covered as f64 / total as f64 }
}

#[cfg(test)]
mod tests {
    use super::{CapabilityMatrix, CapabilityState, Coverage, Exercised};

    fn matrix(text: &str) -> CapabilityMatrix {
        CapabilityMatrix::load(text).value.expect("a matrix")
    }

    fn coverage(matrix_text: &str, ran: &[(&str, &[&str], bool)]) -> Coverage {
        let tags: Vec<Vec<String>> =
            ran.iter().map(|(_, tags, _)| tags.iter().map(|tag| (*tag).to_owned()).collect()).collect();
        let ran: Vec<_> =
            ran.iter().zip(&tags).map(|((spec, _, passed), tags)| Exercised { spec, tags, passed: *passed }).collect();
        Coverage::of(&matrix(matrix_text), &ran)
    }

    #[test]
    fn a_capability_is_covered_by_one_passing_spec() {
        let coverage = coverage("[a, b, c, d]", &[("x", &["a", "b"], true), ("y", &["b", "c"], false)]);
        let states: Vec<_> = coverage.capabilities.iter().map(|one| one.state).collect();
        use CapabilityState::{Covered, Failing, Untested};
        assert_eq!(states, [Covered, Covered, Failing, Untested]);
        assert_eq!((coverage.covered, coverage.total, coverage.share), (2, 4, 0.5));
        assert_eq!(coverage.uncovered, ["c", "d"]);
        assert_eq!(coverage.summary(), "2/4 capabilities (50.0 %)");
        let why: Vec<_> = coverage.capabilities.iter().map(super::CapabilityCoverage::why).collect();
        assert_eq!(why, ["passed in x", "passed in x", "failing in y", "untested"]);
    }

    #[test]
    fn an_empty_list_is_covered_and_unknown_tags_count_nowhere() {
        let empty = coverage("[]", &[("x", &["a"], true)]);
        assert_eq!((empty.share, empty.total), (1.0, 0));
        let typo = coverage("[model.empty]", &[("x", &["modle.empty"], true), ("y", &["modle.empty"], false)]);
        assert_eq!((typo.share, typo.uncovered), (0.0, vec!["model.empty".to_owned()]));
        let [unknown] = typo.unknown_tags.try_into().expect("one");
        assert_eq!(unknown.message(), "modle.empty in x, y; did you mean model.empty?");
    }

    #[test]
    fn groups_keep_the_order_of_the_list() {
        let coverage = coverage("[{id: a, group: z}, b, {id: c, group: y}, {id: d, group: z}]", &[]);
        let groups: Vec<_> = coverage
            .groups()
            .into_iter()
            .map(|(group, ids)| (group, ids.iter().map(|one| one.id.as_str()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(groups, [("z", vec!["a", "d"]), ("", vec!["b"]), ("y", vec!["c"])]);
    }
}
