//! Other ways to write a prompt. The same prompt always has the same mutations.
//!
//! Each file has one kind of mutation, as a function of the prompt, a *way* (kinds have several, taken in turn) and chance. To
//! add a kind: write its file, add its word and weight to `MutationKind`, and its row to `docs/mutations.md`.

mod case;
mod context_manipulation;
mod custom;
mod encoding_attacks;
mod format_poisoning;
mod homoglyphs;
mod language_mixing;
mod length_extremes;
mod model_written;
mod multi_turn_attack;
mod noise;
mod phrases;
mod prompt_injection;
mod temporal_attack;
mod typos;
mod whitespace;

pub(super) use custom::from_template;
pub use model_written::{PromptRequest, prompt_request, usable_text};

use crate::plan::{Chance, Mutation, Seed};
use crate::spec::sections::{MutationKind, Mutations};

/// The number of tries to find a text that is neither the prompt nor a mutation that came before.
const TRIES: usize = 12;

/// The prompt as a mutation writes it: never as it was, and never empty. One that a model writes is not known here, and is the
/// prompt itself, as is one that a template of the spec writes ([`from_template`]).
pub(super) fn mutate(mutation: Mutation, settings: Option<&Mutations>, prompt: &str) -> String {
    if mutation.kind.needs_model() || mutation.kind == MutationKind::Custom {
        return prompt.to_owned();
    }
    let seed = seed_of(mutation.kind, settings, prompt);
    // No two mutations of a kind are the same, so that each depends on those before it.
    let mut texts: Vec<String> = Vec::new();
    for index in 0..=usize::try_from(mutation.index).unwrap_or(0) {
        let text = another(mutation.kind, index, seed, prompt, &texts);
        texts.push(text);
    }
    texts.pop().unwrap_or_default()
}

/// The seed of all mutations of a kind.
fn seed_of(kind: MutationKind, settings: Option<&Mutations>, prompt: &str) -> Seed {
    let chosen = settings.map_or(0, |settings| settings.seed.get()).to_string();
    Seed::of(prompt.as_bytes()).derive(&[kind.word(), &chosen])
}

/// The mutation with this index, after those before it.
fn another(kind: MutationKind, index: usize, seed: Seed, prompt: &str, before: &[String]) -> String {
    let is_new = |text: &String| text != prompt && !text.trim().is_empty() && !before.contains(text);
    let attempt = |attempt: usize| {
        let mut chance = Chance::new(seed.derive(&[&index.to_string(), &attempt.to_string()]));
        written(kind, prompt, index + attempt, &mut chance)
    };
    // A prompt of a single sign has few other ways to be written.
    let last = || format!("{prompt} {}", "?".repeat(index + 1));
    (0..TRIES).map(attempt).find(is_new).unwrap_or_else(last)
}

fn written(kind: MutationKind, prompt: &str, way: usize, chance: &mut Chance) -> String {
    let write = match kind {
        MutationKind::Noise => noise::write,
        MutationKind::Typos => typos::write,
        MutationKind::Case => case::write,
        MutationKind::Homoglyphs => homoglyphs::write,
        MutationKind::EncodingAttacks => encoding_attacks::write,
        MutationKind::LengthExtremes => length_extremes::write,
        MutationKind::Whitespace => whitespace::write,
        MutationKind::FormatPoisoning => format_poisoning::write,
        MutationKind::PromptInjection => prompt_injection::write,
        MutationKind::LanguageMixing => language_mixing::write,
        MutationKind::MultiTurnAttack => multi_turn_attack::write,
        MutationKind::ContextManipulation => context_manipulation::write,
        MutationKind::TemporalAttack => temporal_attack::write,
        MutationKind::Custom
        | MutationKind::Paraphrase
        | MutationKind::ToneShift
        | MutationKind::SemanticSimilarityAttack
        | MutationKind::AdvancedJailbreak => return prompt.to_owned(),
    };
    write(prompt, way, chance)
}

#[cfg(test)]
mod tests;
