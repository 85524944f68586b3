//! How many of how many.

use std::fmt;

use serde::Serialize;

use super::logarithms::count;

/// How many of those that were judged passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Share {
    /// How many passed.
    pub passed: usize,
    /// How many were judged.
    pub judged: usize,
}

impl Share {
    /// One more, which passed or did not.
    pub(crate) fn add(&mut self, passed: bool) {
        self.passed += usize::from(passed);
        self.judged += 1;
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, judged: self.judged + other.judged }
    }

    /// Whether there is any, and all passed.
    pub(crate) fn is_all(self) -> bool {
        self.judged > 0 && self.passed == self.judged
    }

    /// Whether there is any, and none passed.
    pub(crate) fn is_none(self) -> bool {
        self.judged > 0 && self.passed == 0
    }

    /// The part that passed; 0 of none.
    pub(crate) fn rate(self) -> f64 {
        count(self.passed) / count(self.judged.max(1))
    }

    /// Whether a smaller share passed than of the other.
    pub(crate) fn is_below(self, other: Self) -> bool {
        self.passed * other.judged < other.passed * self.judged
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.passed, self.judged)
    }
}
