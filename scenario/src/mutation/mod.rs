//! Other ways to write a prompt. The same prompt always has the same mutations.

use crate::plan::{Mutation, Seed};
use crate::spec::sections::Mutations;

/// The prompt as a mutation writes it.
#[must_use]
pub fn mutate(mutation: Mutation, settings: Option<&Mutations>, prompt: &str) -> String {
    let chosen = settings.map_or(0, |settings| settings.seed.get());
    let Mutation { kind, index } = mutation;
    let seed = Seed::of(prompt.as_bytes()).derive(&[kind.word(), &index.to_string(), &chosen.to_string()]);
    format!("{prompt} {}", seed.get() % 10)
}
