//! Takes values out of a stream, also where they arrive in pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Redactor;
use super::search::Text;

/// Takes values out of a stream, also where they arrive in pieces.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    pending: Vec<u8>,
    found: BTreeMap<String, u64>,
}

impl StreamRedactor {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, pending: Vec::new(), found: BTreeMap::new() }
    }

    /// The redactor, for texts beside the stream.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Takes a piece, and returns the bytes that are safe by now.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        self.settle(false)
    }

    /// Takes a piece, of which nothing is kept, and finds the values that end in it.
    pub fn look(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let hidden = Arc::clone(&self.redactor.hidden);
        let mut text = Text::new(&hidden, &self.pending);
        let (mut done, safe) = (0, text.settled());
        while let Some(found) = text.next_from(done) {
            self.redactor.saw(found.name);
            done = found.range.end;
        }
        self.pending.drain(..safe.max(done));
    }

    /// Returns the rest.
    pub fn finish(&mut self) -> Vec<u8> {
        self.settle(true)
    }

    /// Returns the number of times that each secret was found.
    pub fn found(&self) -> Vec<(String, u64)> {
        self.found.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// Takes out the values that cannot go on in the next piece, and returns the bytes before the first that may.
    fn settle(&mut self, is_last: bool) -> Vec<u8> {
        let mut kept = Vec::new();
        let mut done = 0;
        let hidden = Arc::clone(&self.redactor.hidden);
        let mut text = Text::new(&hidden, &self.pending);
        let safe = if is_last { self.pending.len() } else { text.settled() };
        while let Some(found) = text.next_from(done).filter(|found| found.range.start < safe) {
            kept.extend_from_slice(&self.pending[done..found.range.start]);
            kept.extend_from_slice(found.marker);
            self.redactor.saw(found.name);
            *self.found.entry(found.name.to_owned()).or_default() += 1;
            done = found.range.end;
        }
        let end = safe.max(done);
        kept.extend_from_slice(&self.pending[done..end]);
        self.pending.drain(..end);
        kept
    }
}
