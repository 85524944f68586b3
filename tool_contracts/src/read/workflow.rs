//! `workflow.yaml`: several sessions with roles, handoffs, budgets and shared resources.

use std::collections::BTreeMap;

use super::limits::dollars;
use super::session::check_version;
use crate::code::Code;
use crate::reader::{At, Named, Reader};

/// The action on a child session when its parent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClosePolicy {
    RequestCancel,
    Terminate,
    Abandon,
}

/// The parties that may kill the whole workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkflowKill {
    OperatorOnly,
    RootSession,
    AnySession,
}

/// The way in which sessions share a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceMode {
    SingleWriter,
    ExclusivePending,
    SerialOnly,
}

/// A role, and the session file that its sessions follow.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) name: Named,
    pub(crate) session_contract: Named,
}

/// A declared way from one role to another.
#[derive(Debug, Clone)]
pub(crate) struct Handoff {
    pub(crate) from: Named,
    pub(crate) to: Named,
    pub(crate) requires_artifacts: Vec<String>,
    pub(crate) parent_close_policy: Option<ClosePolicy>,
}

/// The budgets of a workflow.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkflowLimits {
    pub(crate) max_sessions: Option<u64>,
    pub(crate) max_active_sessions: Option<u64>,
    pub(crate) max_total_steps: Option<u64>,
    pub(crate) max_total_cost_micros: Option<u64>,
    pub(crate) max_open_handoffs: Option<u64>,
}

/// A workflow file.
#[derive(Debug, Clone)]
pub(crate) struct Workflow {
    pub(crate) roles: Vec<Role>,
    pub(crate) handoffs: Vec<Handoff>,
    pub(crate) limits: WorkflowLimits,
    pub(crate) shared_resources: Vec<(Named, ResourceMode)>,
    pub(crate) subtree_kill: bool,
    pub(crate) workflow_kill: WorkflowKill,
    pub(crate) default_close: ClosePolicy,
    /// Set when a child begins with the labels of the session that handed work to it.
    pub(crate) labels_with_handoff: bool,
}

const CLOSE: [(&str, ClosePolicy); 3] = [
    ("request_cancel", ClosePolicy::RequestCancel),
    ("terminate", ClosePolicy::Terminate),
    ("abandon", ClosePolicy::Abandon),
];

const FIELDS: [&str; 9] = [
    "schema_version",
    "workflow",
    "roles",
    "handoffs",
    "workflow_limits",
    "shared_resources",
    "cancellation",
    "parent_close_policy",
    "labels_with_handoff",
];

impl Workflow {
    pub(crate) fn read(at: &At<'_>, reader: &mut Reader) -> Option<Self> {
        if !reader.is_map(at, &FIELDS) {
            return None;
        }
        check_version(at, reader);
        reader.required_name(at, "workflow");
        reader.required(at, "roles");
        let roles = read_roles(at, reader);
        let (subtree_kill, workflow_kill) = read_cancellation(at, reader);
        let workflow = Self {
            handoffs: reader.items(at, "handoffs", read_handoff),
            limits: read_limits(at, reader),
            shared_resources: reader.items(at, "shared_resources", read_resource),
            subtree_kill,
            workflow_kill,
            default_close: read_close(at, reader),
            labels_with_handoff: reader.flag(at, "labels_with_handoff", true),
            roles,
        };
        workflow.check(reader);
        Some(workflow)
    }

    /// The role with a name.
    pub(crate) fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name.name == name)
    }

    fn check(&self, reader: &mut Reader) {
        for name in self.handoffs.iter().flat_map(|handoff| [&handoff.from, &handoff.to]) {
            if self.role(&name.name).is_none() {
                let known = self.roles.iter().map(|role| role.name.name.as_str());
                let help = yaml_tree::nearest::did_you_mean(&name.name, known);
                let message = format!("there is no role `{}`", name.name);
                reader.diagnostics.report(Code::RoleUnknown, &name.place, message).help(help);
            }
        }
        self.check_reach(reader);
    }

    /// Reports roles that no handoffs lead to from the first one.
    fn check_reach(&self, reader: &mut Reader) {
        let Some(root) = self.roles.first() else { return };
        let mut reached = vec![root.name.name.as_str()];
        let mut place = 0;
        while let Some(role) = reached.get(place).copied() {
            let targets = self.handoffs.iter().filter(|handoff| handoff.from.name == role);
            let new: Vec<_> =
                targets.map(|handoff| handoff.to.name.as_str()).filter(|to| !reached.contains(to)).collect();
            reached.extend(new);
            place += 1;
        }
        for role in self.roles.iter().filter(|role| !reached.contains(&role.name.name.as_str())) {
            let message = format!("no handoff leads to `{}`", role.name.name);
            reader.diagnostics.report(Code::UnreachableRole, &role.name.place, message).about(&role.name.name);
        }
    }
}

