//! `case`: capital and small letters where others belong.

use crate::plan::Chance;

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    match way {
        0 => prompt.to_uppercase(),
        1 => prompt.to_lowercase(),
        2 => each(prompt, |_, character| !character.is_uppercase()),
        3 => each(prompt, |at, _| at % 2 == 1),
        _ => each(prompt, |_, _| chance.below(2) == 0),
    }
}

/// Every letter as a capital or a small one.
fn each(prompt: &str, mut is_capital: impl FnMut(usize, char) -> bool) -> String {
    let mut text = String::with_capacity(prompt.len());
    for (at, character) in prompt.chars().enumerate() {
        match is_capital(at, character) {
            true => text.extend(character.to_uppercase()),
            false => text.extend(character.to_lowercase()),
        }
    }
    text
}
