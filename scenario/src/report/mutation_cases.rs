//! The kinds of mutations as test cases of JUnit.

use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use super::quarantined::is_excused;
use crate::score::{CellVerdict, MutationKindScore, MutationScore};
use crate::untrusted;

/// The length at which messages are cut.
const MOST_MESSAGE: usize = 500;

/// The mutations of a report as a suite of their own: a test case for each kind.
pub(super) fn suite(report: &Report) -> Option<TestSuite> {
    let mutations = report.score.mutations.as_ref()?;
    let name = format!("{} mutations", report.spec_id);
    let mut suite = TestSuite::new(name.as_str());
    suite.add_property(Property::new("robustness", mutations.robustness_text()));
    if let Some(bar) = mutations.min_robustness {
        suite.add_property(Property::new("min_robustness", bar.to_string()));
    }
    suite.add_test_cases(mutations.kinds.iter().map(|kind| {
        let mut case = TestCase::new(kind.kind.word(), status(is_excused(report), mutations, kind));
        case.set_classname(name.as_str());
        case.add_property(Property::new("weight", kind.weight.to_string()));
        case.add_property(Property::new("passed", kind.passed.to_string()));
        case.add_property(Property::new("failed", kind.failed.to_string()));
        case.add_property(Property::new("planned", kind.planned.to_string()));
        case
    }));
    Some(suite)
}

/// A kind fails only with the robustness that is required, as the exit code does: its properties tell of the rest. What a
/// quarantine excuses counts as skipped.
fn status(is_excused: bool, mutations: &MutationScore, kind: &MutationKindScore) -> TestCaseStatus {
    let judged = kind.passed + kind.failed;
    if is_excused && kind.passed < kind.planned {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("quarantined: {} of {} passed", kind.passed, kind.planned));
        return status;
    }
    if judged < kind.planned {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(format!("{} of {} could not be judged", kind.planned - judged, kind.planned));
        return status;
    }
    if kind.failed == 0 || mutations.verdict != CellVerdict::Fail {
        return TestCaseStatus::success();
    }
    let first = mutations.failed.iter().find(|failed| failed.mutation.kind == kind.kind);
    let reason = first.map(|failed| format!(", {}: {}", failed.scenario, failed.reason)).unwrap_or_default();
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let message = format!("{} of {judged} failed{reason}", kind.failed);
    status.set_message(untrusted::line(&message, MOST_MESSAGE));
    status
}
