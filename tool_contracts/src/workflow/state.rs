//! The state of a workflow.

use std::collections::BTreeMap;

use super::decide::WorkflowCall;
use crate::compile::workflow::CompiledWorkflow;
use crate::read::workflow::{ClosePolicy, ResourceMode};
use crate::state::Status;

/// A session of a workflow.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) role: String,
    pub(super) parent: Option<String>,
    pub(super) status: Status,
    /// The action on this session when its parent ends.
    pub(super) close_policy: ClosePolicy,
}

/// A handoff that was offered.
#[derive(Debug, Clone)]
pub(super) struct OfferedHandoff {
    pub(super) session: String,
    pub(super) to: String,
    pub(super) is_open: bool,
    pub(super) close_policy: ClosePolicy,
}

/// Sessions, handoffs, budgets and locks.
#[derive(Debug, Clone, Default)]
pub struct WorkflowState {
    /// True when the whole workflow was killed.
    pub is_killed: bool,
    /// The steps of all sessions.
    pub total_steps: u64,
    /// The cost of all sessions, in millionths of a dollar.
    pub cost_micros: u64,
    pub(super) members: BTreeMap<String, Member>,
    pub(super) handoffs: BTreeMap<String, OfferedHandoff>,
    /// The calls in flight by instance: the session, and whether it changes something.
    pub(super) in_flight: BTreeMap<String, Vec<(String, bool)>>,
    /// The session that owns an instance.
    pub(super) owners: BTreeMap<String, String>,
}

impl WorkflowState {
    /// The status of a session.
    #[must_use]
    pub fn status(&self, session: &str) -> Option<&Status> {
        self.members.get(session).map(|member| &member.status)
    }

    /// Every session with its status.
    pub fn sessions(&self) -> impl Iterator<Item = (&str, &Status)> {
        self.members.iter().map(|(session, member)| (session.as_str(), &member.status))
    }

    /// True when a session may still call something.
    #[must_use]
    pub fn is_usable(&self, session: &str) -> bool {
        matches!(self.status(session), Some(Status::Active | Status::Paused))
    }

    /// True when a session is another one, or descends from it.
    #[must_use]
    pub fn is_within(&self, session: &str, ancestor: &str) -> bool {
        let mut next = Some(session);
        while let Some(at) = next {
            if at == ancestor {
                return true;
            }
            next = self.members.get(at).and_then(|member| member.parent.as_deref());
        }
        false
    }

    /// The session that offered a handoff; `None` when it was never offered.
    #[must_use]
    pub fn offered_by(&self, handoff: &str) -> Option<&str> {
        self.handoffs.get(handoff).map(|offered| offered.session.as_str())
    }

    /// True when a handoff was offered, and neither claimed nor taken back.
    #[must_use]
    pub fn is_open(&self, handoff: &str) -> bool {
        self.handoffs.get(handoff).is_some_and(|offered| offered.is_open)
    }

    /// The ids of handoffs that are open.
    pub fn open_handoffs(&self) -> impl Iterator<Item = &str> {
        self.handoffs.iter().filter(|(_, offered)| offered.is_open).map(|(id, _)| id.as_str())
    }

    /// True when a session is the root of the workflow.
    #[must_use]
    pub fn is_root(&self, session: &str) -> bool {
        self.members.get(session).is_some_and(|member| member.parent.is_none())
    }

    pub(super) fn is_over(&self, session: &str) -> bool {
        self.status(session).is_none_or(|status| matches!(status, Status::Closed | Status::Killed(_)))
    }

    /// The children of a session, in the order of their ids.
    pub(super) fn children(&self, session: &str) -> Vec<String> {
        let is_child = |member: &Member| member.parent.as_deref() == Some(session);
        self.members.iter().filter(|(_, member)| is_child(member)).map(|(id, _)| id.clone()).collect()
    }

    /// Ends a session: releases what it holds, cancels its offers, and applies each child's policy.
    pub(super) fn end(&mut self, session: &str, status: Status) {
        if self.is_over(session) {
            return;
        }
        if let Some(member) = self.members.get_mut(session) {
            member.status = status;
        }
        self.in_flight.values_mut().for_each(|calls| calls.retain(|(by, _)| by != session));
        self.owners.retain(|_, owner| owner != session);
        self.handoffs
            .values_mut()
            .filter(|handoff| handoff.session == session)
            .for_each(|handoff| handoff.is_open = false);
        for child in self.children(session) {
            let Some(member) = self.members.get_mut(&child) else { continue };
            match member.close_policy {
                ClosePolicy::Terminate => self.end(&child, Status::Killed("parent_ended".to_owned())),
                ClosePolicy::RequestCancel if matches!(member.status, Status::Active | Status::Paused) => {
                    member.status = Status::CancelRequested;
                }
                ClosePolicy::RequestCancel | ClosePolicy::Abandon => {}
            }
        }
    }

    pub(super) fn hold(&mut self, workflow: &CompiledWorkflow, call: &WorkflowCall) {
        for (alias, _) in &workflow.workflow.shared_resources {
            if let Some(instance) = workflow.instance(&alias.name, &call.arguments) {
                self.in_flight.entry(instance).or_default().push((call.session.clone(), call.is_mutating));
            }
        }
    }

    pub(super) fn dispatch(&mut self, workflow: &CompiledWorkflow, call: &WorkflowCall) {
        for (alias, mode) in &workflow.workflow.shared_resources {
            let Some(instance) = workflow.instance(&alias.name, &call.arguments) else { continue };
            if *mode == ResourceMode::SingleWriter && call.is_mutating {
                self.owners.entry(instance.clone()).or_insert_with(|| call.session.clone());
            }
            self.in_flight.entry(instance).or_default().push((call.session.clone(), call.is_mutating));
        }
    }

    pub(super) fn complete(&mut self, workflow: &CompiledWorkflow, call: &WorkflowCall) {
        for (alias, _) in &workflow.workflow.shared_resources {
            let instance = workflow.instance(&alias.name, &call.arguments);
            let Some(instance) = instance else { continue };
            let Some(calls) = self.in_flight.get_mut(&instance) else { continue };
            let is_it =
                |(session, is_mutating): &(String, bool)| *session == call.session && *is_mutating == call.is_mutating;
            let same = calls.iter().position(is_it).or_else(|| calls.iter().position(|(by, _)| *by == call.session));
            if let Some(place) = same {
                calls.remove(place);
            }
            if calls.is_empty() {
                self.in_flight.remove(&instance);
            }
        }
    }
}
