//! Statistics of few repetitions: exact tests, intervals and power, as pure functions of counts and values.
//!
//! [`regression`](crate::regression) decides with them, [`score`](crate::score) reports them.

mod binomial;
pub(crate) mod boschloo;
mod equivalence;
mod fisher;
pub(crate) mod holm;
mod interval;
pub(crate) mod logarithms;
mod mann_whitney;
mod normal;
mod pass_k;
mod permutation;
mod power;
mod relabelled;
mod share;
mod sign_flip;

pub use boschloo::{boschloo, boschloo_given_variation};
pub use equivalence::MarginVerdict;
pub use fisher::fisher;
pub(crate) use interval::newcombe;
pub use interval::{Interval, wilson};
pub(crate) use logarithms::count;
pub use mann_whitney::{MannWhitney, mann_whitney};
pub(crate) use pass_k::pass_curve;
pub use permutation::{Pair, permutation};
pub use power::{MOST_REPLICAS, POWER, power, replicas_for_drop, replicas_to_tell};
pub use relabelled::Relabelled;
pub use share::Share;
pub use sign_flip::sign_flip;
