//! The trigger of a fault: which of the calls that a rule matches are faulted.

use crate::spec::section::section;
use crate::spec::types::{Fraction, Many, Timespan, Whole};

/// The number of a call, or a count of calls.
type Calls = Whole<1, 1_000_000>;

section! {
    /// Which of the calls that a rule matches are faulted: those for which everything that is given holds, and all of them when
    /// nothing is given. Calls are counted for each rule and scenario, from 1, in the order in which they come.
    pub struct Trigger {
        /// The share of calls that are faulted, chosen by the scenario's seed and the number of the call.
        probability: Option<Fraction>,
        /// How many calls pass before the first one can be faulted.
        after_calls: Whole<0, 1_000_000> = Whole::new(0),
        /// Exactly these calls.
        on_calls: Option<Many<Calls>>,
        /// How many calls are faulted at most.
        times: Option<Calls>,
        /// Every n-th call, counted after `after_calls`.
        every: Option<Calls>,
        /// Several calls in a row, again and again.
        burst: Option<Burst>,
        /// How long after the first fault of this rule others follow.
        lasting as "for": Option<Timespan>,
        /// The time since the agent started in which calls are faulted, as `[from, to]`.
        between: Option<Many<Timespan, 2>>,
    }
}

section! {
    /// Several faulted calls in a row, again and again: the first `length` of every `every` calls.
    pub struct Burst {
        /// How many calls in a row are faulted.
        length: Calls,
        /// After how many calls it begins again.
        every: Calls,
    }
}
