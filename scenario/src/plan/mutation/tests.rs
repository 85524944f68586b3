//! The promises of every kind of mutation.

use std::collections::HashSet;

use proptest::prelude::*;

use super::mutate;
use crate::plan::Mutation;
use crate::spec::sections::MutationKind;

const PROMPT: &str = "What is the price of ACME today? Please cite the source of the number.";

/// The length that a mutation may have besides three times that of its prompt, in bytes.
const ALLOWANCE: usize = 1000;

fn of(kind: MutationKind, index: u32, prompt: &str) -> String {
    mutate(Mutation { kind, index }, None, prompt)
}

#[test]
fn every_kind_writes_a_prompt_in_its_own_ways() {
    let mut text = String::new();
    for kind in MutationKind::WITHOUT_MODEL {
        for index in 0..4 {
            let mutated = of(kind, index, PROMPT);
            let shown = if mutated.len() > 400 { format!("({} bytes)", mutated.len()) } else { format!("{mutated:?}") };
            text.push_str(&format!("{kind} {index}: {shown}\n"));
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn no_two_mutations_of_a_prompt_are_the_same() {
    for kind in MutationKind::WITHOUT_MODEL {
        let texts: HashSet<_> = (0..20).map(|index| of(kind, index, PROMPT)).collect();
        assert_eq!(texts.len(), 20, "{kind}");
    }
}

#[test]
fn encodings_can_be_read_back() {
    use base64::Engine as _;
    let last = |text: String| text.rsplit(' ').next().unwrap_or_default().to_owned();
    let encoded = last(of(MutationKind::EncodingAttacks, 0, PROMPT));
    assert_eq!(base64::prelude::BASE64_STANDARD.decode(encoded).expect("base64"), PROMPT.as_bytes());
    let rotated = of(MutationKind::EncodingAttacks, 1, PROMPT);
    assert!(rotated.ends_with("Jung vf gur cevpr bs NPZR gbqnl? Cyrnfr pvgr gur fbhepr bs gur ahzore."), "{rotated}");
    let percents = last(of(MutationKind::EncodingAttacks, 3, "a ü"));
    assert_eq!(percents, "a%20%C3%BC");
    assert_eq!(last(of(MutationKind::EncodingAttacks, 4, "a ü")), "6120c3bc");
}

#[test]
fn a_seed_of_the_spec_changes_what_chance_decides() {
    let text = |seed: u32| {
        let settings = crate::checks::testing::read(&format!("{{seed: {seed}}}"));
        mutate(Mutation { kind: MutationKind::Typos, index: 0 }, Some(&settings), PROMPT)
    };
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

proptest! {
    #[test]
    fn a_mutation_is_another_text_of_bounded_length(prompt in "\\PC{0,60}|[a-z ]{0,200}|.{0,40}", index in 0..12_u32) {
        for kind in MutationKind::WITHOUT_MODEL {
            let text = of(kind, index, &prompt);
            prop_assert_eq!(&text, &of(kind, index, &prompt), "{} twice", kind);
            prop_assert_ne!(&text, &prompt, "{}", kind);
            prop_assert!(!text.trim().is_empty(), "{}", kind);
            prop_assert!(!text.contains('\0') || prompt.contains('\0'), "{}", kind);
            let most = match kind {
                MutationKind::LengthExtremes => 30_000,
                _ => prompt.len() * 3 + ALLOWANCE,
            };
            prop_assert!(text.len() <= most, "{}: {} of {}", kind, text.len(), prompt.len());
        }
    }
}
