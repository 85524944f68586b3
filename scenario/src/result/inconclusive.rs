//! A pass in which no fault fired, where faults were required: it proves nothing.

use super::{Caveat, ScenarioError};
use crate::evidence::Evidence;
use crate::plan::Scenario;
use crate::spec::Spec;
use crate::verdict::ErrorCause;

/// The error of a scenario that passed although no fault of its cell fired; `None` where none has to.
pub(super) fn error(spec: &Spec, scenario: &Scenario, evidence: &Evidence) -> Option<ScenarioError> {
    let chaos = scenario.faults(spec);
    let fired = evidence.faults.as_ref().map_or(0, |faults| faults.total());
    let of_contract = spec.contract.as_ref().is_some_and(|contract| contract.require_fired);
    if !(chaos.require_fired || of_contract) || !chaos.has_faults() || fired > 0 {
        return None;
    }
    let rules = evidence.faults.as_ref().map(Caveat::rules_of).unwrap_or_default();
    let message = match rules.is_empty() {
        true => "no fault fired, and `require_fired` asks for one: the evidence has no rule for any".to_owned(),
        false => format!("no fault fired, and `require_fired` asks for one: {}", rules.join("; ")),
    };
    Some(ScenarioError { kind: ErrorCause::NoFaultFired.kind(), message })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::checks::testing::{files, text_file};
    use crate::evidence::{Evidence, FaultRecord, Fired, Limit, RuleCount};
    use crate::plan::{PlanOptions, expand};
    use crate::result::{RowStatus, ScenarioResult};
    use crate::spec::load;
    use crate::verdict::ErrorKind;

    const SPEC: &str = "
version: 1
id: test
base: debian
task: {prompt: x}
agent: {type: noop}
services:
  - {name: shop, type: http_mock, ports: [80], routes: [{path: /orders}]}
chaos_matrix:
  - {name: calm}
  - {name: strict, require_fired: true, tool_faults: [{tool: shop, mode: error}]}
  - {name: easy, tool_faults: [{tool: shop, mode: error}]}
invariants:
  note: {description: x, check: {type: file_content, path: n, contains: done}}
";

    /// Judges a scenario of a cell whose rule fired this number of times.
    fn judge(cell: &str, note: &str, fired: Option<u64>, more: Evidence) -> ScenarioResult {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let scenario = plan.scenarios.iter().find(|one| one.chaos == cell).expect("the cell");
        let rule = |fired| RuleCount {
            rule: "tool_faults[0]".to_owned(),
            mode: "error".to_owned(),
            target: "shop".to_owned(),
            matched: 2,
            fired,
        };
        let faults = fired.map(|fired| FaultRecord { rules: vec![rule(fired)], ..FaultRecord::default() });
        let answers = BTreeMap::from([("note".to_owned(), vec![files([text_file("n", note)])])]);
        ScenarioResult::judge(&spec, scenario, &Evidence { answers, faults, ..more })
    }

    #[test]
    fn a_pass_without_a_fault_is_inconclusive_and_keeps_its_verdicts() {
        let judged = judge("strict", "done", Some(0), Evidence::default());
        assert_eq!((judged.status, judged.word()), (RowStatus::Error, "inconclusive"));
        assert!(judged.is_inconclusive() && !judged.is_judged());
        assert!(judged.invariants[0].verdict.is_passed(), "what was found stays visible");
        let error = judged.error.expect("an error");
        assert_eq!(error.kind, ErrorKind::Inconclusive);
        let message = "no fault fired, and `require_fired` asks for one: tool_faults[0] (error shop) was about 2 calls";
        assert_eq!(error.message, message);
    }

    #[test]
    fn evidence_without_a_record_of_faults_proves_no_more() {
        let judged = judge("strict", "done", None, Evidence::default());
        assert_eq!(judged.error.map(|error| error.kind), Some(ErrorKind::Inconclusive));
    }

    #[test]
    fn a_failure_stays_a_failure_and_a_fault_that_fired_is_enough() {
        let status = |cell, note, fired, more| judge(cell, note, fired, more).status;
        assert_eq!(status("strict", "no", Some(0), Evidence::default()), RowStatus::Fail);
        let limits = vec![Fired { limit: Limit::Memory, detail: "2Gi".to_owned() }];
        let limited = Evidence { limits, ..Evidence::default() };
        assert_eq!(status("strict", "done", Some(0), limited), RowStatus::Fail);
        assert_eq!(status("strict", "done", Some(1), Evidence::default()), RowStatus::Pass);
    }

    #[test]
    fn cells_that_require_nothing_pass() {
        assert_eq!(judge("easy", "done", Some(0), Evidence::default()).status, RowStatus::Pass);
        assert_eq!(judge("calm", "done", None, Evidence::default()).status, RowStatus::Pass);
    }
}
