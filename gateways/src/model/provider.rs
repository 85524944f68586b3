//! Distinguishes failures of the provider from those that the agent causes.
//!
//! An agent that could make its provider fail could turn its own failure into an error. So the provider's answer to the
//! agent's request decides nothing: once the tries of a call are used up, the gateway asks a question of its own, with
//! nothing of the agent's in it. Only when that fails too, the provider is to blame.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scenario::evidence::{Dialect, ProviderFailure, ProviderFailureKind};
use serde_json::{Value as Json, json};
use tokio::time::{Instant, timeout};

use super::failure::{Failure, FailureClass};
use super::proxy::Proxy;
use super::refusal::Refusal;
use crate::providers::ProviderKind;

/// Number of questions of its own that the gateway asks in one scenario. They cost something, and an agent must not be
/// able to run up a bill with them.
const MOST_QUESTIONS: u32 = 20;
/// Number of failed calls that are kept.
const MOST_FAILURES: usize = 100;
/// Number of bytes of a list of models that are read: 1 MiB.
const MOST_LIST: usize = 1024 * 1024;
/// Text of the gateway's own question.
const QUESTION: &str = "Reply with OK.";

/// Number of shapes and models of answered calls that are remembered.
const MOST_ANSWERED: usize = 16;

/// Identifies a request: the digest of its path and body.
pub(super) type Fingerprint = [u8; 32];

/// A call, with the properties by which failures of the provider are distinguished.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) fingerprint: Fingerprint,
    pub(super) dialect: Dialect,
    pub(super) model: String,
}

/// Health of one scenario's provider.
#[derive(Debug)]
pub(super) struct ProviderHealth {
    question_wait: Duration,
    state: Mutex<State>,
    /// The last question of the gateway's own: the time, and the verdict.
    asked: tokio::sync::Mutex<Option<(Instant, Verdict)>>,
}

#[derive(Debug, Default)]
struct State {
    /// The shapes and models of calls that were answered, the newest last.
    answered: Vec<(Dialect, String)>,
    /// The failure, while the provider is down since its last answer.
    down: Option<ProviderFailure>,
    /// Calls that the provider failed and that were not answered since.
    failures: BTreeMap<Fingerprint, ProviderFailure>,
    questions: u32,
}

/// Tells if the provider or the agent caused a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The provider's: it fails the gateway's own question too.
    Provider(ProviderFailure),
    /// The agent's: the provider answers the gateway.
    Agent,
}

/// Reply to a question.
enum Reply {
    Answered(Option<BTreeSet<String>>),
    Failed(Failure),
}

impl ProviderHealth {
    pub(super) fn new(question_wait: Duration) -> Self {
        Self { question_wait, state: Mutex::default(), asked: tokio::sync::Mutex::default() }
    }

    /// Notes that a call was answered, which makes good an earlier failure of the same call.
    pub(super) fn answered(&self, fingerprint: &Fingerprint, dialect: Dialect, model: &str) {
        let mut state = self.state();
        state.failures.remove(fingerprint);
        state.down = None;
        if dialect != Dialect::Models {
            state.answered.retain(|(known, of)| (*known, of.as_str()) != (dialect, model));
            state.answered.push((dialect, model.to_owned()));
            let too_many = state.answered.len().saturating_sub(MOST_ANSWERED);
            state.answered.drain(..too_many);
        }
    }

    /// Notes that the provider failed a call.
    pub(super) fn failed(&self, fingerprint: Fingerprint, failure: &ProviderFailure) {
        let mut state = self.state();
        state.down = Some(failure.clone());
        if state.failures.len() < MOST_FAILURES {
            state.failures.insert(fingerprint, failure.clone());
        }
    }

    /// Returns true if the provider failed the last call.
    pub(super) fn is_down(&self) -> bool {
        self.state().down.is_some()
    }

    /// The calls that the provider failed and did not answer since.
    pub(super) fn failures(&self) -> Vec<ProviderFailure> {
        self.state().failures.values().cloned().collect()
    }

    /// Decides if the provider or the agent caused the failure of a call at this time.
    pub(super) async fn diagnose(&self, proxy: &Proxy, failure: &Failure, call: &Call, at: Instant) -> Verdict {
        // One question at a time; what was asked after the failure holds for it too.
        let mut asked = self.asked.lock().await;
        if let Some((when, verdict)) = asked.as_ref().filter(|(when, _)| *when >= at) {
            tracing::debug!(age = ?when.elapsed(), "the provider was asked a moment ago");
            return verdict.clone();
        }
        if let Some(down) = self.state().down.clone().filter(|down| down.kind == kind(failure.class)) {
            return Verdict::Provider(down);
        }
        let now = Instant::now();
        let verdict = self.ask(proxy, failure, call).await;
        if verdict == Verdict::Agent {
            self.state().down = None;
        }
        *asked = Some((now, verdict.clone()));
        verdict
    }

