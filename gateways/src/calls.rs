//! Calls over HTTP as audit events.

use scenario::evidence::{AuditEvent, Audited, stored_len};

/// Number of calls that are kept; the rest are counted.
pub const KEPT_CALLS: usize = 10_000;
/// Number of bytes of an answer's body that are kept with its call: 64 KiB.
pub const KEPT_ANSWER_BYTES: usize = 64 * 1024;
/// Number of bytes of hosts, methods, paths and answers that are kept: 64 MiB, as they are stored. A call beyond it is
/// counted.
pub const KEPT_CALLS_BYTES: usize = 64 * 1024 * 1024;

/// Limits of the calls that are kept.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// The number of calls.
    pub calls: usize,
    /// The bytes of one answer's body.
    pub answer_bytes: usize,
    /// The bytes of all calls together.
    pub bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { calls: KEPT_CALLS, answer_bytes: KEPT_ANSWER_BYTES, bytes: KEPT_CALLS_BYTES }
    }
}

/// A call that was answered, without secrets.
#[derive(Debug)]
pub struct Call {
    /// The service that answered.
    pub service: String,
    /// The name that was called.
    pub host: String,
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// The body of the answer; `None` when it had none.
    pub response_body: Option<String>,
    /// Arrival time, in milliseconds since the agent started.
    pub at_ms: u64,
}

/// The calls of one sandbox, in the order of their answers.
#[derive(Debug)]
pub struct CallLog {
    calls: Vec<Audited>,
    left: CallLimits,
    counted: u64,
    closed: bool,
}

impl CallLog {
    /// An empty log.
    #[must_use]
    pub fn new(limits: CallLimits) -> Self {
        Self { calls: Vec::new(), left: limits, counted: 0, closed: false }
    }

    /// Writes a call down, or counts it when the log is full.
    pub fn record(&mut self, mut call: Call) {
        if self.closed {
            return;
        }
        if let Some(body) = &mut call.response_body {
            body.truncate(body.floor_char_boundary(self.left.answer_bytes));
        }
        let answer = call.response_body.as_deref().map_or(0, stored_len);
        let names = [&call.service, &call.host, &call.method, &call.path];
        let bytes = names.map(|name| stored_len(name)).iter().sum::<usize>() + answer;
        if self.counted > 0 || self.left.calls == 0 || bytes > self.left.bytes {
            self.counted += 1;
            return;
        }
        self.left.calls -= 1;
        self.left.bytes -= bytes;
        self.calls.push(call.into());
    }

    /// Ends the log: whatever is recorded afterwards is ignored.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The calls that are kept.
    #[must_use]
    pub fn calls(&self) -> &[Audited] {
        &self.calls
    }

    /// Returns the number of calls that were counted only.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counted
    }
}

impl From<Call> for Audited {
    fn from(call: Call) -> Self {
        let Call { service, host, method, path, status, response_body, at_ms } = call;
        let (service, status) = (Some(service), Some(status));
        let event = AuditEvent::HttpCall { service, host, method, path, status, response_body };
        Self { at_ms: Some(at_ms), event }
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::AuditEvent;

    use super::{Call, CallLimits, CallLog};

    fn call(answer: &str) -> Call {
        Call {
            service: "a".to_owned(),
            host: "a".to_owned(),
            method: "G".to_owned(),
            path: "/".to_owned(),
            status: 200,
            response_body: Some(answer.to_owned()),
            at_ms: 0,
        }
    }

    fn answers(limits: CallLimits, answers: &[&str]) -> (Vec<String>, u64) {
        let mut log = CallLog::new(limits);
        answers.iter().for_each(|answer| log.record(call(answer)));
        let kept = log.calls().iter().map(|audited| match &audited.event {
            AuditEvent::HttpCall { response_body: Some(body), .. } => body.clone(),
            other => panic!("{other:?}"),
        });
        (kept.collect(), log.counted())
    }

    #[test]
    fn calls_beyond_the_number_or_the_bytes_are_counted() {
        let limits = CallLimits { calls: 2, answer_bytes: 9, bytes: 99 };
        assert_eq!(answers(limits, &["x", "y", "z"]), (vec!["x".to_owned(), "y".to_owned()], 1));
        let limits = CallLimits { calls: 9, answer_bytes: 9, bytes: 10 };
        assert_eq!(answers(limits, &["123456", "7", "8"]), (vec!["123456".to_owned()], 2));
    }

    #[test]
    fn a_long_answer_is_cut_between_characters() {
        let limits = CallLimits { calls: 2, answer_bytes: 2, bytes: 99 };
        assert_eq!(answers(limits, &["aé"]).0, ["a"]);
    }
}
