//! Sessions that operators can intervene in while the agent acts.

use std::sync::Arc;

use async_trait::async_trait;
use scenario::evidence::Evidence;
use scenario::intervention::{Intervention, SessionChange};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{ContractSession, ContractWorkflow};
use crate::Gateway;
use crate::approvals::Approvals;

/// The sessions of a scenario.
#[derive(Debug, Clone)]
pub enum Sessions {
    /// One.
    One(Arc<ContractSession>),
    /// Those of a workflow.
    Workflow(Arc<ContractWorkflow>),
}

/// The sessions of a scenario, and the task that takes interventions.
#[derive(Debug)]
pub struct OperatedSessions {
    sessions: Sessions,
    place: Option<Arc<dyn Approvals>>,
    ended: CancellationToken,
    tasks: TaskTracker,
}

impl OperatedSessions {
    /// Sessions, and the place where operators intervene; `None` where there is no such place.
    #[must_use]
    pub fn new(sessions: Sessions, place: Option<Arc<dyn Approvals>>) -> Self {
        Self { sessions, place, ended: CancellationToken::new(), tasks: TaskTracker::new() }
    }
}

impl Sessions {
    fn gateway(&self) -> &dyn Gateway {
        match self {
            Self::One(session) => session.as_ref(),
            Self::Workflow(workflow) => workflow.as_ref(),
        }
    }

    /// Does what an operator wants. A session that is not there, or has ended, is left as it is.
    fn obey(&self, intervention: &Intervention) {
        match self {
            Self::One(session) => {
                let is_meant = intervention.session.as_deref().is_none_or(|id| id == session.id());
                if is_meant {
                    session.obey(intervention);
                }
            }
            Self::Workflow(workflow) => workflow.obey(intervention),
        }
    }
}

impl ContractSession {
    /// Does what an operator wants of this session.
    pub(super) fn obey(&self, intervention: &Intervention) {
        match (&intervention.change, intervention.cause()) {
            (SessionChange::Filter { tools }, _) => self.inner.with(|live, now| {
                if !live.is_over() {
                    live.set_filter(now, tools.clone());
                }
            }),
            (SessionChange::Kill { .. }, cause) => {
                self.inner.with(|live, now| live.kill(now, &cause.unwrap_or_default()));
            }
        }
    }
}

async fn follow(sessions: Sessions, place: Arc<dyn Approvals>) {
    let mut last = 0;
    loop {
        let (number, intervention) = place.next_intervention(last).await;
        last = number;
        sessions.obey(&intervention);
    }
}

#[async_trait]
impl Gateway for OperatedSessions {
    async fn begin(&self) {
        self.sessions.gateway().begin().await;
        if let Some(place) = &self.place {
            let following = follow(self.sessions.clone(), Arc::clone(place));
            self.tasks.spawn(self.ended.clone().run_until_cancelled_owned(following));
        }
    }

    async fn seal(&self) {
        self.ended.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.sessions.gateway().seal().await;
    }

    fn record(&self, evidence: &mut Evidence) {
        self.sessions.gateway().record(evidence);
    }
}
