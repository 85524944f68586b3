//! Files to types: one file for each part of the language, which collects every problem on its way.
//!
//! A part is a type and a function `read` beside it. To add a field: a field of the type, its name in the list of
//! known fields, and a line that reads it.

pub(crate) mod aggregate;
pub(crate) mod checkpoint;
pub(crate) mod envelope;
pub(crate) mod limits;
pub(crate) mod outcome;
pub(crate) mod phases;
pub(crate) mod policy;
pub(crate) mod precondition;
pub(crate) mod provider;
pub(crate) mod response_format;
pub(crate) mod rule;
pub(crate) mod session;
pub(crate) mod tool;
pub(crate) mod workflow;
