//! The runs of one chaos cell: those for the spec's own invariants, and those for the rules of its contract. Besides them, the
//! runs of mutations and of replays.

use super::purpose::{Mutation, Purpose, Replay};
use crate::spec::Spec;
use crate::spec::sections::{Contract, ContractInvariant, Isolation};

/// Runs of a chaos cell that differ in nothing but their replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Their purpose.
    pub(super) purpose: Purpose,
    /// The index of the prompt, where there are several.
    pub(super) prompt: Option<u32>,
    /// Their number.
    pub(super) replicas: usize,
}

/// Returns the runs of the chaos cell with this name. `replicas` overrides the number in the spec.
pub(super) fn parts(spec: &Spec, chaos: &str, replicas: Option<usize>) -> Vec<Part> {
    let faults = spec.chaos_of(chaos);
    let contract = spec.contract.as_ref();
    let is_active = |invariant: &&ContractInvariant| invariant.rule.when.holds_in(&faults);
    let rules: Vec<_> = contract.iter().flat_map(|contract| contract.invariants.iter()).filter(is_active).collect();
    let (shared, alone): (Vec<_>, Vec<_>) =
        rules.into_iter().partition(|invariant| contract.is_some_and(|contract| is_shared(contract, invariant)));
    let trials = contract.map_or(1, |contract| contract.repeat.count());
    let own = spec.parallelism.replicas.count();
    let together = match (spec.invariants.is_empty(), shared.is_empty()) {
        (true, true) => None,
        (true, false) => Some(trials),
        (false, true) => Some(own),
        (false, false) => Some(own.max(trials)),
    };
    let is_reuse = contract.is_some_and(|contract| contract.isolation == Isolation::Reuse);
    // A sandbox that is reused sees all prompts.
    let prompts = spec.task.several().filter(|_| !is_reuse);
    let everything = together.map(|count| (Purpose::Everything, prompts, count));
    let of_rules = alone.into_iter().map(|invariant| {
        let prompts = invariant.rule.probes.as_ref().map(|probes| probes.len()).or_else(|| spec.task.several());
        (Purpose::Invariant(invariant.rule.id.to_string()), prompts, trials)
    });
    let runs = everything.into_iter().chain(of_rules);
    runs.flat_map(|(purpose, prompts, count)| {
        let part = move |prompt| Part { purpose: purpose.clone(), prompt, replicas: replicas.unwrap_or(count) };
        prompts_of(prompts).into_iter().map(part)
    })
    .collect()
}

/// The runs of the spec's mutations.
pub(super) fn mutations(spec: &Spec, replicas: Option<usize>) -> Vec<Part> {
    let counts = spec.mutations.iter().flat_map(|mutations| mutations.counts());
    let kinds = counts.flat_map(|(kind, count)| (0..count).map(move |index| Mutation { kind, index }));
    let of_prompts = |mutation| {
        let part = move |prompt| Part { purpose: Purpose::Mutation(mutation), prompt, replicas: replicas.unwrap_or(1) };
        prompts_of(spec.task.several()).into_iter().map(part)
    };
    kinds.flat_map(of_prompts).collect()
}

/// The runs of recorded sessions.
pub(super) fn replays<'a>(
    spec: &Spec,
    sessions: impl IntoIterator<Item = &'a Replay>,
    replicas: Option<usize>,
) -> Vec<Part> {
    let count = replicas.unwrap_or_else(|| spec.parallelism.replicas.count());
    let part = |replay: &Replay| Part { purpose: Purpose::Replay(replay.clone()), prompt: None, replicas: count };
    sessions.into_iter().map(part).collect()
}

/// Returns true if a rule is judged on the run of its chaos cell.
pub(super) fn is_shared(contract: &Contract, invariant: &ContractInvariant) -> bool {
    match contract.isolation {
        Isolation::Cell => false,
        Isolation::Scenario => invariant.rule.probes.is_none(),
        Isolation::Reuse => true,
    }
}

/// The indices of several prompts, or that there is only one.
pub(super) fn prompts_of(several: Option<usize>) -> Vec<Option<u32>> {
    match several {
        Some(count) => (0..u32::try_from(count).unwrap_or(u32::MAX)).map(Some).collect(),
        None => vec![None],
    }
}
