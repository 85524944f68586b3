//! Text without its line breaks: encoders break long lines, and a value that is broken is found as a whole again.

/// A longer break separates texts.
const LONGEST_BREAK: usize = 64;
/// Line breaks, also where it is escaped in JSON or in a URL, or soft as in mails.
const BREAKS: [&[u8]; 9] = [b"\n", b"\r", b"\\n", b"\\r", b"%0A", b"%0a", b"%0D", b"%0d", b"=\n"];

/// Text without its line breaks, and where they were.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    pub(super) text: Vec<u8>,
    /// Breaks: the length of text before each, and the number of bytes of all breaks up to it that were left out.
    breaks: Vec<(usize, usize)>,
}

impl Unwrapped {
    /// Leaves the line breaks of a text out; `None` when it has none.
    pub(super) fn of(raw: &[u8]) -> Option<Self> {
        memchr::memchr3(b'\n', b'\r', b'\\', raw).or_else(|| memchr::memmem::find(raw, b"%0"))?;
        let mut unwrapped = Self { text: Vec::with_capacity(raw.len()), breaks: Vec::new() };
        let mut at = 0;
        while let Some(found) = next_break(raw, at) {
            unwrapped.text.extend_from_slice(&raw[at..found]);
            let length = break_length(&raw[found..]);
            if length > LONGEST_BREAK {
                unwrapped.text.extend_from_slice(&raw[found..found + length]);
            } else {
                unwrapped.breaks.push((unwrapped.text.len(), found + length - unwrapped.text.len()));
            }
            at = found + length;
        }
        unwrapped.text.extend_from_slice(&raw[at..]);
        (!unwrapped.breaks.is_empty()).then_some(unwrapped)
    }

    /// Returns the place of a byte of the text in the raw one.
    pub(super) fn raw_start(&self, at: usize) -> usize {
        let before = self.breaks.partition_point(|(place, _)| *place <= at);
        at + self.removed(before)
    }

    /// Returns the end, in the raw text, of a part that ends before this byte of the text.
    pub(super) fn raw_end(&self, at: usize) -> usize {
        let before = self.breaks.partition_point(|(place, _)| *place < at);
        at + self.removed(before)
    }

    /// The first byte of the text that stands at or after a place in the raw one.
    pub(super) fn position(&self, raw: usize) -> usize {
        let before = self.breaks.partition_point(|(place, removed)| place + removed <= raw);
        let next = self.breaks.get(before).map_or(usize::MAX, |(place, _)| *place);
        raw.saturating_sub(self.removed(before)).min(next)
    }

    fn removed(&self, breaks: usize) -> usize {
        breaks.checked_sub(1).and_then(|last| self.breaks.get(last)).map_or(0, |(_, removed)| *removed)
    }
}

/// Finds the next break.
fn next_break(raw: &[u8], from: usize) -> Option<usize> {
    let is_break = |at: &usize| breaks_at(&raw[*at..]).is_some();
    (from..raw.len()).filter(|at| matches!(raw[*at], b'\n' | b'\r' | b'\\' | b'%' | b'=')).find(is_break)
}

fn breaks_at(raw: &[u8]) -> Option<usize> {
    BREAKS.iter().find(|one| raw.starts_with(one)).map(|one| one.len())
}

/// Measures the breaks at the beginning, with the blanks behind them.
fn break_length(raw: &[u8]) -> usize {
    let mut length = 0;
    while let Some(one) = breaks_at(&raw[length..]) {
        length += one;
    }
    length + raw[length..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

#[cfg(test)]
mod tests {
    use super::Unwrapped;

    #[test]
    fn breaks_are_left_out_and_places_are_known() {
        let raw = b"ab\ncd\r\n  ef\\ngh%0D%0Aij";
        let unwrapped = Unwrapped::of(raw).expect("breaks");
        assert_eq!(unwrapped.text, b"abcdefghij");
        for (at, letter) in unwrapped.text.iter().enumerate() {
            assert_eq!(raw[unwrapped.raw_start(at)], *letter, "{at}");
            assert_eq!(raw[unwrapped.raw_end(at + 1) - 1], *letter, "{at}");
            assert_eq!(unwrapped.position(unwrapped.raw_start(at)), at, "{at}");
        }
        // Inside a break, the next letter is meant.
        assert_eq!((unwrapped.position(2), unwrapped.position(6), unwrapped.position(8)), (2, 4, 4));
        assert!(Unwrapped::of(b"one line").is_none());
        assert!(Unwrapped::of(&[b"a", "\n".repeat(65).as_bytes(), b"b"].concat()).is_none());
    }
}
