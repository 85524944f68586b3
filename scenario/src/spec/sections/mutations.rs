//! `mutations`: the task's prompts, written in other ways.

use crate::spec::section::{choice, section};
use crate::spec::types::{Fraction, Many, Whole};

section! {
    /// Other ways to write the task's prompts. The agent is run once for each of them, in a world without faults. A mutation
    /// passes when the agent ends well and every invariant about its output holds: those of `invariants`, and those rules of the
    /// contract that have no `probes` and are judged without faults.
    ///
    /// The result is the robustness, from 0 to 1: the weights of the mutations that passed, divided by those of all that were
    /// judged. The same prompt always has the same mutations.
    ///
    /// ```yaml
    /// mutations:
    ///   count: 6
    ///   types: [typos, case, prompt_injection]
    ///   min_robustness: 0.8
    /// ```
    pub struct Mutations {
        /// The number of mutations of each prompt, divided evenly among `types`; each type has at least one.
        count: Whole<1, 50> = Whole::new(10),
        /// The kinds of mutations; without it, all that need no model.
        types: Option<Many<MutationKind, 50>>,
        /// The robustness that the experiment needs. Without it mutations are reported, and fail nothing.
        min_robustness: Option<Fraction>,
        /// A number that changes what the mutations look like.
        seed: Whole<0, 1_000_000_000> = Whole::new(0),
    }
}

choice! {
    /// A way to write a prompt differently.
    pub enum MutationKind {
        /// Characters that do not belong there. Weight 0.8.
        Noise = "noise",
    }
}

impl Mutations {
    /// The kinds of mutations with the number of each, in the order of the spec.
    #[must_use]
    pub fn counts(&self) -> Vec<(MutationKind, u32)> {
        let all = MutationKind::WITHOUT_MODEL;
        let kinds: Vec<_> = self.types.as_ref().map_or_else(|| all.to_vec(), |types| types.iter().copied().collect());
        let count = usize::try_from(self.count.get()).unwrap_or(1);
        let (each, more) = (count / kinds.len().max(1), count % kinds.len().max(1));
        let share = |index: usize| u32::try_from((each + usize::from(index < more)).max(1)).unwrap_or(1);
        kinds.iter().enumerate().map(|(index, kind)| (*kind, share(index))).collect()
    }
}

impl MutationKind {
    /// The kinds that need no model.
    pub const WITHOUT_MODEL: [Self; 1] = [Self::Noise];

    /// The weight of a mutation in the robustness.
    #[must_use]
    pub fn weight(self) -> f64 {
        match self {
            Self::Noise => 0.8,
        }
    }
}
