//! Recorded calls judged by contracts outside of a spec.

use serde_json::Value as Json;
use tool_contracts::options::{Fallback, Principal};
use tool_contracts::{CompileError, CompileOptions, RawSet};

use super::{ContractFolder, FindingSeverity, ToolContract, Unmatched, ViolationScore, judgement};
use crate::evidence::CallTrace;
use crate::spec::types::{Table, Whole};
use crate::verdict::Verdict;

/// The options of judging, as the check `tool_contract` has them.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractEvaluation {
    /// The one on whose behalf the agent acted.
    pub principal: Option<Json>,
    /// True when tools without a contract pass.
    pub allows_unmatched: bool,
    /// The number of violations that still pass.
    pub max_violations: u32,
    /// True when the score is the share of calls without a violation, in place of 1 or 0.
    pub is_ratio: bool,
    /// True when a session fails that does not end in a terminal phase.
    pub require_terminal_phase: bool,
}

/// Judges recorded calls by a set of contracts, as the check `tool_contract` does.
///
/// # Errors
/// The set does not compile.
pub fn evaluate_tool_contracts(
    set: RawSet,
    options: &ContractEvaluation,
    trace: &CallTrace,
) -> Result<Verdict, CompileError> {
    let principal = options.principal.clone().map_or(Principal::Missing, Principal::Given);
    let mut compile = CompileOptions { principal, ..CompileOptions::default() };
    if options.allows_unmatched {
        compile.run.unmatched = Fallback::Allow;
    }
    let (compiled, _) = tool_contracts::compile(&set.own(), &compile)?;
    let check = ToolContract {
        contracts: ContractFolder::of(set),
        workflow: None,
        principal: None,
        rules: Vec::new(),
        unmatched: Unmatched::Block,
        severity: Table::default(),
        attempts: FindingSeverity::Warn,
        max_violations: Whole::new(options.max_violations.into()),
        score: if options.is_ratio { ViolationScore::Ratio } else { ViolationScore::Binary },
        require_terminal_phase: options.require_terminal_phase,
    };
    Ok(judgement::verdict(&check, &compiled, &judgement::of_trace(&compiled, trace)))
}
