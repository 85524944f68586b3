//! One file for each command.

pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod plan;
pub(crate) mod schema;
pub(crate) mod validate;