fn read_roles(at: &At<'_>, reader: &mut Reader) -> Vec<Role> {
    let read = |item: &At<'_>, reader: &mut Reader| {
        if !reader.is_map(item, &["name", "session_contract"]) {
            return None;
        }
        let name = reader.required_name(item, "name");
        let session_contract = reader.required_name(item, "session_contract");
        Some(Role { name: name?, session_contract: session_contract? })
    };
    let mut roles: Vec<Role> = Vec::new();
    for role in reader.items(at, "roles", read) {
        if roles.iter().any(|other| other.name.name == role.name.name) {
            let message = format!("there is already a role `{}`", role.name.name);
            reader.diagnostics.report(Code::DuplicateRole, &role.name.place, message);
        } else {
            roles.push(role);
        }
    }
    roles
}

fn read_handoff(at: &At<'_>, reader: &mut Reader) -> Option<Handoff> {
    if !reader.is_map(at, &["from", "to", "requires_artifacts", "parent_close_policy"]) {
        return None;
    }
    let from = reader.required_name(at, "from");
    let to = reader.required_name(at, "to");
    let requires_artifacts = reader.names(at, "requires_artifacts").into_iter().map(|name| name.name).collect();
    let parent_close_policy = reader.word_of(at, "parent_close_policy", &CLOSE);
    Some(Handoff { from: from?, to: to?, requires_artifacts, parent_close_policy })
}

fn read_limits(at: &At<'_>, reader: &mut Reader) -> WorkflowLimits {
    let known = ["max_sessions", "max_active_sessions", "max_total_steps", "max_total_cost", "max_open_handoffs"];
    let Some(at) = at.present("workflow_limits").filter(|at| reader.is_map(at, &known)) else {
        return WorkflowLimits::default();
    };
    let mut whole = |key| reader.whole(&at, key, Code::InvalidLimit, 1);
    let limits = WorkflowLimits {
        max_sessions: whole("max_sessions"),
        max_active_sessions: whole("max_active_sessions"),
        max_total_steps: whole("max_total_steps"),
        max_open_handoffs: whole("max_open_handoffs"),
        max_total_cost_micros: dollars(&at, "max_total_cost", reader),
    };
    if let (Some(total), Some(active)) = (limits.max_sessions, limits.max_active_sessions)
        && active > total
    {
        let message = format!("{active} sessions may be active, and only {total} may ever be opened");
        reader.report(Code::ActiveAboveTotal, &at, message);
    }
    limits
}

fn read_resource(at: &At<'_>, reader: &mut Reader) -> Option<(Named, ResourceMode)> {
    if !reader.is_map(at, &["alias", "mode"]) {
        return None;
    }
    let words = [
        ("single_writer", ResourceMode::SingleWriter),
        ("exclusive_pending", ResourceMode::ExclusivePending),
        ("serial_only", ResourceMode::SerialOnly),
    ];
    let alias = reader.required_name(at, "alias");
    let mode = reader.required(at, "mode").and_then(|value| reader.word(&value, &words));
    // The alias is checked also when its mode is wrong.
    Some((alias?, mode.unwrap_or(ResourceMode::SerialOnly)))
}

fn read_cancellation(at: &At<'_>, reader: &mut Reader) -> (bool, WorkflowKill) {
    let words = [
        ("operator_only", WorkflowKill::OperatorOnly),
        ("root_session", WorkflowKill::RootSession),
        ("any_session", WorkflowKill::AnySession),
    ];
    let Some(at) = at.present("cancellation") else { return (false, WorkflowKill::OperatorOnly) };
    reader.is_map(&at, &["subtree_kill", "workflow_kill"]);
    let kill = reader.word_of(&at, "workflow_kill", &words).unwrap_or(WorkflowKill::OperatorOnly);
    (reader.flag(&at, "subtree_kill", false), kill)
}

fn read_close(at: &At<'_>, reader: &mut Reader) -> ClosePolicy {
    let Some(at) = at.present("parent_close_policy") else { return ClosePolicy::RequestCancel };
    reader.is_map(&at, &["default"]);
    reader.word_of(&at, "default", &CLOSE).unwrap_or(ClosePolicy::RequestCancel)
}

/// Reports shared resources that no role's session declares.
pub(crate) fn check_aliases(workflow: &Workflow, declared: &BTreeMap<String, impl Sized>, reader: &mut Reader) {
    for (alias, _) in workflow.shared_resources.iter().filter(|(alias, _)| !declared.contains_key(&alias.name)) {
        let help = yaml_tree::nearest::did_you_mean(&alias.name, declared.keys().map(String::as_str));
        let message = format!("no role's session declares a resource `{}`", alias.name);
        reader.diagnostics.report(Code::UnknownResourceAlias, &alias.place, message).help(help);
    }
}
