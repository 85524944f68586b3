//! Handoffs: work that one session offers to a role, and that a new session claims.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scenario::evidence::ContractMode;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tool_contracts::{Code, Reason, WorkflowEvent, wf_apply};

use super::member::Membership;
use super::{ContractWorkflow, Shared, WorkflowRefused};
use crate::contract_session::{ContractSession, ContractSettings};
use crate::entropy;

/// The most handoffs, whatever the workflow says.
const MOST_HANDOFFS: usize = 10_000;
/// The most sessions, whatever the workflow says.
const MOST_SESSIONS: usize = 100;
/// The most artifacts of a handoff.
const MOST_ARTIFACTS: usize = 100;
/// The longest text of a handoff.
const MOST_BYTES: usize = 200;

/// Work that is offered to a role.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HandoffOffer {
    /// The role.
    pub to: String,
    /// The files that go with it. Their contents stay where they are.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
}

/// A file that goes with a handoff.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Artifact {
    /// Its name, which the workflow may require.
    pub name: String,
    /// The hash of its content.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Its type.
    pub media_type: String,
}

/// A session that claimed a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedSession {
    /// Its id.
    pub session: String,
    /// Its token.
    pub token: String,
}

/// A handoff, as lists show it.
#[derive(Debug, Clone)]
pub(super) struct Handoff {
    id: String,
    from: String,
    from_role: Option<String>,
    to: String,
    artifacts: Vec<Artifact>,
    claimed_by: Option<String>,
}

impl HandoffOffer {
    fn check(&self) -> Result<(), WorkflowRefused> {
        let texts = self.artifacts.iter().flat_map(|one| [&one.name, &one.sha256, &one.media_type]);
        let is_long = texts.chain([&self.to]).any(|text| text.len() > MOST_BYTES);
        if is_long || self.artifacts.len() > MOST_ARTIFACTS {
            return Err(WorkflowRefused::Invalid(
                "a handoff has at most 100 artifacts, and texts of at most 200 bytes",
            ));
        }
        Ok(())
    }
}