    async fn ask(&self, proxy: &Proxy, failure: &Failure, call: &Call) -> Verdict {
        if let Some((dialect, model)) = self.known(proxy, call) {
            return match self.question(proxy, dialect, &model).await {
                Reply::Failed(failed) => blamed(proxy, &failed),
                Reply::Answered(_) => Verdict::Agent,
            };
        }
        let model = call.model.as_str();
        // The agent chose the model, so that an answer about the model says nothing about the provider.
        match self.question(proxy, Dialect::Models, "").await {
            Reply::Failed(failed) if failed.status != Some(404) && failed.status != Some(405) => blamed(proxy, &failed),
            Reply::Answered(Some(listed)) if !listed.contains(model) => Verdict::Agent,
            Reply::Answered(_) if failure.class == FailureClass::Refused => Verdict::Agent,
            Reply::Failed(failed) if failure.class == FailureClass::Refused => {
                if failure.names(model) {
                    Verdict::Agent
                } else {
                    blamed(proxy, &failed)
                }
            }
            Reply::Answered(_) | Reply::Failed(_) => self.ask_for(proxy, model).await,
        }
    }

    /// A shape and a model that the provider knows for sure, as near to the call as there is one.
    fn known(&self, proxy: &Proxy, call: &Call) -> Option<(Dialect, String)> {
        let answered = &self.state().answered;
        let like = |nearer: &dyn Fn(Dialect, &str) -> bool| {
            answered.iter().rev().find(|(dialect, model)| nearer(*dialect, model)).cloned()
        };
        like(&|dialect, model| dialect == call.dialect && model == call.model)
            .or_else(|| like(&|dialect, _| dialect == call.dialect))
            .or_else(|| Some((usual_dialect(proxy.kind()), proxy.fixed_model()?.to_owned())))
            .or_else(|| like(&|_, _| true))
    }

    /// Asks the agent's own model, which may not exist: then the provider refuses it, and is well.
    async fn ask_for(&self, proxy: &Proxy, model: &str) -> Verdict {
        match self.question(proxy, usual_dialect(proxy.kind()), model).await {
            Reply::Failed(failed) if failed.class == FailureClass::Unavailable => blamed(proxy, &failed),
            Reply::Failed(_) | Reply::Answered(_) => Verdict::Agent,
        }
    }

    /// Asks a question. A list of models is read; of other answers it is enough that they begin.
    async fn question(&self, proxy: &Proxy, dialect: Dialect, model: &str) -> Reply {
        let count = {
            let mut state = self.state();
            state.questions += 1;
            state.questions
        };
        if count > MOST_QUESTIONS {
            return Reply::Answered(None);
        }
        let asking = async {
            let (path, body) = question(dialect, model);
            let response = match proxy.ask(path, body).await {
                Ok(response) => response,
                Err(refusal) => return Reply::Failed(Failure::unreachable(refusal)),
            };
            match FailureClass::of(response.status()) {
                Some(class) => Reply::Failed(Failure::answered(class, response).await),
                None if dialect == Dialect::Models => Reply::Answered(models(response).await),
                None => Reply::Answered(None),
            }
        };
        timeout(self.question_wait, asking).await.unwrap_or_else(|_| Reply::Failed(self.silent()))
    }

    fn silent(&self) -> Failure {
        let message = format!("the upstream did not answer within {}s", self.question_wait.as_secs_f64());
        Failure::unreachable(Refusal::passing(http::StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", message))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind(class: FailureClass) -> ProviderFailureKind {
    match class {
        FailureClass::Unavailable => ProviderFailureKind::Unavailable,
        FailureClass::Refused => ProviderFailureKind::Refused,
    }
}

/// The provider failed the gateway's own question.
fn blamed(proxy: &Proxy, failed: &Failure) -> Verdict {
    let fix = match (failed.class, failed.status) {
        (FailureClass::Unavailable, _) => String::new(),
        (FailureClass::Refused, Some(401 | 403)) => format!("; check the key of {}", proxy.name()),
        (FailureClass::Refused, Some(402 | 429)) => format!("; the account of {} has no credit left", proxy.name()),
        (FailureClass::Refused, _) => format!("; check the `base_url` and the `model` of {}", proxy.name()),
    };
    let message = format!("{}{fix}", proxy.scrubbed(&failed.reason));
    Verdict::Provider(ProviderFailure { kind: kind(failed.class), message })
}

/// The shape that every provider of a kind speaks.
fn usual_dialect(kind: ProviderKind) -> Dialect {
    match kind {
        ProviderKind::OpenAi => Dialect::Chat,
        ProviderKind::Anthropic => Dialect::Messages,
    }
}

/// The path and the body of a question.
fn question(dialect: Dialect, model: &str) -> (&'static str, Option<Json>) {
    let messages = json!([{ "role": "user", "content": QUESTION }]);
    match dialect {
        Dialect::Chat => ("/chat/completions", Some(json!({ "model": model, "messages": messages }))),
        Dialect::Messages => ("/messages", Some(json!({ "model": model, "messages": messages, "max_tokens": 16 }))),
        Dialect::Responses => ("/responses", Some(json!({ "model": model, "input": QUESTION }))),
        Dialect::Embeddings => ("/embeddings", Some(json!({ "model": model, "input": QUESTION }))),
        Dialect::Models | Dialect::Other => ("/models", None),
    }
}

/// The ids of a list of models; `None` when it cannot be read.
async fn models(mut response: reqwest::Response) -> Option<BTreeSet<String>> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.ok()? {
        body.extend_from_slice(&part);
        if body.len() > MOST_LIST {
            return None;
        }
    }
    let list: Json = serde_json::from_slice(&body).ok()?;
    let ids = list["data"].as_array()?.iter().filter_map(|model| model["id"].as_str());
    Some(ids.map(str::to_owned).collect())
}
