//! R5: the policy lets the principal use the tool. Deny comes first, then allow.

use serde_json::Value as Json;

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::read::policy::PrincipalRule;
use crate::reason::name;

/// Refuses tools that the principal may not use.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    reasons.extend(denied(context.set, &context.call.tool));
}

/// Returns why the principal may not use a tool. The principal itself is in no reason.
pub(crate) fn denied(set: &Compiled, tool: &str) -> Option<Reason> {
    let because = |rule: &str, words: &str| {
        let sentence = format!("{words} {}", name(tool));
        Some(Reason::new(Code::PolicyDenied, rule, sentence))
    };
    let matches =
        |rule: &PrincipalRule| rule.principal.holds(set.principal.as_ref().unwrap_or(&Json::Null), &set.run.env);
    let policy = &set.session.policy;
    let of_tool = set.tools.get(tool).map(|tool| &tool.policy);
    let deny = |rule: &&PrincipalRule| matches(rule);
    if let Some(rule) = of_tool.and_then(|own| own.deny.iter().find(deny)) {
        return because(&rule.principal.rule, "a deny rule of its contract refuses the principal");
    }
    let session_deny = policy.rules.iter().filter(|rule| !rule.is_allow && rule.is_about(tool));
    if let Some(rule) = session_deny.map(|rule| &rule.rule).find(deny) {
        return because(&rule.principal.rule, "a deny rule of the session refuses the principal");
    }
    let own_allow = of_tool.and_then(|own| own.allow.as_ref());
    let is_in_own = own_allow.is_some_and(|rules| rules.iter().any(matches));
    if own_allow.is_some() && !is_in_own {
        return because("policy/allow", "no allow rule of its contract is about the principal for");
    }
    let allows = || policy.rules.iter().filter(|rule| rule.is_allow);
    let is_covered = allows().any(|rule| rule.is_about(tool) && matches(&rule.rule));
    if policy.default_deny && !is_in_own && !is_covered {
        return because("policy/default_deny", "no allow rule covers");
    }
    let mut naming = allows().filter(|rule| rule.names(tool)).peekable();
    if !policy.default_deny && naming.peek().is_some() && !naming.any(|rule| matches(&rule.rule)) {
        return because("policy/rules", "no allow rule that names it is about the principal for");
    }
    None
}
