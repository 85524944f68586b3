//! One file for each command.

pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod confine;
pub(crate) mod explain;
pub(crate) mod gc;
pub(crate) mod health;
pub(crate) mod images;
pub(crate) mod init;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod rerun;
pub(crate) mod rescore;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod try_one;
pub(crate) mod validate;
pub(crate) mod worker;
