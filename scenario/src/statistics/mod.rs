//! Statistics of few repetitions: exact tests, intervals and power, as pure functions of counts.
//!
//! [`regression`](crate::regression) decides with them, [`score`](crate::score) reports them.

mod agreement;
pub(crate) mod fisher;
pub(crate) mod holm;
mod interval;
pub(crate) mod logarithms;
mod pass_k;
mod power;
mod share;

pub use agreement::{Agreement, Confusion};
pub use fisher::chance_of_drop;
pub use interval::{Interval, wilson};
pub(crate) use logarithms::count;
pub(crate) use pass_k::pass_curve;
pub use power::{MOST_REPLICAS, POWER, replicas_to_tell};
pub use share::Share;
