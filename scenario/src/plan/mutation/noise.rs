//! `noise`: signs and words that do not belong there.

use crate::plan::Chance;

const SIGNS: [char; 14] = ['#', '@', '*', '~', '^', '|', '_', '=', '+', '%', ';', '!', '?', '.'];
const FILLERS: [&str; 10] =
    ["um,", "uh,", "er…", "like,", "you know,", "hmm,", "I mean,", "well,", "basically,", "so,"];
const SCRAPS: [&str; 8] = ["asdf", "qwerty", "lorem", "xx", "::", "--->", "(sent from my phone)", "re: fwd:"];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    match way % 3 {
        0 => with_signs(prompt, chance),
        1 => with_fillers(prompt, chance),
        _ => between_scraps(prompt, chance),
    }
}

/// One sign for about every eight characters.
fn with_signs(prompt: &str, chance: &mut Chance) -> String {
    let mut characters: Vec<char> = prompt.chars().collect();
    for _ in 0..=characters.len() / 8 {
        let at = chance.below(characters.len() + 1);
        characters.insert(at, chance.pick(&SIGNS).copied().unwrap_or('#'));
    }
    characters.into_iter().collect()
}

/// One filler for about every five words.
fn with_fillers(prompt: &str, chance: &mut Chance) -> String {
    let mut words: Vec<&str> = prompt.split(' ').collect();
    for _ in 0..=words.len() / 5 {
        let at = chance.below(words.len() + 1);
        words.insert(at, chance.pick(&FILLERS).copied().unwrap_or_default());
    }
    words.join(" ")
}

fn between_scraps(prompt: &str, chance: &mut Chance) -> String {
    let mut scrap = || chance.pick(&SCRAPS).copied().unwrap_or_default();
    let (before, after) = (scrap(), scrap());
    format!("{before} {prompt} {after}")
}
