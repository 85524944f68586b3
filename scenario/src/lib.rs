//! The domain of Touchstone, pure: no I/O, no clock, no runtime.
//!
//! A spec is read ([`spec`]) and expanded into scenarios ([`plan`]). What is observed of a scenario ([`evidence`]) is
//! judged ([`checks`], [`forbidden`]), scored ([`score`]), compared with what was before ([`drift`]) and shown ([`report`]). Every
//! step is a function from data to data, so a stored experiment can be judged again and two workers cannot
//! disagree.
//!
//! The words are those of `ARCHITECTURE.md`.

pub mod address;
pub mod alert;
pub mod cassette;
pub mod checks;
mod counted;
pub mod drift;
pub mod evidence;
pub mod forbidden;
pub mod interactive;
pub mod number;
pub mod plan;
pub mod report;
pub mod result;
pub mod score;
pub mod spec;
mod took;
pub mod trace;
pub mod untrusted;
pub mod verdict;

pub use counted::{counted, counted_as};
pub use took::took;
