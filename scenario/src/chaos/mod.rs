//! Faults as pure functions: which calls of a rule are faulted, and what becomes of an answer.
//!
//! A decision depends on the scenario's seed, the rule and the number of the call alone (and on the time, where a rule has
//! `for` or `between`), so that the same run again makes the same decisions. Gateways count calls and carry decisions out.

mod attack;
mod damage;
mod drift;
mod duplicate_rows;
mod recovery;
mod span;
mod trigger;

pub use attack::{Canary, PlantedFile, canaries, injected, is_planted, planted_files, poisoned_prompt, text_of};
pub use damage::{damaged, dropped, gibberish, resized, violated};
pub use drift::{broken_arguments, drifted};
pub use recovery::{duplicates, recoveries};
pub use span::{begins_at, ends_at};
pub use trigger::{Past, fires, jitter};
