//! Sessions by their tokens, and the operations of a session on itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;
use tool_contracts::Code;

use super::{ContractWorkflow, UnknownToken, WorkflowRefused};
use crate::contract_session::ContractSession;

/// The longest label.
const MOST_LABEL: usize = 100;
/// The most tools of a filter.
const MOST_FILTERED: usize = 1_000;
/// The longest name of a tool in a filter.
const MOST_TOOL: usize = 200;
/// The most labels of a session.
const MOST_LABELS: usize = 1_000;

impl ContractWorkflow {
    /// The session with a token; the root without one.
    ///
    /// # Errors
    /// No session has it.
    pub fn find(&self, token: Option<&str>) -> Result<Arc<ContractSession>, UnknownToken> {
        let Some(token) = token else { return Ok(self.root()) };
        let session = self.shared().tokens.get(token).cloned();
        session.and_then(|id| self.session(&id)).ok_or(UnknownToken)
    }

    /// The state of a session, for itself and for those above it. The principal is always null.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn state_of(&self, caller: &ContractSession, target: &str) -> Result<Json, WorkflowRefused> {
        let session = self.below(caller, target)?;
        let mut state = session.inner.live().snapshot();
        state["session"] = session.id().into();
        state["role"] = session.inner.role.clone().into();
        state["parent"] = session.inner.membership.as_ref().and_then(|one| one.parent.clone()).into();
        Ok(state)
    }

    /// Adds a label to a session. Labels only restrict.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn add_label(&self, caller: &ContractSession, target: &str, label: &str) -> Result<(), WorkflowRefused> {
        let session = self.below(caller, target)?;
        if label.is_empty() || label.len() > MOST_LABEL {
            return Err(WorkflowRefused::Invalid("`label` is a text of 1 to 100 bytes"));
        }
        let is_full = session.inner.live().labels().len() >= MOST_LABELS;
        if is_full {
            return Err(WorkflowRefused::Invalid("the session has 1000 labels, and takes no more"));
        }
        if session.inner.live().is_over() {
            return Err(WorkflowRefused::Code(Code::SessionNotActive));
        }
        session.inner.with(|live, now| live.add_label(now, label, "api"));
        Ok(())
    }

    /// Lets a session use fewer tools. A filter in a sandbox is only ever narrowed: the tools that stay are those of both.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn narrow_filter(
        &self,
        caller: &ContractSession,
        target: &str,
        tools: BTreeSet<String>,
    ) -> Result<(), WorkflowRefused> {
        let session = self.below(caller, target)?;
        if tools.len() > MOST_FILTERED || tools.iter().any(|tool| tool.len() > MOST_TOOL) {
            return Err(WorkflowRefused::Invalid("`tools` has at most 1000 names of at most 200 bytes"));
        }
        if session.inner.live().is_over() {
            return Err(WorkflowRefused::Code(Code::SessionNotActive));
        }
        session.inner.with(|live, now| {
            let narrowed = match &live.state().filter {
                Some(before) => before.intersection(&tools).cloned().collect(),
                None => tools,
            };
            live.set_filter(now, Some(narrowed));
        });
        Ok(())
    }

    /// Closes the caller's own session.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn close(&self, caller: &ContractSession, target: &str) -> Result<(), WorkflowRefused> {
        let session = self.below(caller, target)?;
        if session.id() != caller.id() {
            return Err(WorkflowRefused::NotOwn);
        }
        if session.inner.live().is_over() {
            return Err(WorkflowRefused::Code(Code::SessionNotActive));
        }
        session.inner.over.cancel();
        session.inner.with(|live, now| live.close(now));
        Ok(())
    }

    /// A session that is the caller's own, or below it. `self` is the caller's own.
    fn below(&self, caller: &ContractSession, target: &str) -> Result<Arc<ContractSession>, WorkflowRefused> {
        let session = self.session(target).ok_or(WorkflowRefused::NoSession)?;
        if !self.shared().state.is_within(target, caller.id()) {
            return Err(WorkflowRefused::NotOwn);
        }
        Ok(session)
    }
}

impl ContractSession {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.session
    }

    /// True when it is one of a workflow, so that requests may name another session.
    #[must_use]
    pub fn has_workflow(&self) -> bool {
        self.inner.membership.is_some()
    }

    /// The session that a request with a token belongs to: this one without a token, and always without a workflow.
    ///
    /// # Errors
    /// No session of the workflow has it.
    pub fn find(self: &Arc<Self>, token: Option<&str>) -> Result<Arc<Self>, UnknownToken> {
        match self.inner.workflow() {
            Some(workflow) if token.is_some() => workflow.find(token),
            _ => Ok(Arc::clone(self)),
        }
    }

    /// The tools of a list that each session of the workflow is shown; of this one without a workflow.
    pub(in crate::contract_session) fn shown_everywhere(&self, offered: &[String]) -> Vec<Vec<String>> {
        match self.inner.workflow() {
            Some(workflow) => workflow.sessions().iter().map(|session| session.shown(offered)).collect(),
            None => vec![self.shown(offered)],
        }
    }
}