impl ContractWorkflow {
    /// Offers work to a role, and returns the handoff's id.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn offer(&self, caller: &ContractSession, offer: HandoffOffer) -> Result<String, WorkflowRefused> {
        offer.check()?;
        let offered = self.add_offer(caller, &offer);
        let handoff = self.attempted(caller, "offer", offered)?;
        let HandoffOffer { to, artifacts } = offer;
        let fields =
            json!({"status": "offered", "handoff": handoff, "from": caller.id(), "to": to, "artifacts": artifacts});
        self.note_handoff(caller, &fields);
        Ok(handoff)
    }

    fn add_offer(&self, caller: &ContractSession, offer: &HandoffOffer) -> Result<String, WorkflowRefused> {
        if !caller.has_begun() {
            return Err(WorkflowRefused::Code(Code::SessionNotActive));
        }
        let mut shared = self.shared();
        if shared.handoffs.len() >= MOST_HANDOFFS {
            return Err(WorkflowRefused::Code(Code::WorkflowLimitExceeded));
        }
        let id = format!("h{}", shared.handoffs.len() + 1);
        let event = WorkflowEvent::HandoffOffered {
            handoff: id.clone(),
            session: caller.id().to_owned(),
            to: offer.to.clone(),
            artifacts: offer.artifacts.iter().map(|artifact| artifact.name.clone()).collect(),
        };
        self.applied(&mut shared, &event)?;
        shared.handoffs.push(Handoff {
            id: id.clone(),
            from: caller.id().to_owned(),
            from_role: caller.inner.role.clone(),
            to: offer.to.clone(),
            artifacts: offer.artifacts.clone(),
            claimed_by: None,
        });
        Ok(id)
    }

    /// Returns all handoffs so far, without tokens.
    #[must_use]
    pub fn handoffs(&self) -> Json {
        let shared = self.shared();
        let shown = |handoff: &Handoff| {
            let status = match (&handoff.claimed_by, shared.state.is_open(&handoff.id)) {
                (Some(_), _) => "claimed",
                (None, true) => "open",
                (None, false) => "cancelled",
            };
            json!({
                "handoff": handoff.id,
                "from": handoff.from,
                "from_role": handoff.from_role,
                "to": handoff.to,
                "artifacts": handoff.artifacts,
                "status": status,
                "session": handoff.claimed_by,
            })
        };
        shared.handoffs.iter().map(shown).collect()
    }

    /// Opens a session that claims a handoff. It begins with the labels that the session has which offered the work.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn claim(
        &self,
        caller: &ContractSession,
        handoff: &str,
        role: &str,
    ) -> Result<ClaimedSession, WorkflowRefused> {
        let claimed = self.begin_claim(caller, handoff, role);
        let (session, parent) = self.attempted(caller, "claim", claimed)?;
        let token = format!("ts-{}", entropy::hex(24));
        let child = self.open_child(&session, role, &parent);
        let mut shared = self.shared();
        shared.sessions.push(Arc::clone(&child));
        shared.tokens.insert(token.clone(), session.clone());
        drop(shared);
        let fields = json!({
            "status": "claimed",
            "handoff": handoff,
            "from": parent.id(),
            "to": role,
            "claimed_by": session,
        });
        self.note_handoff(&parent, &fields);
        child.inner.with(|live, now| live.note_handoff(now, fields.clone()));
        // It may have ended already, because its parent has.
        self.settle();
        self.visible.send_modify(|version| *version += 1);
        Ok(ClaimedSession { session, token })
    }

    /// Claims the handoff; the id of the new session, and its parent.
    fn begin_claim(
        &self,
        caller: &ContractSession,
        handoff: &str,
        role: &str,
    ) -> Result<(String, Arc<ContractSession>), WorkflowRefused> {
        let mut shared = self.shared();
        let from = shared.state.offered_by(handoff).ok_or(WorkflowRefused::NoHandoff)?.to_owned();
        if caller.inner.live().state().is_killed() {
            return Err(WorkflowRefused::Code(Code::SessionKilled));
        }
        let parent = shared.sessions.iter().find(|session| session.id() == from).cloned();
        let parent = parent.ok_or(WorkflowRefused::NoHandoff)?;
        if shared.state.sessions().count() >= MOST_SESSIONS {
            return Err(WorkflowRefused::Code(Code::WorkflowLimitExceeded));
        }
        let session = format!("{}.{}", self.template.session, shared.state.sessions().count());
        let event = WorkflowEvent::HandoffClaimed {
            handoff: handoff.to_owned(),
            session: session.clone(),
            role: role.to_owned(),
        };
        self.applied(&mut shared, &event)?;
        if let Some(handoff) = shared.handoffs.iter_mut().find(|one| one.id == handoff) {
            handoff.claimed_by = Some(session.clone());
        }
        Ok((session, parent))
    }

    fn open_child(&self, session: &str, role: &str, parent: &ContractSession) -> Arc<ContractSession> {
        let contracts = Arc::clone(self.roles.get(role).unwrap_or(&self.template.contracts));
        let settings = ContractSettings {
            session: session.to_owned(),
            role: Some(role.to_owned()),
            contracts,
            ..self.template.clone()
        };
        let labels = if self.workflow.hands_labels_over() { parent.inner.live().labels() } else { Vec::new() };
        let membership = Membership::new(self.me.clone(), Some(parent.id().to_owned()), &self.visible);
        let child = ContractSession::open_as(settings, self.opened, Some(membership), labels);
        child.inner.has_begun.store(true, Ordering::Release);
        Arc::new(child)
    }

    /// Takes an offer back, which only the session that made it may.
    ///
    /// # Errors
    /// The workflow refuses it.
    pub fn cancel_handoff(&self, caller: &ContractSession, handoff: &str) -> Result<(), WorkflowRefused> {
        let mut shared = self.shared();
        match shared.state.offered_by(handoff) {
            None => return Err(WorkflowRefused::NoHandoff),
            Some(from) if from != caller.id() => return Err(WorkflowRefused::NotOwn),
            Some(_) => {}
        }
        let to = shared.handoffs.iter().find(|one| one.id == handoff).map(|one| one.to.clone());
        let cancelled = self.applied(&mut shared, &WorkflowEvent::HandoffCancelled { handoff: handoff.to_owned() });
        drop(shared);
        self.attempted(caller, "cancel", cancelled)?;
        let fields = json!({"status": "cancelled", "handoff": handoff, "from": caller.id(), "to": to});
        self.note_handoff(caller, &fields);
        Ok(())
    }

    /// Takes all open offers back.
    pub(super) fn cancel_open_handoffs(&self) {
        let open: Vec<String> = self.shared().state.open_handoffs().map(ToOwned::to_owned).collect();
        for handoff in open {
            let from = self.shared().state.offered_by(&handoff).map(ToOwned::to_owned);
            if let Some(session) = from.and_then(|from| self.session(&from)) {
                let _ = self.cancel_handoff(&session, &handoff);
            }
        }
    }

    /// Applies an event while the lock is held.
    pub(super) fn applied(&self, shared: &mut Shared, event: &WorkflowEvent) -> Result<(), WorkflowRefused> {
        let findings = wf_apply(&self.workflow, &mut shared.state, event);
        self.changed.send_modify(|version| *version += 1);
        findings.first().map_or(Ok(()), |finding| Err(WorkflowRefused::Code(finding.code)))
    }

    /// Writes a refusal into the log of the session that tried.
    pub(super) fn attempted<T>(
        &self,
        caller: &ContractSession,
        operation: &str,
        done: Result<T, WorkflowRefused>,
    ) -> Result<T, WorkflowRefused> {
        if let Err(WorkflowRefused::Code(code)) = &done
            && self.template.mode != ContractMode::Record
        {
            let reason = Reason::of_workflow(*code);
            caller.inner.with(|live, now| live.refuse_operation(now, operation, &reason));
        }
        done
    }

    fn note_handoff(&self, session: &ContractSession, fields: &Json) {
        let now = session.inner.now();
        self.shared().log.add(&now, "handoff", fields);
        session.inner.with(|live, now| live.note_handoff(now, fields.clone()));
    }
}
