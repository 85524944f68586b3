//! Output of a process, as far as it was kept.

use serde::{Deserialize, Serialize};

/// Output of a process. Of a long output the beginning and the end are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Captured {
    /// All of it, or its beginning.
    pub head: String,
    /// Its end, when something between was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// Number of bytes that were dropped between the two.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Captured {
    /// All that was kept, with a line that says what is missing.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.tail {
            Some(tail) => format!("{}\n[… {} bytes dropped …]\n{tail}", self.head, self.dropped_bytes),
            None => self.head.clone(),
        }
    }

    /// The last lines, at most `most` characters: where a failing program says why.
    #[must_use]
    pub fn last(&self, most: usize) -> String {
        let text = self.tail.as_deref().unwrap_or(&self.head).trim_end();
        let length = text.chars().count();
        if length <= most && self.tail.is_none() {
            return text.to_owned();
        }
        format!("…{}", text.chars().skip(length.saturating_sub(most)).collect::<String>())
    }

    /// Returns true if all of it was kept.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.tail.is_none() && self.dropped_bytes == 0
    }
}

impl From<&str> for Captured {
    fn from(text: &str) -> Self {
        Self { head: text.to_owned(), ..Self::default() }
    }
}
