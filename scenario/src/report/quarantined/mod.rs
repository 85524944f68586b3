//! Applies a quarantine to reports.
//!
//! [`QuarantineList::judge`](crate::quarantine::QuarantineList::judge) marks what is excused and says what became of each entry;
//! [`exit_code`] is that of a report without what is excused; and
//! [`QuarantineList::gated`](crate::quarantine::QuarantineList::gated) leaves of reports what a gate compares.

mod excuse;
mod gate;
#[cfg(test)]
mod tests;

pub use gate::exit_code;
pub(super) use gate::is_excused;
