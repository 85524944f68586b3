//! The values of one header of a recorded answer.

use serde::{Deserialize, Serialize};

/// The values of a header: a text, or a list where the answer had the header several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeaderValues {
    /// One value.
    One(String),
    /// Several values, in their order.
    Many(Vec<String>),
}

impl HeaderValues {
    /// The values.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }

    /// Adds a value behind the others.
    pub(super) fn push(&mut self, value: String) {
        match self {
            Self::One(first) => *self = Self::Many(vec![std::mem::take(first), value]),
            Self::Many(values) => values.push(value),
        }
    }
}
