//! Questions to a server that wait for their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value as Json, json};
use tokio::sync::{Notify, oneshot};

use super::{Progress, Refusal, ServerFailure};
use crate::bounded_json;
use crate::tools::protocol::{MOST_VALUES, RpcError, notification};

/// The questions of one server.
#[derive(Debug)]
pub(super) struct Pending {
    server: String,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, Waiting>>,
    ended: Mutex<Option<String>>,
    news: Arc<Notify>,
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<Json, ServerFailure>>,
    progress: Option<Progress>,
}

/// A question, from the moment that it is asked to its answer.
#[derive(Debug)]
pub(super) struct Question {
    /// Its id.
    pub(super) id: u64,
    /// Its answer.
    pub(super) answer: oneshot::Receiver<Result<Json, ServerFailure>>,
}

/// Reaction to a message of a server.
#[derive(Debug, PartialEq)]
pub(super) enum Reaction {
    /// Nothing more has to be done.
    Done,
    /// This answer is to be sent.
    Reply(Json),
}

impl Pending {
    pub(super) fn new(server: String, news: Arc<Notify>) -> Self {
        Self { server, next: AtomicU64::new(1), waiting: Mutex::default(), ended: Mutex::default(), news }
    }

    /// Registers a question, and gives its message.
    pub(super) fn ask(&self, method: &str, mut params: Json, progress: Option<Progress>) -> (Question, Json) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if progress.is_some() {
            params["_meta"]["progressToken"] = id.into();
        }
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id, Waiting { answer: sender, progress });
        (Question { id, answer }, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Takes a question back; `true` when it was not answered.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.waiting().remove(&id).is_some()
    }

    /// Reads a message of the server; nothing when it is none. Servers print other things too, though they should not.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<Reaction> {
        let message = bounded_json::parse(bytes, MOST_VALUES).ok().filter(Json::is_object)?;
        Some(self.take(message))
    }

    /// The message that takes a question back.
    pub(super) fn cancelling(id: u64) -> Json {
        notification("notifications/cancelled", json!({"requestId": id, "reason": "the client cancelled"}))
    }

    /// Takes a message of the server.
    fn take(&self, mut message: Json) -> Reaction {
        match (message["method"].as_str().map(str::to_owned), message.get("id").cloned()) {
            (None, Some(id)) => self.answered(&id, &mut message),
            (Some(method), None) => self.told(&method, &mut message["params"]),
            (Some(method), Some(id)) => return Reaction::Reply(reply(&method, &id)),
            (None, None) => {}
        }
        Reaction::Done
    }

    fn answered(&self, id: &Json, message: &mut Json) {
        let waiting = id.as_u64().and_then(|id| self.waiting().remove(&id));
        let Some(waiting) = waiting else { return };
        let answer = match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => {
                let error = RpcError::from_json(error);
                Err(ServerFailure::Refused(Box::new(Refusal { message: error.message.clone(), error })))
            }
            None => Ok(message["result"].take()),
        };
        // Nobody waits any more when the question was cancelled meanwhile.
        let _ = waiting.answer.send(answer);
    }

    fn told(&self, method: &str, params: &mut Json) {
        match method {
            "notifications/tools/list_changed" => self.news.notify_one(),
            "notifications/progress" => {
                let asked = params["progressToken"].as_u64();
                let progress =
                    asked.and_then(|id| self.waiting().get(&id).and_then(|waiting| waiting.progress.clone()));
                if let Some(progress) = progress {
                    // What a slow client does not take is left out.
                    let _ = progress.try_send(params.take());
                }
            }
            _ => {}
        }
    }

    /// The server has ended: nothing is answered any more.
    pub(super) fn end(&self, why: &str) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.get_or_insert_with(|| why.to_owned());
        drop(ended);
        for (_, waiting) in self.waiting().drain() {
            let _ = waiting.answer.send(Err(self.gone(why)));
        }
    }

    /// Returns the reason why the server answers no more.
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The failure of a question to a server that has ended.
    pub(super) fn gone(&self, why: &str) -> ServerFailure {
        ServerFailure::Ended { server: self.server.clone(), why: why.to_owned() }
    }

    /// The failure of a question to a server that broke the protocol.
    pub(super) fn broken(&self, problem: impl Into<String>) -> ServerFailure {
        ServerFailure::Broken { server: self.server.clone(), problem: problem.into() }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the answer to a question of a server: it gets an answer to `ping`, and an error for anything else.
fn reply(method: &str, id: &Json) -> Json {
    match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": RpcError::no_method(method).to_json()}),
    }
}
