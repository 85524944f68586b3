//! YAML text to a tree with positions, bounded against hostile input.
//!
//! The tree is built from parser events, because serde stops at the first error and loses the place of a value inside
//! a tagged enum. Everything above reads from [`Node`].

mod node;
mod parse;
mod tabs;
#[cfg(test)]
mod tests;

pub(crate) use node::shorten;
pub use node::{Entry, Kind, Node, Span};
pub use parse::{Limits, parse};
