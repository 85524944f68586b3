//! The requests that a mock got.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::fault::FaultMark;
use super::marker::{SecretForm, decoded};

/// The requests that a recording mock got, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Journal {
    /// Each request, up to the number that is kept.
    pub exchanges: Vec<Exchange>,
    /// Later requests, as counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
}

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The method, in upper case.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query's parameters, decoded, in their order.
    #[serde(default)]
    pub query: Vec<(String, String)>,
    /// The headers, with names in lower case, in their order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    pub body: Body,
    /// The status of the answer.
    #[serde(default)]
    pub status: u16,
    /// Time of the request, in milliseconds since the agent started.
    #[serde(default)]
    pub at_ms: u64,
    /// The fault that hit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultMark>,
    /// The rest of the answer, as it was sent; `None` in evidence that was written before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answered>,
}

/// An answer as it was sent, without its status.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answered {
    /// The headers, with names in lower case, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    pub body: Body,
    /// The delay before it was sent.
    #[serde(default)]
    pub delay_ms: u64,
    /// The number of bytes of the body after which it broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_after: Option<u64>,
    /// True when it never reached the client, whose connection ended instead.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub lost: bool,
}

/// The body of a request, as far as it was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// All of it.
    Kept(Blob),
    /// Its beginning, because it was too large.
    Cut {
        /// The part that was kept.
        kept: Blob,
        /// The original size.
        size: u64,
        /// The SHA-256 of all of it, in hex.
        sha256: String,
    },
    /// Nothing, because the journal was full.
    Dropped {
        /// The original size.
        size: u64,
    },
}

impl Default for Body {
    fn default() -> Self {
        Self::Kept(Blob::default())
    }
}

/// Requests that were only counted, by method and path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Overflow {
    /// The counts; each pair of method and path stands once.
    pub counts: Vec<OverflowCount>,
}

/// Number of requests of one kind that were only counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverflowCount {
    /// The method, in upper case.
    pub method: String,
    /// The path; `None` for all paths beyond the number of paths that are counted separately.
    pub path: Option<String>,
    /// The number.
    pub count: u64,
}

impl Overflow {
    /// Returns the total number.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |total, counted| total.saturating_add(counted.count))
    }
}

impl Journal {
    /// The requests that reached the service: all but those which a fault kept from it.
    pub fn reached(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|exchange| exchange.has_reached())
    }
}

impl Exchange {
    /// True when it reached the service. A request that a fault answered in its place did not.
    #[must_use]
    pub fn has_reached(&self) -> bool {
        self.fault.as_ref().is_none_or(|fault| fault.reached)
    }

    /// The value of a header; the first when there are several.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The path, in which a secret that is percent-encoded is the secret.
    #[must_use]
    pub fn plain_path(&self) -> Cow<'_, str> {
        decoded(&self.path, &[SecretForm::Url])
    }

    /// The body, unless a part of it is missing.
    #[must_use]
    pub fn whole_body(&self) -> Option<&Blob> {
        match &self.body {
            Body::Kept(blob) => Some(blob),
            Body::Cut { .. } | Body::Dropped { .. } => None,
        }
    }
}
