//! Policies: permissions of principals to use tools.

use crate::code::Code;
use crate::diagnostic::Place;
use crate::invariant::{Context, Invariant};
use crate::reader::{At, Named, Reader};

/// A condition about the principal.
#[derive(Debug, Clone)]
pub(crate) struct PrincipalRule {
    pub(crate) principal: Invariant,
}

/// The policy of a tool file.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolPolicy {
    /// The tool's own list of permitted principals; `None` when it has none.
    pub(crate) allow: Option<Vec<PrincipalRule>>,
    pub(crate) deny: Vec<PrincipalRule>,
}

/// A rule of the session: for all tools, or for those that it names.
#[derive(Debug, Clone)]
pub(crate) struct SessionRule {
    pub(crate) is_allow: bool,
    pub(crate) rule: PrincipalRule,
    pub(crate) tools: Option<Vec<Named>>,
    pub(crate) place: Place,
}

/// A label that denies tools.
#[derive(Debug, Clone)]
pub(crate) struct LabelGate {
    pub(crate) label: Named,
    pub(crate) deny_tools: Vec<Named>,
    pub(crate) reason: String,
    pub(crate) rule: String,
}

/// The policy of the session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionPolicy {
    pub(crate) default_deny: bool,
    pub(crate) rules: Vec<SessionRule>,
    pub(crate) label_gates: Vec<LabelGate>,
}

impl PrincipalRule {
    fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["principal"]) {
            return None;
        }
        let principal = reader.required(at, "principal")?;
        Some(Self { principal: Invariant::read(&principal, reader, Context::Full)? })
    }

    /// Reads the policy of a tool file.
    pub(crate) fn read_policy(at: &At<'_>, reader: &mut Reader) -> ToolPolicy {
        reader.is_map(at, &["allow", "deny"]);
        let allow = at.present("allow").is_some().then(|| reader.items(at, "allow", Self::read));
        ToolPolicy { allow, deny: reader.items(at, "deny", Self::read) }
    }
}

impl SessionRule {
    fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["allow", "deny"]) {
            return None;
        }
        let (is_allow, rule) = match (at.present("allow"), at.present("deny")) {
            (Some(rule), None) => (true, rule),
            (None, Some(rule)) => (false, rule),
            _ => {
                reader.report(Code::InvalidPolicyRule, at, "a rule is exactly one of `allow` and `deny`");
                return None;
            }
        };
        if !reader.is_map(&rule, &["principal", "tools"]) {
            return None;
        }
        let tools = rule.present("tools").is_some().then(|| reader.names(&rule, "tools"));
        let principal = reader.required(&rule, "principal")?;
        let principal = Invariant::read(&principal, reader, Context::Full)?;
        Some(Self { is_allow, rule: PrincipalRule { principal }, tools, place: rule.place })
    }

    /// True when the rule names this tool.
    pub(crate) fn names(&self, tool: &str) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.iter().any(|named| named.name == tool))
    }

    /// True when the rule is about this tool: it names it, or names none.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        self.tools.is_none() || self.names(tool)
    }
}

impl LabelGate {
    fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &["when_label", "deny_tools", "reason"]) {
            return None;
        }
        let label = reader.required_name(at, "when_label");
        let has_tools = reader.required(at, "deny_tools").is_some();
        let deny_tools = reader.names(at, "deny_tools");
        let reason = reader.reason(at, Code::ReasonRequired, "a label gate");
        let label = label.filter(|_| has_tools)?;
        Some(Self { rule: format!("policy/label_gates/{}", label.name), label, deny_tools, reason })
    }

    /// True when the gate denies this tool.
    pub(crate) fn denies(&self, tool: &str) -> bool {
        self.deny_tools.iter().any(|named| named.name == tool || named.name == "*")
    }
}

impl SessionPolicy {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Self {
        reader.is_map(at, &["default_deny", "rules", "label_gates"]);
        let policy = Self {
            default_deny: reader.flag(at, "default_deny", false),
            rules: reader.items(at, "rules", SessionRule::read),
            label_gates: reader.items(at, "label_gates", LabelGate::read),
        };
        for rule in policy.rules.iter().filter(|rule| rule.is_allow && rule.tools.is_none() && !policy.default_deny) {
            let message = "without `default_deny`, an allow rule that names no tools changes nothing";
            let help = "set `default_deny: true`, or name the rule's `tools`".to_owned();
            reader.diagnostics.report(Code::AllowRuleNoEffect, &rule.place, message).help(Some(help));
        }
        policy
    }
}
