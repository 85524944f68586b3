//! The bounded journal of a gateway.

use scenario::evidence::{Answered, Body, Exchange, Journal, stored_len};

use super::overflow::OverflowCounter;

/// Number of exchanges that a journal keeps; the rest are counted.
pub const KEPT_EXCHANGES: usize = 10_000;
/// Number of bytes of bodies that a journal keeps: 64 MiB, counted as they are stored. A body that does not fit any
/// more is recorded as dropped.
pub const KEPT_BODIES_BYTES: usize = 64 * 1024 * 1024;
/// The bytes of answers that a journal keeps: 16 MiB. An answer that does not fit any more is left out.
pub const KEPT_ANSWERS_BYTES: usize = 16 * 1024 * 1024;
/// Number of bytes of methods, paths, queries and headers that a journal keeps: 32 MiB. An exchange whose head does not
/// fit any more is counted, because half a head would let a check decide wrongly.
pub const KEPT_HEADS_BYTES: usize = 32 * 1024 * 1024;

/// Limits of a journal.
#[derive(Debug, Clone, Copy)]
pub struct JournalLimits {
    /// The number of exchanges.
    pub exchanges: usize,
    /// The bytes of all bodies together.
    pub bodies_bytes: usize,
    /// The bytes of all answers together.
    pub answers_bytes: usize,
    /// The bytes of all heads together.
    pub heads_bytes: usize,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self {
            exchanges: KEPT_EXCHANGES,
            bodies_bytes: KEPT_BODIES_BYTES,
            answers_bytes: KEPT_ANSWERS_BYTES,
            heads_bytes: KEPT_HEADS_BYTES,
        }
    }
}

/// The journal of one gateway while it is written. What it is given has no secrets in it any more.
#[derive(Debug)]
pub struct Recorder {
    exchanges: Vec<Exchange>,
    /// Room that is left.
    left: JournalLimits,
    overflow: OverflowCounter,
    closed: bool,
}

impl Recorder {
    /// An empty journal.
    #[must_use]
    pub fn new(limits: JournalLimits) -> Self {
        Self { exchanges: Vec::new(), left: limits, overflow: OverflowCounter::default(), closed: false }
    }

    /// Writes an exchange down, or counts it when the journal is full. Once it is full it stays full, so that the kept
    /// exchanges are the first ones without a gap.
    pub fn record(&mut self, mut exchange: Exchange) {
        if self.closed {
            return;
        }
        let head = head_bytes(&exchange);
        if self.overflow.total() > 0 || self.left.exchanges == 0 || head > self.left.heads_bytes {
            return self.overflow.count(&exchange.method, &exchange.path);
        }
        self.left.exchanges -= 1;
        self.left.heads_bytes -= head;
        exchange.body = self.fit(exchange.body);
        exchange.answer = exchange.answer.filter(|answer| self.has_room_for(answer));
        self.exchanges.push(exchange);
    }

    /// Ends the journal: whatever is recorded afterwards is ignored.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The journal as it is now.
    #[must_use]
    pub fn journal(&self) -> Journal {
        Journal { exchanges: self.exchanges.clone(), overflow: self.overflow.overflow() }
    }

    /// The exchanges that are kept, the first ones without a gap.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Returns the number of exchanges that are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns the number of exchanges that were counted only.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.overflow.total()
    }

    /// Takes the room of an answer, when there is enough.
    fn has_room_for(&mut self, answer: &Answered) -> bool {
        let headers = answer.headers.iter().map(|(name, value)| stored_len(name) + stored_len(value));
        let bytes = headers.sum::<usize>() + stored_bytes(&answer.body);
        let left = self.left.answers_bytes.checked_sub(bytes);
        self.left.answers_bytes = left.unwrap_or(0);
        left.is_some()
    }

    /// The body, or how large it was when there is no more room for it.
    fn fit(&mut self, body: Body) -> Body {
        let size = match &body {
            Body::Kept(blob) => blob.0.len() as u64,
            Body::Cut { size, .. } | Body::Dropped { size } => *size,
        };
        match self.left.bodies_bytes.checked_sub(stored_bytes(&body)) {
            Some(left) => self.left.bodies_bytes = left,
            None => return Body::Dropped { size },
        }
        body
    }
}

/// The size of a body as it is stored.
fn stored_bytes(body: &Body) -> usize {
    match body {
        Body::Kept(blob) | Body::Cut { kept: blob, .. } => blob.stored_len(),
        Body::Dropped { .. } => 0,
    }
}

/// Returns the size of an exchange's head.
fn head_bytes(exchange: &Exchange) -> usize {
    let pairs = exchange.query.iter().chain(&exchange.headers);
    let pairs = pairs.map(|(name, value)| stored_len(name) + stored_len(value));
    stored_len(&exchange.method) + stored_len(&exchange.path) + pairs.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use scenario::evidence::{Body, Exchange};

    use super::{JournalLimits, Recorder};

    fn exchange(path: &str, body: &str) -> Exchange {
        Exchange {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::Kept(body.into()),
            status: 200,
            at_ms: 0,
            fault: None,
            answer: None,
        }
    }

    fn recorder(exchanges: usize, bodies_bytes: usize, heads_bytes: usize) -> Recorder {
        Recorder::new(JournalLimits { exchanges, bodies_bytes, heads_bytes, ..JournalLimits::default() })
    }

    #[test]
    fn exchanges_beyond_the_number_are_counted() {
        let mut recorder = recorder(2, 100, 100);
        for path in ["/a", "/a", "/a", "/b", "/a"] {
            recorder.record(exchange(path, "x"));
        }
        let journal = recorder.journal();
        let counts = journal.overflow.expect("an overflow").counts;
        let counts: Vec<_> = counts.iter().map(|counted| (counted.path.as_deref(), counted.count)).collect();
        assert_eq!((journal.exchanges.len(), counts), (2, vec![(Some("/a"), 2), (Some("/b"), 1)]));
        assert_eq!((recorder.kept(), recorder.counted()), (2, 3));
    }

    #[test]
    fn bodies_beyond_the_bytes_are_dropped_and_later_small_ones_still_fit() {
        let mut recorder = recorder(9, 5, 100);
        for body in ["abc", "defg", "", "hi", "j"] {
            recorder.record(exchange("/", body));
        }
        let bodies: Vec<_> = recorder.journal().exchanges.into_iter().map(|exchange| exchange.body).collect();
        let kept = |text: &str| Body::Kept(text.into());
        assert_eq!(bodies, [kept("abc"), Body::Dropped { size: 4 }, kept(""), kept("hi"), Body::Dropped { size: 1 }]);
    }

    #[test]
    fn the_kept_exchanges_have_no_gap() {
        let mut recorder = recorder(9, 100, 20);
        for path in ["/a", "/a/very/long/path/indeed", "/b"] {
            recorder.record(exchange(path, ""));
        }
        assert_eq!((recorder.kept(), recorder.counted()), (1, 2));
    }

    #[test]
    fn nothing_is_recorded_after_the_end() {
        let mut recorder = recorder(1, 100, 100);
        recorder.close();
        recorder.record(exchange("/", ""));
        recorder.record(exchange("/", ""));
        assert_eq!((recorder.kept(), recorder.counted()), (0, 0));
    }
}
