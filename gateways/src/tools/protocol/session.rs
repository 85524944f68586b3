//! Sessions of clients that began with `initialize`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::entropy;

/// Number of sessions at once. The one that was used longest ago makes room for another; its client begins again.
const MOST_SESSIONS: usize = 1_000;
/// Number of requests of one client that may be under way.
const MOST_CALLS: usize = 1_000;
/// Number of notifications that a stream may lag behind; older ones are dropped.
const MOST_WAITING: usize = 64;

/// All sessions of a gateway.
#[derive(Debug)]
pub(in crate::tools) struct Sessions {
    table: Mutex<Table>,
    /// Notifications for every stream.
    news: broadcast::Sender<Json>,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<String, Arc<Session>>,
    /// Increases with every use, so that the session that was used longest ago is known.
    uses: u64,
    last_used: HashMap<String, u64>,
}

/// A session.
#[derive(Debug, Default)]
pub(in crate::tools) struct Session {
    /// Requests under way, which the client may cancel.
    calls: Mutex<HashMap<String, CancellationToken>>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { table: Mutex::default(), news: broadcast::channel(MOST_WAITING).0 }
    }
}

impl Sessions {
    /// Begins a session, and returns its id.
    pub(in crate::tools) fn begin(&self) -> String {
        let id = entropy::hex(16);
        let mut table = self.table();
        if table.sessions.len() >= MOST_SESSIONS
            && let Some(oldest) = table.last_used.iter().min_by_key(|(_, used)| **used).map(|(id, _)| id.clone())
        {
            table.remove(&oldest);
        }
        table.sessions.insert(id.clone(), Arc::default());
        table.touch(&id);
        id
    }

    /// The session with this id; `None` when it has ended or never was.
    pub(in crate::tools) fn get(&self, id: &str) -> Option<Arc<Session>> {
        let mut table = self.table();
        let session = table.sessions.get(id).cloned()?;
        table.touch(id);
        Some(session)
    }

    /// Ends a session; `false` when there is none.
    pub(in crate::tools) fn end(&self, id: &str) -> bool {
        self.table().remove(id)
    }

    /// Sends a notification to every stream.
    pub(in crate::tools) fn notify(&self, notification: Json) {
        // Nobody listens, or some do.
        let _ = self.news.send(notification);
    }

    /// The notifications from now on.
    pub(in crate::tools) fn listen(&self) -> broadcast::Receiver<Json> {
        self.news.subscribe()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn touch(&mut self, id: &str) {
        self.uses += 1;
        self.last_used.insert(id.to_owned(), self.uses);
    }

    fn remove(&mut self, id: &str) -> bool {
        self.last_used.remove(id);
        self.sessions.remove(id).is_some()
    }
}

impl Session {
    /// Notes that a request is under way; its token is cancelled when the client cancels it.
    pub(in crate::tools) fn call_begins(&self, id: &Json, token: CancellationToken) {
        let mut calls = self.calls();
        if calls.len() < MOST_CALLS {
            calls.insert(id.to_string(), token);
        }
    }

    /// Notes that a request was answered.
    pub(in crate::tools) fn call_ended(&self, id: &Json) {
        self.calls().remove(&id.to_string());
    }

    /// Cancels a request.
    pub(in crate::tools) fn cancel(&self, id: &Json) {
        if let Some(token) = self.calls().remove(&id.to_string()) {
            token.cancel();
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_SESSIONS, Sessions};

    #[test]
    fn the_session_used_longest_ago_makes_room() {
        let sessions = Sessions::default();
        let first = sessions.begin();
        let second = sessions.begin();
        for _ in 2..MOST_SESSIONS {
            sessions.begin();
        }
        assert!(sessions.get(&first).is_some(), "it was used just now");
        sessions.begin();
        assert!(sessions.get(&second).is_none() && sessions.get(&first).is_some());
        assert!(sessions.end(&first) && !sessions.end(&first));
    }
}
