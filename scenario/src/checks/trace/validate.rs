//! The rules of `trace`: keys that belong together, and conditions that can be met.

use super::{RunStatus, Step, TraceCheck};
use crate::spec::code::Code;
use crate::spec::types::Whole;
use crate::spec::validate::Rules;
use crate::{count_noun, count_noun_as};

/// The keys of which one must be given.
const CONDITIONS: [&str; 7] =
    ["path", "last_step", "max_llm_calls", "max_total_tokens", "min_denials", "status", "reason_contains"];

impl TraceCheck {
    /// Reports what is wrong with the check; `rules` stand at it.
    pub(in crate::checks) fn validate(&self, rules: &mut Rules<'_>) {
        if !CONDITIONS.iter().any(|key| rules.has(key)) {
            let help = "add `path`, `last_step`, `max_llm_calls`, `max_total_tokens`, `min_denials`, `status` or `reason_contains`";
            rules.report(Code::MissingCondition, "a check on the trace without a condition", Some(help));
        }
        if self.path_exact && self.path.is_none() {
            let message = "`path_exact` is about `path`, and there is none";
            rules.at("path_exact").report_key(Code::MissingKey, message, None);
        }
        if self.status == Some(RunStatus::Completed) && self.reason_contains.is_some() {
            let message = "a run that is `completed` has no reason for which it did not complete";
            rules.at("reason_contains").report_key(Code::ConflictingKeys, message, Some("keep one of the two"));
        }
        self.validate_last(rules);
        self.validate_calls(rules);
        self.validate_steps(rules);
    }

    /// The last step of an exact path is the last step.
    fn validate_last(&self, rules: &mut Rules<'_>) {
        let Some(last) = self.path.as_ref().filter(|_| self.path_exact).and_then(|path| path.last()) else { return };
        match &self.last_step {
            Some(step) if step == last => {
                let message = "`path_exact` says already which step is the last";
                rules.at("last_step").report_key(Code::NoEffect, message, None);
            }
            Some(step) => {
                let message = format!("the path ends with `{last}`, and `{step}` must be the last step");
                rules.at("last_step").report_key(Code::ConflictingKeys, message, Some("keep one of the two"));
            }
            None => {}
        }
    }

    /// The model may be called as often as the path needs.
    fn validate_calls(&self, rules: &mut Rules<'_>) {
        let Some(most) = self.max_llm_calls.map(Whole::count) else { return };
        let in_path = self.path.iter().flat_map(|path| path.iter()).filter(|step| **step == Step::Llm).count();
        let least = in_path.max(usize::from(self.last_step == Some(Step::Llm)));
        if least > most {
            let (least, most) = (count_noun(least, "call"), count_noun_as(most, "call is", "calls are"));
            let message = format!("the steps need {least} of the model, and at most {most} allowed");
            rules.at("max_llm_calls").report(Code::NeverHolds, message, None);
        }
    }

    /// Checks that the subjects of the steps and bounds are recorded.
    fn validate_steps(&self, rules: &mut Rules<'_>) {
        let is_silent = rules.spec.model.is_none() && !rules.holes.has_section("model");
        for key in ["max_llm_calls", "max_total_tokens"].into_iter().filter(|_| is_silent) {
            if rules.has(key) {
                rules.at(key).report_key(Code::NotRecorded, "no call of a model is seen here", Some(ADD_MODEL));
            }
        }
        for (index, step) in self.path.iter().flat_map(|path| path.iter()).enumerate() {
            validate_step(step, is_silent, &mut rules.at("path").index(index));
        }
        if let Some(step) = &self.last_step {
            validate_step(step, is_silent, &mut rules.at("last_step"));
        }
    }
}

/// Advice for a spec without a model.
const ADD_MODEL: &str = "calls of models are seen where the agent talks to its model, and calls of tools there and at `tools`; add one of them";

fn validate_step(step: &Step, is_silent: bool, rules: &mut Rules<'_>) {
    match step {
        Step::Http(service, ..) => rules.recording_mock(service),
        Step::Llm if is_silent => {
            rules.report(Code::NotRecorded, format!("the step `{step}` is never seen here"), Some(ADD_MODEL));
        }
        Step::Tool(_) if is_silent && rules.spec.tools.is_empty() && !rules.holes.has_section("tools") => {
            rules.report(Code::NotRecorded, format!("the step `{step}` is never seen here"), Some(ADD_MODEL));
        }
        Step::Llm | Step::Tool(_) => {}
    }
}
