//! One file for each command.

pub(crate) mod artifacts;
pub(crate) mod cancel;
pub(crate) mod ci;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod confine;
pub(crate) mod contract;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod gc;
pub(crate) mod health;
pub(crate) mod images;
pub(crate) mod init;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod plan;
pub(crate) mod rerun;
pub(crate) mod rescore;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod submit;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod try_one;
pub(crate) mod validate;
pub(crate) mod watch;
pub(crate) mod worker;

pub(crate) use run::read_specs;
