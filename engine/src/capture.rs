//! Keeps the beginning and the end of what a process prints, with secrets replaced.

use std::collections::VecDeque;

use gateways::redact::{Redactor, StreamRedactor};
use scenario::evidence::Captured;

/// Length of a check's output that is kept at each end.
pub(crate) const CHECK_BYTES: usize = 64 * 1024;
/// Length of the agent's output that is kept at each end.
pub(crate) const AGENT_BYTES: usize = 512 * 1024;

/// Output of a process, so far.
#[derive(Debug)]
pub(crate) struct Capture {
    most: usize,
    redactor: StreamRedactor,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    /// Number of bytes that were printed, before anything was replaced.
    printed: u64,
}

impl Capture {
    /// Keeps `most` bytes at each end.
    pub(crate) fn new(most: usize, redactor: &Redactor) -> Self {
        let redactor = redactor.stream();
        Self { most, redactor, head: Vec::new(), tail: VecDeque::new(), dropped: 0, printed: 0 }
    }

    /// Takes what was printed.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.printed += bytes.len() as u64;
        let safe = self.redactor.take(bytes);
        self.keep(&safe);
    }

    /// Returns the number of bytes that were printed.
    pub(crate) fn printed(&self) -> u64 {
        self.printed
    }

    /// Returns the output that was kept until now, without its last bytes if they may be the beginning of a secret.
    pub(crate) fn so_far(&self) -> Captured {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.dropped == 0 {
            let all: Vec<u8> = self.head.iter().copied().chain(tail).collect();
            return Captured { head: text(&all), tail: None, dropped_bytes: 0 };
        }
        Captured { head: text(&self.head), tail: Some(text(&tail)), dropped_bytes: self.dropped }
    }

    /// Returns the output that was kept, and the number of times that each secret was in it.
    pub(crate) fn finish(mut self) -> (Captured, Vec<(String, u64)>) {
        let rest = self.redactor.finish();
        self.keep(&rest);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let found = self.redactor.found();
        if self.dropped == 0 {
            let all: Vec<u8> = self.head.into_iter().chain(self.tail).collect();
            return (Captured { head: text(&all), tail: None, dropped_bytes: 0 }, found);
        }
        let tail: Vec<u8> = self.tail.into();
        (Captured { head: text(&self.head), tail: Some(text(&tail)), dropped_bytes: self.dropped }, found)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.most.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of a long piece only its end can be among the last bytes.
        let kept = &rest[rest.len().saturating_sub(self.most)..];
        self.dropped += (rest.len() - kept.len()) as u64;
        self.tail.extend(kept);
        let excess = self.tail.len().saturating_sub(self.most);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Capture;
    use gateways::redact::Redactor;

    fn captured(pieces: &[Vec<u8>], most: usize) -> scenario::evidence::Captured {
        let mut capture = Capture::new(most, &Redactor::default());
        for piece in pieces {
            capture.take(piece);
        }
        capture.finish().0
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let kept = captured(&[b"abcdef".to_vec(), b"ghijkl".to_vec()], 3);
        assert_eq!((kept.head.as_str(), kept.tail.as_deref(), kept.dropped_bytes), ("abc", Some("jkl"), 6));
    }

    proptest! {
        #[test]
        fn no_half_of_a_secret_is_left_at_a_cut(before in 0usize..40, after in 0usize..40, piece in 1usize..9, most in 1usize..30) {
            let secrets = [("K".to_owned(), "#1234567890%".to_owned())].into();
            let mut capture = Capture::new(most, &Redactor::new(&secrets, "k"));
            let printed = format!("{}#1234567890%{}", "x".repeat(before), "y".repeat(after));
            printed.as_bytes().chunks(piece).for_each(|piece| capture.take(piece));
            let (kept, found) = capture.finish();
            prop_assert!(!kept.text().replace("bytes dropped", "").contains(|letter: char| "#%".contains(letter)), "{kept:?}");
            prop_assert_eq!(found, [("K".to_owned(), 1)]);
        }

        #[test]
        fn nothing_is_lost_without_being_counted(pieces: Vec<Vec<u8>>, most in 1usize..50) {
            let pieces: Vec<Vec<u8>> = pieces.into_iter().map(|piece| piece.iter().map(|byte| byte % 26 + b'a').collect()).collect();
            let whole = pieces.concat();
            let kept = captured(&pieces, most);
            let tail = kept.tail.clone().unwrap_or_default();
            prop_assert_eq!(kept.head.len() + tail.len() + usize::try_from(kept.dropped_bytes).expect("small"), whole.len());
            prop_assert!(whole.starts_with(kept.head.as_bytes()) && whole.ends_with(tail.as_bytes()));
        }
    }
}
