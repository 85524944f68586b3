//! Breakages: ways to break a right answer. What no invariant notices of them, no invariant looks at.
//!
//! What the solution changed is known from a run that looks at everything ([`Breakage::Look`]): files, rows, requests, output. Each
//! breakage changes one thing of it after the agent has ended and before anything is looked at, so that whatever a check asks of
//! the world is answered by the broken world. What checks read from evidence alone is judged again without a sandbox.

mod find;
mod records;
mod row_text;
mod suggest;
#[cfg(test)]
mod tests;

use crate::plan::{Breakage, BrokenFile, BrokenRequest, BrokenRow, FileBreakage, RequestBreakage, RowBreakage};
pub use find::{breakages, chosen};
