//! `tool_contract`: did the agent's tool calls keep the rules?

mod evaluate;
mod folder;
mod judgement;
mod live;
mod problems;
mod session;
#[cfg(test)]
mod tests;

pub use evaluate::{ContractEvaluation, evaluate_tool_contracts};
pub use folder::ContractFolder;
pub(crate) use problems::report_contract_problems;
use tool_contracts::options::{Fallback, Principal};
use tool_contracts::{Code as RuleCode, CompileError, CompileOptions, Compiled, compile, compile_workflow};

use super::Case;
use crate::spec::code::Code;
use crate::spec::diagnostic::did_you_mean;
use crate::spec::section::{choice, section};
use crate::spec::types::{BundlePath, FindingCode, Table, Value, Whole};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when the agent's tool calls keep the rules of a folder of tool contracts (`docs/tool-contracts.md`).
    ///
    /// The recorded calls are judged one after the other, as they would have been decided, and the state follows what really
    /// happened. Each broken rule is a finding with a code, a rule and a fingerprint that is the same in every run. The first
    /// violation is marked; later ones may be its consequences.
    ///
    /// - Calls are known from the model gateway: the proposals of the model, and the results that the agent reported. Without any
    ///   record the check is an error.
    /// - The contracts are part of the spec: they are read when the spec is, and stored with it.
    /// - `unmatched: allow` lets tools pass that have no contract.
    /// - Where `tool_contracts` of the spec applied the same contracts while the agent acted, the decisions of then are judged.
    ///   Calls that were refused were attempts, which `attempts` weighs; a refused call that was carried out is a violation.
    ///
    /// ```yaml
    /// check:
    ///   type: tool_contract
    ///   contracts: contracts
    ///   severity: { checkpoint_required: fail }
    /// ```
    pub struct ToolContract {
        /// The folder with `session.yaml` and a file for each tool, beside the spec.
        contracts: ContractFolder,
        /// The workflow file in that folder. Sessions whose calls were decided while the agent acted are judged by the rules of
        /// their roles; a recorded trace is judged by those of the first role.
        workflow: Option<BundlePath>,
        /// The one on whose behalf the agent acts, which policies are about. It is in no finding.
        principal: Option<Value>,
        /// Rules over the whole session, beside those of `session.yaml` (`docs/tool-contracts.md`).
        rules: Vec<Value> = Vec::new(),
        /// What calls of tools without a contract come to.
        unmatched: Unmatched = Unmatched::Block,
        /// How much findings weigh, by their codes, where that is not their usual weight.
        severity: Table<FindingCode, FindingSeverity> = Table::default(),
        /// The weight of refused calls that were never carried out.
        attempts: FindingSeverity = FindingSeverity::Warn,
        /// How many violations still pass.
        max_violations: Whole<0, 1_000_000> = Whole::new(0),
        /// How the score is computed: 1 or 0 (`binary`), or the share of calls without a violation (`ratio`).
        score: ViolationScore = ViolationScore::Binary,
        /// Makes a session fail that does not end in a terminal phase.
        require_terminal_phase: bool = true,
    }
}

choice! {
    /// What calls of tools without a contract come to.
    pub enum Unmatched {
        /// A violation.
        Block = "block",
        /// They are judged by the rules for all tools only.
        Allow = "allow",
    }
}

choice! {
    /// How much a finding weighs.
    pub enum FindingSeverity {
        /// It is a violation.
        Fail = "fail",
        /// It is shown, and changes nothing.
        Warn = "warn",
        /// It is a remark.
        Info = "info",
        /// It is left out.
        Ignore = "ignore",
    }
}

choice! {
    /// How the score of tool contracts is computed.
    pub enum ViolationScore {
        /// 1 with few enough violations, else 0.
        Binary = "binary",
        /// The share of calls that have no violation.
        Ratio = "ratio",
    }
}

impl ToolContract {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        let folder = self.contracts.path();
        if self.contracts.set().files.is_empty() {
            rules.at("contracts").missing_file(folder);
            return;
        }
        if let Some(workflow) = &self.workflow {
            let path = format!("{folder}/{}", workflow.as_str());
            if rules.bundle_has(&path) != Some(true) {
                rules.at("workflow").missing_file(&path);
                return;
            }
        }
        if let Err(error) = self.compile(self.written_principal()) {
            report_contract_problems(&error, folder, &mut rules.at("contracts"));
        }
        let known = || RuleCode::ALL.iter().map(|code| code.name());
        for code in self.severity.keys().filter(|code| !known().any(|name| name == code.as_str())) {
            let help = did_you_mean(code, known());
            let message = format!("tool contracts have no code `{code}`");
            rules.at("severity").at(code).report_key(Code::UnknownChoice, message, help.as_deref());
        }
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let principal = self.principal.as_ref().map(|principal| principal.render(case.values).to_json());
        let sets = match self.compile(principal) {
            Ok(sets) => sets,
            Err(error) => return Verdict::errored(ErrorCause::UnusableCheck, error.to_string()),
        };
        let Some(compiled) = sets.first() else {
            return Verdict::errored(ErrorCause::UnusableCheck, "the workflow has no role");
        };
        if let Some(sessions) = live::sessions(case.evidence.tool_contracts.as_ref(), &sets) {
            let governing = live::governing_sets(case.values).unwrap_or_else(|| sets.clone());
            return match live::judged(self, &governing, &sessions) {
                Ok(judged) => judgement::verdict(self, compiled, &judged),
                Err(verdict) => *verdict,
            };
        }
        if case.evidence.model.is_none() && case.evidence.call_trace.is_empty() {
            let message = "no tool call was recorded: the spec has neither a `model` nor another record of tools";
            return Verdict::errored(ErrorCause::UnusableCheck, message);
        }
        let judged = judgement::of_trace(compiled, &case.evidence.call_trace);
        judgement::verdict(self, compiled, &judged)
    }

    /// The weight of a reason against a call that was not carried out, where it is not the usual one of its code.
    fn attempt_severity(&self, code: RuleCode) -> Option<FindingSeverity> {
        let is_violation = judgement::severity(self, code) == FindingSeverity::Fail;
        is_violation.then_some(self.attempts)
    }

    fn written_principal(&self) -> Option<serde_json::Value> {
        self.principal.as_ref().map(Value::to_json)
    }

    /// The set of the contracts; with a workflow those of all roles, the first one first.
    fn compile(&self, principal: Option<serde_json::Value>) -> Result<Vec<Compiled>, CompileError> {
        let principal = principal.map_or(Principal::Missing, Principal::Given);
        let rules = self.rules.iter().map(Value::to_json).collect();
        let mut options = CompileOptions { principal, rules, ..CompileOptions::default() };
        if self.unmatched == Unmatched::Allow {
            options.run.unmatched = Fallback::Allow;
        }
        match &self.workflow {
            Some(_) => compile_workflow(self.contracts.set(), &options).map(|(workflow, _)| workflow.into_roles()),
            None => compile(&self.contracts.own_set(), &options).map(|(compiled, _)| vec![compiled]),
        }
    }
}
