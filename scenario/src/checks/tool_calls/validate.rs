//! The rules of `tool_calls`: keys that belong together, keys that exclude each other, and conditions that can be met.

use super::trajectory::validate_arguments;
use super::{CallSource, MatchMode, ToolCalls, count};
use crate::spec::code::Code;
use crate::spec::types::CalledTool;
use crate::spec::validate::Rules;

/// The keys that say which calls must be made.
const SUBJECTS: [&str; 3] = ["tool", "order", "trajectory"];

impl ToolCalls {
    /// Reports what is wrong with the check; `rules` stand at it.
    pub(in crate::checks) fn validate(&self, rules: &mut Rules<'_>) {
        self.validate_subject(rules);
        if self.tool.is_none() {
            for key in ["arguments", "count"].into_iter().filter(|key| rules.has(key)).collect::<Vec<_>>() {
                let message = format!("`{key}` is about the calls of `tool`, and there is no `tool`");
                rules.at(key).report_key(Code::MissingKey, message, None);
            }
        }
        if self.order.is_none() && self.trajectory.is_none() && rules.has("match") {
            let message = "`match` is about `order` or `trajectory`, and there is neither";
            rules.at("match").report_key(Code::MissingKey, message, None);
        }
        validate_arguments(&self.arguments, rules);
        if let Some(count) = &self.count {
            count::validate(count, &mut rules.at("count"));
        }
        if let Some(trajectory) = &self.trajectory {
            trajectory.validate(&mut rules.at("trajectory"));
        }
        self.validate_forbidden(rules);
        self.validate_source(rules);
    }

    /// The calls are seen somewhere: at the model, or at the tool gateway.
    fn validate_source(&self, rules: &mut Rules<'_>) {
        let may_have = |section: &str, is_there: bool| is_there || rules.holes.has_section(section);
        let has_model = may_have("model", rules.spec.model.is_some());
        let has_tools = may_have("tools", !rules.spec.tools.is_empty());
        let (is_seen, help) = match self.source {
            None => (has_model || has_tools, "add `tools`, or `model`, whose answers propose calls"),
            Some(CallSource::Proposed) => (has_model, "add `model`, whose answers propose calls"),
            Some(CallSource::Executed) => (has_tools, "add `tools`, whose gateway carries calls out"),
        };
        if !is_seen {
            rules.report(Code::NotRecorded, "no call of a tool is seen here", Some(help));
        }
    }

    /// Checks that the check has a condition, and not two subjects at once.
    fn validate_subject(&self, rules: &mut Rules<'_>) {
        let given = SUBJECTS.into_iter().filter(|key| rules.has(key)).count();
        if given > 1 {
            rules.one_of(&SUBJECTS);
        }
        if rules.has("not_called") && self.not_called.is_empty() {
            let message = "`not_called` is empty, and every run has that";
            rules.at("not_called").report(Code::MissingCondition, message, None);
        } else if given == 0 && self.not_called.is_empty() {
            let help = "add `tool`, `order`, `trajectory` or `not_called`";
            rules.report(Code::MissingCondition, "a check on calls without a condition", Some(help));
        }
        if self.order.as_ref().is_some_and(Vec::is_empty) && self.matching == MatchMode::Superset {
            let message = "`order` is empty, and every run has all calls of an empty list";
            rules.at("order").report(Code::MissingCondition, message, Some("list the tools that must be called"));
        }
    }

    /// No tool is asked for and forbidden, and none forbidden twice.
    fn validate_forbidden(&self, rules: &mut Rules<'_>) {
        let listed: Vec<&CalledTool> = match (&self.tool, &self.order, &self.trajectory) {
            (Some(tool), ..) => vec![tool],
            (_, Some(order), _) => order.iter().collect(),
            (.., Some(trajectory)) => trajectory.tools().collect(),
            (None, None, None) => Vec::new(),
        };
        let is_closed = self.tool.is_none() && self.matching != MatchMode::Superset;
        for (index, tool) in self.not_called.iter().enumerate() {
            let mut list = rules.at("not_called");
            let mut rules = list.index(index);
            if listed.contains(&tool) {
                let message = format!("`{tool}` must be called, and must not be called");
                rules.report(Code::ConflictingKeys, message, Some("remove it from one of the two"));
            } else if is_closed && !listed.is_empty() {
                let message = format!("`match: {}` refuses a call of `{tool}` already", self.matching);
                rules.report(Code::NoEffect, message, None);
            } else if self.not_called[..index].contains(tool) {
                rules.report(Code::NoEffect, format!("`{tool}` stands in the list already"), None);
            }
        }
    }
}
