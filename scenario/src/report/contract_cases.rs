//! The cells of a contract as test cases of JUnit.

use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use super::quarantined::is_excused;
use crate::score::{CellStatus, ContractCell, ContractScore};
use crate::untrusted;

/// The length at which messages are cut.
const MOST_MESSAGE: usize = 500;

/// The contract of a report as a suite of its own: a test case for each cell.
pub(super) fn suite(report: &Report) -> Option<TestSuite> {
    let contract = report.score.contract.as_ref()?;
    let mut suite = TestSuite::new(format!("{} contract", report.spec_id));
    suite.add_property(Property::new("contract", untrusted::line(&contract.name, MOST_MESSAGE)));
    suite.add_property(Property::new("resilience_score", contract.score_text()));
    suite.add_property(Property::new("verdict", contract.verdict.word()));
    suite.add_test_cases(contract.cells.iter().map(|cell| case(report, contract, cell)));
    Some(suite)
}

fn case(report: &Report, contract: &ContractScore, cell: &ContractCell) -> TestCase {
    let name = format!("{} in {}", cell.invariant, untrusted::line(&cell.world(), MOST_MESSAGE));
    let mut case = TestCase::new(name, status(report, contract, cell));
    case.set_classname(format!("{} contract {}", report.spec_id, untrusted::line(&contract.name, MOST_MESSAGE)));
    case.add_property(Property::new("severity", cell.severity.word()));
    case.add_property(Property::new("status", cell.status.word()));
    if let Some(outcome) = cell.outcome {
        case.add_property(Property::new("outcome", outcome.word()));
    }
    case
}

/// A failure of a contract that passed fails no test case, as the exit code does not: its property `status` tells of it. One
/// that a quarantine excuses counts as skipped.
fn status(report: &Report, contract: &ContractScore, cell: &ContractCell) -> TestCaseStatus {
    let mut status = match cell.status {
        CellStatus::Pass | CellStatus::Vacuous => return TestCaseStatus::success(),
        CellStatus::Fail if contract.passed => return TestCaseStatus::success(),
        CellStatus::Fail | CellStatus::Inconclusive | CellStatus::Error if is_excused(report) => {
            TestCaseStatus::skipped()
        }
        CellStatus::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        CellStatus::Skipped => TestCaseStatus::skipped(),
        CellStatus::Inconclusive | CellStatus::Error | CellStatus::Pending => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    status.set_message(format!("{}: {}", cell.status.word(), untrusted::line(&cell.reason, MOST_MESSAGE)));
    status
}
