//! Limits of the parts of an answer that are kept: an untrusted provider chooses its size.

/// Bounds of what is kept of a request or an answer. Whatever is beyond them is left out, and its bytes are still counted.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// The longest id, name, finish reason or error message.
    pub name_bytes: usize,
    /// The longest arguments of one call.
    pub arguments_bytes: usize,
    /// The most calls, and the most finish reasons.
    pub calls: usize,
    /// The longest texts, thoughts, results and unknown parts, all together. With 0, messages hold nothing but calls.
    pub text_bytes: usize,
    /// The largest event of a stream. A larger one ends the reading.
    pub event_bytes: usize,
}

impl ReadLimits {
    /// No bounds but those of the body itself, for bodies whose size was looked at before.
    pub const NONE: Self = Self {
        name_bytes: usize::MAX,
        arguments_bytes: usize::MAX,
        calls: usize::MAX,
        text_bytes: usize::MAX,
        event_bytes: usize::MAX,
    };
}

/// The beginning of a text, cut between characters.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
