//! The one YAML reader of Touchstone, pure: a text becomes a tree with positions, or every problem with its place.
//!
//! The tree is built from parser events, because serde stops at the first error and loses the place of a value inside a
//! tagged enum. [`parse`](fn@parse) gives a [`Node`], bounded against hostile input ([`Limits`]); specs and tool
//! contracts are read from it. Beside it are the tools that every reader needs to speak about such a text: [`number`]s
//! as they were written, [`path`]s, the [`nearest`] known word, and untrusted text made safe to show ([`untrusted`]).

pub mod hex;
pub mod nearest;
mod node;
pub mod number;
mod parse;
pub mod path;
mod problem;
mod tabs;
#[cfg(test)]
mod tests;
pub mod untrusted;

pub use node::{Entry, Kind, Node, Span, shorten};
pub use parse::{Limits, parse};
pub use problem::{Problem, ProblemKind};
