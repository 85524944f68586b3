//! The domain of Touchstone, pure: no I/O, no clock, no runtime.
//!
//! A spec is read ([`spec`]) and expanded into scenarios ([`plan`]). What is observed of a scenario ([`evidence`]) is
//! judged ([`checks`], [`forbidden`]), scored ([`score`], [`metric`], [`statistics`]), compared with what was before ([`regression`]) and shown ([`report`]). Several specs with common bars are a suite ([`suite`]): what of a list of abilities it shows is its [`coverage`], and what running it costs a [`forecast`].
//! Every step is a function from data to data, so a stored experiment can be judged again and two workers cannot
//! disagree.
//!
//! The words are those of `ARCHITECTURE.md`.

pub mod address;
pub mod alert;
pub mod baseline;
pub mod cassette;
pub mod certificate;
mod chance;
pub mod chaos;
pub mod checks;
mod count_noun;
pub mod coverage;
mod demand;
pub mod dialect;
pub mod event;
pub mod evidence;
pub mod flaky;
pub mod forbidden;
pub mod forecast;
mod format_duration;
pub mod import;
pub mod interactive;
pub mod intervention;
mod json_path;
pub mod judge_calibration;
pub mod metric;
pub mod plan;
pub mod quarantine;
pub mod regression;
pub mod replay;
pub mod report;
pub mod result;
pub mod score;
mod seed;
pub mod spec;
pub mod statistics;
pub mod suite;
pub mod tool_session;
pub mod trace;
pub mod verdict;

pub use count_noun::{count_noun, count_noun_as};
pub use demand::Demand;
pub use format_duration::format_duration;
pub use yaml_tree::hex::hex;
pub use yaml_tree::{number, untrusted};
