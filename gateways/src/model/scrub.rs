//! Takes the upstream's key out of passing bytes, also where it comes in pieces.

use memchr::memmem;

/// Mark in the place of the key.
const MARK: &[u8] = b"[redacted]";

/// Takes one value out of a stream. It holds back only bytes that may be the beginning of the value.
#[derive(Debug)]
pub(super) struct Scrubber {
    value: Vec<u8>,
    held: Vec<u8>,
}

impl Scrubber {
    /// Takes this value out; an empty one, or none, leaves everything as it is.
    pub(super) fn new(value: Option<&str>) -> Self {
        Self { value: value.unwrap_or_default().as_bytes().to_vec(), held: Vec::new() }
    }

    /// Takes a part, and returns the bytes that may pass.
    pub(super) fn push(&mut self, part: &[u8]) -> Vec<u8> {
        if self.value.is_empty() {
            return part.to_vec();
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(part);
        let mut passed = Vec::with_capacity(text.len());
        let mut rest = text.as_slice();
        while let Some(at) = memmem::find(rest, &self.value) {
            passed.extend_from_slice(&rest[..at]);
            passed.extend_from_slice(MARK);
            rest = &rest[at + self.value.len()..];
        }
        let longest = self.value.len().saturating_sub(1).min(rest.len());
        let held = (1..=longest).rev().find(|length| rest.ends_with(&self.value[..*length])).unwrap_or(0);
        let (safe, held) = rest.split_at(rest.len() - held);
        passed.extend_from_slice(safe);
        self.held = held.to_vec();
        passed
    }

    /// Returns the bytes that were held back, now that nothing follows.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Returns true if a text holds the value.
    pub(super) fn finds(&self, text: &[u8]) -> bool {
        !self.value.is_empty() && memmem::find(text, &self.value).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Scrubber;

    fn scrubbed(parts: &[&[u8]]) -> String {
        let mut scrubber = Scrubber::new(Some("s3cret-s3"));
        let mut passed: Vec<u8> = parts.iter().flat_map(|part| scrubber.push(part)).collect();
        passed.extend(scrubber.finish());
        String::from_utf8_lossy(&passed).into_owned()
    }

    #[test]
    fn only_what_may_be_the_value_is_held_back() {
        let mut scrubber = Scrubber::new(Some("s3cret"));
        assert_eq!(scrubber.push(b"data: x\n\n"), b"data: x\n\n");
        assert_eq!(scrubber.push(b"a s3"), b"a ");
        assert_eq!(scrubber.push(b"x"), b"s3x");
        assert_eq!(Scrubber::new(None).push(b"anything"), b"anything");
    }

    proptest! {
        #[test]
        fn the_value_never_passes_however_it_is_cut(words in prop::collection::vec("s3cret-s3|s3cret-|s3|cret|[a-z]{0,3}", 0..10), cut in 1usize..7) {
            let text = words.concat();
            let parts: Vec<_> = text.as_bytes().chunks(cut).collect();
            let passed = scrubbed(&parts);
            prop_assert!(!passed.contains("s3cret-s3"));
            prop_assert_eq!(passed, text.replace("s3cret-s3", "[redacted]"));
        }
    }
}
