//! The verdict on sessions whose calls were decided while the agent acted.

use tool_contracts::record::check_log;
use tool_contracts::{Code, Compiled, Finding, TraceFinding, replay_log, report_of_log};

use super::judgement::Judged;
use super::{FindingSeverity, ToolContract};
use crate::evidence::{ContractMode, ContractRecord, ContractSession};
use crate::plan::Values;
use crate::spec::sections::CompiledContracts;
use crate::verdict::{ErrorCause, Verdict};

/// The sessions of a record that were decided by these contracts; `None` when none was, so that the call trace is judged.
pub(super) fn sessions<'a>(record: Option<&'a ContractRecord>, sets: &[Compiled]) -> Option<Vec<&'a ContractSession>> {
    let record = record.filter(|record| record.mode != ContractMode::Record)?;
    let is_ours = |session: &&ContractSession| sets.iter().any(|set| session.contract == set.hash);
    let decided: Vec<_> = record.sessions.iter().filter(is_ours).collect();
    (!decided.is_empty()).then_some(decided)
}

/// The contracts with the options that the spec governed its sessions with, so that its decisions can be computed again. With a
/// workflow, those of each role.
pub(super) fn governing_sets(values: &Values<'_>) -> Option<Vec<Compiled>> {
    let spec = values.spec();
    let contracts = spec.tool_contracts.as_ref()?;
    let options = spec.contract_options(contracts, contracts.principal(values), values);
    match contracts.compile(&options).ok()?.0 {
        CompiledContracts::Session(set) => Some(vec![*set]),
        CompiledContracts::Workflow(workflow) => Some(workflow.into_roles()),
    }
}

/// Judges the sessions.
///
/// # Errors
/// A verdict, when a log is not as it was written.
pub(super) fn judged(
    check: &ToolContract,
    sets: &[Compiled],
    sessions: &[&ContractSession],
) -> Result<Judged<'static>, Box<Verdict>> {
    let mut judged = Judged::default();
    for session in sessions {
        require_whole(session)?;
        let report = report_of_log(&session.records);
        judged.calls += report.calls.len();
        judged.final_phase = report.final_phase.or(judged.final_phase);
        for found in report.findings {
            judged.attempted += u64::from(found.is_attempt);
            let severity = if found.is_attempt { check.attempt_severity(found.finding.code) } else { None };
            judged.findings.push((TraceFinding { seq: Some(found.seq), finding: found.finding }, severity));
        }
        for call in &report.bypasses {
            let code = Code::BlockedCallExecuted;
            let finding = Finding::of_call(code, "", call, code.explanation());
            judged.findings.push((TraceFinding { seq: None, finding }, None));
        }
        judged.bypassed += report.bypasses.len() as u64;
        // The roles of a workflow are told apart by the hashes of their contracts.
        if let Some(set) = sets.iter().find(|set| set.hash == session.contract).or(sets.first()) {
            judged.findings.extend(divergences(set, session));
        }
    }
    Ok(judged)
}

/// Folds the log again: the same contracts must give the same decisions.
fn divergences(set: &Compiled, session: &ContractSession) -> Vec<(TraceFinding, Option<FindingSeverity>)> {
    if session.only_counted > 0 {
        return Vec::new();
    }
    let divergence = |found: tool_contracts::Divergence| {
        let message = format!("the log says {}, and these contracts come to {}", found.recorded, found.computed);
        let finding = Finding::of_call(Code::DecisionDivergence, "", &found.call, message);
        (TraceFinding { seq: Some(found.seq), finding }, None)
    };
    replay_log(set, &session.records).divergences.into_iter().map(divergence).collect()
}

/// Checks that no part of a log was changed or cut off.
fn require_whole(session: &ContractSession) -> Result<(), Box<Verdict>> {
    let Some(last) = &session.last_hash else { return Ok(()) };
    check_log(&session.log(), last).map_err(|broken| {
        let message =
            format!("the records of the session `{}` are not as they were written: {broken}", session.session);
        Box::new(Verdict::errored(ErrorCause::UnusableCheck, message))
    })
}
