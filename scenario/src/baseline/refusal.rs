//! The reasons why a run does not become a baseline: it failed, it is not whole, or it is smaller than the one that it would
//! replace. A baseline that came of such a run would hide the next regression.

use serde::{Deserialize, Serialize};

use crate::count_noun;
use crate::report::Report;
use crate::score::ExperimentVerdict;

/// The size of a stored run: a smaller one does not replace it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineSize {
    /// The number of cells.
    pub cells: usize,
    /// The number of replicas that ended, over all cells.
    pub replicas: usize,
}

/// A run that is to become a baseline.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its report.
    pub report: &'a Report,
    /// True when it had all scenarios of its plan, and not only those that a filter chose.
    pub is_whole: bool,
    /// True when a gate has let it pass: then what failed in it is in quarantine.
    pub passed_gate: bool,
}

/// A reason why a run does not become a baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It did not pass.
    #[error("`{spec}` did not pass: its verdict is {verdict}")]
    Failed {
        /// The spec.
        spec: String,
        /// Its verdict, as a word.
        verdict: &'static str,
    },
    /// Some scenarios could not be judged.
    #[error("`{spec}` has {} that could not be judged", count_noun(*errors, "scenario"))]
    Errors {
        /// The spec.
        spec: String,
        /// The number of scenarios.
        errors: usize,
    },
    /// Some scenarios have not ended.
    #[error("`{spec}` is incomplete: {} of {total} did not end", count_noun(*missing, "scenario"))]
    Incomplete {
        /// The spec.
        spec: String,
        /// The number of those that did not end.
        missing: usize,
        /// The number of those that were planned.
        total: usize,
    },
    /// Only a part of its scenarios was chosen.
    #[error("`{spec}` was run in part: a filter chose its scenarios, or they were those that had failed")]
    Partial {
        /// The spec.
        spec: String,
    },
    /// The one that it would replace has more cells.
    #[error("`{spec}` has {now} where the baseline has {before}", now = count_noun(*now, "cell"))]
    FewerCells {
        /// The spec.
        spec: String,
        /// The number of cells of the baseline.
        before: usize,
        /// The number of those of the run.
        now: usize,
    },
    /// The one that it would replace has more replicas.
    #[error("`{spec}` has {now} where the baseline has {before}", now = count_noun(*now, "replica"))]
    FewerReplicas {
        /// The spec.
        spec: String,
        /// The number of replicas of the baseline, over all cells.
        before: usize,
        /// The number of those of the run.
        now: usize,
    },
}

impl BaselineSize {
    /// The size of a run.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self { cells: report.score.cells.len(), replicas: report.rows.len() }
    }
}

/// All reasons why a run does not become a baseline, in the place of one of this size. None means that it may.
#[must_use]
pub fn refusals(candidate: Candidate<'_>, stored: Option<BaselineSize>) -> Vec<Refusal> {
    let Candidate { report, is_whole, passed_gate } = candidate;
    let (spec, score) = (|| report.spec_id.clone(), &report.score);
    let mut refusals = Vec::new();
    if !passed_gate && score.verdict == ExperimentVerdict::Fail {
        refusals.push(Refusal::Failed { spec: spec(), verdict: score.verdict.word() });
    }
    if !passed_gate && score.errors > 0 {
        refusals.push(Refusal::Errors { spec: spec(), errors: score.errors });
    }
    if report.not_run() > 0 || score.total == 0 {
        refusals.push(Refusal::Incomplete { spec: spec(), missing: report.not_run(), total: score.total });
    }
    if !is_whole {
        refusals.push(Refusal::Partial { spec: spec() });
    }
    refusals.extend(smaller(report, stored));
    if refusals.is_empty() && !passed_gate && score.exit_code() != 0 {
        refusals.push(Refusal::Failed { spec: spec(), verdict: score.verdict.word() });
    }
    refusals
}

/// True when the run is smaller than the one that it would replace. Fewer cells explain fewer replicas.
fn smaller(report: &Report, stored: Option<BaselineSize>) -> Option<Refusal> {
    let (now, before) = (BaselineSize::of(report), stored?);
    let spec = report.spec_id.clone();
    if now.cells < before.cells {
        Some(Refusal::FewerCells { spec, before: before.cells, now: now.cells })
    } else if now.replicas < before.replicas {
        Some(Refusal::FewerReplicas { spec, before: before.replicas, now: now.replicas })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{BaselineSize, Candidate, refusals};
    use crate::evidence::Evidence;
    use crate::report::Report;
    use crate::report::tests::{evidence, report, report_of};

    fn passed() -> Report {
        report_of(&vec![evidence(0, "refunded", ""); 4])
    }

    fn reasons(report: &Report, stored: Option<BaselineSize>) -> Vec<String> {
        let candidate = Candidate { report, is_whole: true, passed_gate: false };
        refusals(candidate, stored).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_whole_run_that_passed_is_kept_in_the_place_of_none_and_of_one_that_is_not_larger() {
        let report = passed();
        assert_eq!(BaselineSize::of(&report), BaselineSize { cells: 2, replicas: 4 });
        assert_eq!(reasons(&report, None), [""; 0]);
        assert_eq!(reasons(&report, Some(BaselineSize { cells: 2, replicas: 4 })), [""; 0]);
        assert_eq!(reasons(&report, Some(BaselineSize { cells: 1, replicas: 2 })), [""; 0]);
    }

    #[test]
    fn a_run_that_failed_is_smaller_or_is_not_whole_is_refused_with_the_reason() {
        let check = |report: &Report, stored, expected: &str| {
            let found = reasons(report, stored);
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        };
        let both = [
            "`refund-agent` did not pass: its verdict is fail",
            "`refund-agent` has 1 scenario that could not be judged",
        ];
        assert_eq!(reasons(&report(), None), both);
        check(&report_of(&vec![Evidence::default(); 4]), None, "has 4 scenarios that could not be judged");
        check(&report_of(&[evidence(0, "refunded", "")]), None, "is incomplete: 3 scenarios of 4 did not end");
        check(&passed(), Some(BaselineSize { cells: 3, replicas: 3 }), "has 2 cells where the baseline has 3");
        check(&passed(), Some(BaselineSize { cells: 2, replicas: 6 }), "has 4 replicas where the baseline has 6");
        let partial = Candidate { report: &passed(), is_whole: false, passed_gate: false };
        assert!(refusals(partial, None)[0].to_string().contains("was run in part"));
    }

    #[test]
    fn what_a_gate_let_pass_may_have_failures_but_must_not_be_smaller() {
        let failed = report();
        let candidate = Candidate { report: &failed, is_whole: true, passed_gate: true };
        assert_eq!(refusals(candidate, None), []);
        assert_eq!(refusals(candidate, Some(BaselineSize { cells: 9, replicas: 9 })).len(), 1);
    }
}
