//! The ends of sessions: kills, parents' close policies, and the grace of those that are asked to end.

use std::sync::Arc;
use std::time::Duration;

use scenario::intervention::{Intervention, KillReach, SessionChange};
use serde_json::{Value as Json, json};
use tokio::time::sleep;
use tool_contracts::{KillActor, KillScope, Status, WorkflowEvent};

use super::{ContractWorkflow, WorkflowRefused};
use crate::contract_session::ContractSession;

/// The time for which a session that was asked to end may still answer in text.
const GRACE: Duration = Duration::from_secs(30);
/// The longest reason of a kill.
const MOST_REASON: usize = 500;

impl ContractWorkflow {
    /// Kills sessions on behalf of a session. It may kill itself, its subtree where the workflow has that, and everything where
    /// the workflow gives it that right.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn kill(
        &self,
        caller: &ContractSession,
        target: &str,
        scope: &str,
        reason: &str,
    ) -> Result<(), WorkflowRefused> {
        let own = caller.id();
        let (is_known, is_below, is_root) = {
            let shared = self.shared();
            let state = &shared.state;
            (state.status(target).is_some(), state.is_within(target, own), state.is_root(own))
        };
        if !is_known {
            return Err(WorkflowRefused::NoSession);
        }
        let kill_scope = match scope {
            "session" if target == own => KillScope::Session(target.to_owned()),
            "subtree" if is_below => KillScope::Subtree(target.to_owned()),
            "session" | "subtree" => return Err(WorkflowRefused::NotOwn),
            "workflow" => KillScope::Workflow,
            _ => return Err(WorkflowRefused::Invalid("`scope` is `session`, `subtree` or `workflow`")),
        };
        let actor = if is_root { KillActor::RootSession } else { KillActor::OtherSession };
        let mut shared = self.shared();
        let killed = self.applied(&mut shared, &WorkflowEvent::KillRequested { scope: kill_scope, actor });
        drop(shared);
        self.attempted(caller, "kill", killed)?;
        let reason = scenario::untrusted::line(reason, MOST_REASON);
        self.note_killed(&json!({"scope": scope, "session": target, "by": own, "cause": reason}));
        self.settle();
        Ok(())
    }

    /// Does what an operator wants of a session. What the workflow refuses stands in the session's records.
    pub(in crate::contract_session) fn obey(&self, intervention: &Intervention) {
        let root = self.root();
        let target = intervention.session.as_deref().unwrap_or(root.id());
        let Some(session) = self.session(target) else { return };
        let SessionChange::Kill { scope, .. } = &intervention.change else { return session.obey(intervention) };
        let kill_scope = match scope {
            KillReach::Session => KillScope::Session(target.to_owned()),
            KillReach::Subtree => KillScope::Subtree(target.to_owned()),
            KillReach::Workflow => KillScope::Workflow,
        };
        let mut shared = self.shared();
        let event = WorkflowEvent::KillRequested { scope: kill_scope, actor: KillActor::Operator };
        let killed = self.applied(&mut shared, &event);
        drop(shared);
        if self.attempted(&session, "kill", killed).is_ok() {
            let cause = intervention.cause();
            self.note_killed(&json!({"scope": scope.word(), "session": target, "by": "operator", "cause": cause}));
            self.settle();
        }
    }

    /// Takes that a session ended by itself: its children follow their policies.
    pub(super) fn session_ended(&self, session: &str, status: &Status) {
        let event = match status {
            Status::Killed(_) => WorkflowEvent::KillRequested {
                scope: KillScope::Session(session.to_owned()),
                // A breaker, or the workflow itself.
                actor: KillActor::Operator,
            },
            _ => WorkflowEvent::SessionClosed { session: session.to_owned() },
        };
        if let Status::Killed(cause) = status {
            self.note_killed(&json!({"session": session, "cause": cause}));
        }
        self.apply(&event);
        self.settle();
    }

    /// Brings sessions into the states that the workflow has for them.
    pub(super) fn settle(&self) {
        let shared = self.shared();
        let status = |session: &Arc<ContractSession>| shared.state.status(session.id()).cloned();
        let changed = shared.sessions.iter().filter_map(|session| Some((Arc::clone(session), status(session)?)));
        let changed: Vec<_> = changed.collect();
        drop(shared);
        for (session, status) in changed {
            match status {
                Status::Killed(cause) => session.inner.with(|live, now| live.kill(now, &cause)),
                Status::CancelRequested => self.ask_to_end(&session),
                Status::Active | Status::Paused | Status::Closed => {}
            }
        }
    }

    /// Requests the end of a session, once, and kills it when its grace is over.
    fn ask_to_end(&self, session: &ContractSession) {
        let is_new = session.inner.with(|live, now| {
            let is_new = !live.is_over() && live.state().status != Status::CancelRequested;
            if is_new {
                live.request_cancel(now);
            }
            is_new
        });
        let Some(workflow) = self.me.upgrade().filter(|_| is_new) else { return };
        let (session, ended) = (session.id().to_owned(), self.ended.clone());
        self.tasks.spawn(ended.run_until_cancelled_owned(async move {
            sleep(GRACE).await;
            workflow.apply(&WorkflowEvent::GraceExpired { session });
            workflow.settle();
        }));
    }

    fn note_killed(&self, fields: &Json) {
        let now = self.root().inner.now();
        self.shared().log.add(&now, "killed", fields);
    }
}
