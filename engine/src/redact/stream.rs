//! Takes values out of a stream, also where they arrive in pieces.

use std::collections::BTreeMap;

use super::Redactor;

/// Takes values out of a stream, also where they arrive in pieces.
#[derive(Debug)]
pub(crate) struct StreamRedactor {
    redactor: Redactor,
    pending: Vec<u8>,
    found: BTreeMap<String, u64>,
}

impl StreamRedactor {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, pending: Vec::new(), found: BTreeMap::new() }
    }

    /// Takes a piece, and returns what is safe by now.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        // A value that begins later than this may go on in the next piece.
        let safe = self.pending.len().saturating_sub(self.redactor.longest().saturating_sub(1));
        self.settle(safe)
    }

    /// What is left.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.settle(self.pending.len())
    }

    /// How often each secret was found.
    pub(crate) fn found(&self) -> Vec<(String, u64)> {
        self.found.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// Takes out the values that begin before `safe`, and returns what comes before the first that may.
    fn settle(&mut self, safe: usize) -> Vec<u8> {
        let mut kept = Vec::new();
        let mut done = 0;
        while let Some(found) = self.redactor.next_in(&self.pending, done).filter(|found| found.range.start < safe) {
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
