//! One file for each command.

pub(crate) mod confine;
pub(crate) mod explain;
pub(crate) mod images;
pub(crate) mod init;
pub(crate) mod plan;
pub(crate) mod schema;
pub(crate) mod try_one;
pub(crate) mod validate;
