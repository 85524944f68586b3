//! Handoffs and sessions of a workflow under tool contracts.
//!
//! The caller's session is found by its token: the sandbox's own is the root's, and a claim returns that of a child.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tool_contracts::Code;

use super::answer::Answer;
use super::requests::{Requests, no_json, presented, too_many};
use crate::bounded_json::{self, Unreadable};
use crate::contract_session::{ClaimedSession, ContractSession, ContractWorkflow, HandoffOffer, WorkflowRefused};

/// The body of a claim.
#[derive(Deserialize)]
struct Claim {
    role: String,
}

/// The body of a label.
#[derive(Deserialize)]
struct Label {
    label: String,
}

/// The body of a filter.
#[derive(Deserialize)]
struct Filter {
    tools: BTreeSet<String>,
}

/// The body of a kill.
#[derive(Deserialize)]
struct Kill {
    scope: String,
    #[serde(default)]
    reason: String,
}

/// A workflow, and the session that calls.
struct Caller<'a> {
    workflow: &'a ContractWorkflow,
    session: Arc<ContractSession>,
    /// The most values of a body.
    most_values: usize,
}

impl Requests {
    /// True when a request has the token of a session.
    pub(super) fn is_of_session(&self, headers: &HeaderMap) -> bool {
        self.session_of(headers).is_some()
    }

    /// The session of a request; `None` without one of its tokens.
    fn session_of(&self, headers: &HeaderMap) -> Option<Arc<ContractSession>> {
        let workflow = self.settings.workflow.as_ref()?;
        presented(headers).find_map(|token| workflow.find(Some(token)).ok())
    }

    /// Answers a request about handoffs or sessions, where there is a workflow.
    pub(super) fn answer_workflow(&self, parts: &Parts, body: &[u8]) -> Option<Answer> {
        let workflow = self.settings.workflow.as_deref()?;
        let words: Vec<&str> = parts.uri.path().strip_prefix("/v1/")?.split('/').collect();
        if !matches!(words.first(), Some(&"handoffs" | &"sessions")) {
            return None;
        }
        let session = self.session_of(&parts.headers).unwrap_or_else(|| workflow.root());
        let caller = Caller { workflow, session, most_values: self.limits.body_values };
        let answered = match (&parts.method, &words[..]) {
            (&Method::GET, ["handoffs"]) => Ok(Answer::json(&workflow.handoffs())),
            (&Method::POST, ["handoffs"]) => caller.offer(body),
            (&Method::POST, ["handoffs", handoff, "claim"]) => caller.claim(handoff, body),
            (&Method::POST, ["handoffs", handoff, "cancel"]) => done(workflow.cancel_handoff(&caller.session, handoff)),
            (&Method::GET, ["sessions", id, "state"]) => {
                let state = workflow.state_of(&caller.session, caller.id(id));
                state.map(|state| Answer::json(&state)).map_err(|refused| refusal(&refused))
            }
            (&Method::POST, ["sessions", id, "labels"]) => caller.label(id, body),
            (&Method::POST, ["sessions", id, "filter"]) => caller.filter(id, body),
            (&Method::POST, ["sessions", id, "kill"]) => caller.kill(id, body),
            (&Method::POST, ["sessions", id, "close"]) => done(workflow.close(&caller.session, caller.id(id))),
            _ => return None,
        };
        Some(answered.unwrap_or_else(|refusal| refusal))
    }
}

impl Caller<'_> {
    /// The id of a session; `self` is the caller's own.
    fn id<'a>(&'a self, given: &'a str) -> &'a str {
        if given == "self" { self.session.id() } else { given }
    }

    fn offer(&self, body: &[u8]) -> Result<Answer, Answer> {
        let offer: HandoffOffer = self.read(body)?;
        let handoff = self.workflow.offer(&self.session, offer).map_err(|refused| refusal(&refused))?;
        Ok(Answer::json(&json!({"handoff": handoff})))
    }

    fn claim(&self, handoff: &str, body: &[u8]) -> Result<Answer, Answer> {
        let Claim { role } = self.read(body)?;
        let claimed = self.workflow.claim(&self.session, handoff, &role).map_err(|refused| refusal(&refused))?;
        let ClaimedSession { session, token } = claimed;
        Ok(Answer::json(&json!({"session": session, "token": token})))
    }

    fn label(&self, id: &str, body: &[u8]) -> Result<Answer, Answer> {
        let Label { label } = self.read(body)?;
        done(self.workflow.add_label(&self.session, self.id(id), &label))
    }

    fn filter(&self, id: &str, body: &[u8]) -> Result<Answer, Answer> {
        let Filter { tools } = self.read(body)?;
        done(self.workflow.narrow_filter(&self.session, self.id(id), tools))
    }

    fn kill(&self, id: &str, body: &[u8]) -> Result<Answer, Answer> {
        let Kill { scope, reason } = self.read(body)?;
        done(self.workflow.kill(&self.session, self.id(id), &scope, &reason))
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Answer> {
        let value = bounded_json::parse(body, self.most_values).map_err(|unreadable| match unreadable {
            Unreadable::NoJson(error) => no_json(&error),
            Unreadable::TooMany => too_many(self.most_values),
        })?;
        serde_json::from_value(value)
            .map_err(|error| Answer::refusal(StatusCode::BAD_REQUEST, "bad_request", &error.to_string()))
    }
}

fn done(result: Result<(), WorkflowRefused>) -> Result<Answer, Answer> {
    result.map(|()| Answer::empty()).map_err(|refused| refusal(&refused))
}

fn refusal(refused: &WorkflowRefused) -> Answer {
    let (status, code) = match refused {
        WorkflowRefused::Code(code) => (status_of(*code), code.name()),
        WorkflowRefused::NoHandoff => (StatusCode::NOT_FOUND, Code::HandoffNotOpen.name()),
        WorkflowRefused::NoSession => (StatusCode::NOT_FOUND, "not_found"),
        WorkflowRefused::NotOwn => (StatusCode::FORBIDDEN, "forbidden"),
        WorkflowRefused::Invalid(_) => (StatusCode::BAD_REQUEST, "bad_request"),
    };
    Answer::refusal(status, code, &refused.to_string())
}

/// Rights that a role or session never has are 403; states of the workflow that may change are 409.
fn status_of(code: Code) -> StatusCode {
    match code {
        Code::HandoffNotDeclared | Code::HandoffRoleMismatch | Code::KillNotPermitted => StatusCode::FORBIDDEN,
        _ => StatusCode::CONFLICT,
    }
}
