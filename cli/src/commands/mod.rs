//! One file for each command.

pub(crate) mod cancel;
pub(crate) mod confine;
pub(crate) mod explain;
pub(crate) mod gc;
pub(crate) mod images;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod rerun;
pub(crate) mod rescore;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod try_one;
pub(crate) mod validate;
