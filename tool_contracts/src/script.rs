//! Approvers that are scripted, so that a run needs no person.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use yaml_tree::Limits;

use crate::hold::Resolution;
use crate::invariant::{Context, Invariant};
use crate::reader::{At, Reader};

/// A condition on the arguments of a call, as checkpoints have them: `{path: $.amount, lte: 100}`.
#[derive(Debug, Clone)]
pub struct Condition(Invariant);

/// The reason why a value is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCondition(String);

/// A rule of a scripted approver.
#[derive(Debug, Clone)]
pub struct ScriptedRule {
    /// The tool; any without it.
    pub tool: Option<String>,
    /// Conditions that must all hold.
    pub conditions: Vec<Condition>,
    /// True when it approves.
    pub approves: bool,
    /// The seconds that the decision takes.
    pub after_seconds: u64,
}

/// A scripted approver: the first rule that is about a call decides.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The rules.
    pub rules: Vec<ScriptedRule>,
    /// The decision on other calls; with `None`, they get no decision.
    pub default: Option<bool>,
}

/// A scripted decision, and the time that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptedDecision {
    /// The decision.
    pub resolution: Resolution,
    /// The seconds until then.
    pub after_seconds: u64,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// The value is no condition.
    pub fn read(value: &Json) -> Result<Self, NoCondition> {
        let text = value.to_string();
        let (root, problems) = yaml_tree::parse(&text, "condition", Limits::default());
        if let Some(problem) = problems.first() {
            return Err(NoCondition(problem.message.clone()));
        }
        let Some(root) = root else { return Err(NoCondition("a condition is a map".to_owned())) };
        let mut reader = Reader::default();
        let read = Invariant::read(&At::root(&root, "condition"), &mut reader, Context::Condition);
        let problem = reader.diagnostics.0.first().map(|found| found.message.clone());
        match (read, problem) {
            (Some(condition), None) => Ok(Self(condition)),
            (_, problem) => Err(NoCondition(problem.unwrap_or_else(|| "it is no condition".to_owned()))),
        }
    }

    /// True when it holds of the arguments.
    #[must_use]
    pub fn holds(&self, arguments: &Json) -> bool {
        self.0.holds(arguments, &BTreeMap::new())
    }
}

impl Script {
    /// Returns the decision on a call that is held for at most `timeout_seconds`.
    #[must_use]
    pub fn decide(&self, tool: &str, arguments: &Json, timeout_seconds: u64) -> ScriptedDecision {
        let is_about = |rule: &&ScriptedRule| {
            rule.tool.as_ref().is_none_or(|name| name == tool)
                && rule.conditions.iter().all(|condition| condition.holds(arguments))
        };
        let found = self.rules.iter().find(is_about).map(|rule| (rule.approves, rule.after_seconds));
        let resolution = |approves| if approves { Resolution::Approved } else { Resolution::Denied };
        match found.or(self.default.map(|approves| (approves, 0))) {
            Some((approves, after_seconds)) if after_seconds < timeout_seconds => {
                ScriptedDecision { resolution: resolution(approves), after_seconds }
            }
            _ => ScriptedDecision { resolution: Resolution::DeadlinePassed, after_seconds: timeout_seconds },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Condition, Script, ScriptedDecision, ScriptedRule};
    use crate::hold::Resolution;

    #[test]
    fn the_first_rule_about_a_call_decides_in_its_time() {
        let condition = Condition::read(&json!({"path": "$.notional", "lte": 100})).expect("a condition");
        let rule = |tool: &str, conditions, approves, after_seconds| ScriptedRule {
            tool: Some(tool.to_owned()),
            conditions,
            approves,
            after_seconds,
        };
        let script = Script {
            rules: vec![rule("order", vec![condition], true, 5), rule("slow", Vec::new(), true, 300)],
            default: Some(false),
        };
        let expect = |tool: &str, notional: u64, resolution, after_seconds| {
            let found = script.decide(tool, &json!({"notional": notional}), 60);
            assert_eq!(found, ScriptedDecision { resolution, after_seconds }, "{tool} {notional}");
        };
        expect("order", 100, Resolution::Approved, 5);
        expect("order", 101, Resolution::Denied, 0);
        expect("slow", 0, Resolution::DeadlinePassed, 60);
        let nobody = Script::default().decide("order", &json!({}), 30);
        assert_eq!(nobody.resolution, Resolution::DeadlinePassed);
    }

    #[test]
    fn a_condition_that_is_none_says_why() {
        let problem = |value| Condition::read(&value).expect_err("no condition").to_string();
        assert!(
            problem(json!({"path": "amount", "lte": 1})).contains("path"),
            "{}",
            problem(json!({"path": "amount", "lte": 1}))
        );
        assert!(!problem(json!({"path": "$.amount"})).is_empty());
        assert!(!problem(json!(5)).is_empty());
    }
}
