//! `typos`: letters that were swapped, left out, doubled, or hit beside the right key.

use crate::plan::Chance;

/// The rows of a keyboard, on which neighbours are hit by mistake.
const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// One typo for about every twelve characters, in letters only.
pub(super) fn write(prompt: &str, _way: usize, chance: &mut Chance) -> String {
    let mut characters: Vec<char> = prompt.chars().collect();
    for _ in 0..=characters.len() / 12 {
        let letters: Vec<usize> = (0..characters.len()).filter(|at| characters[*at].is_alphabetic()).collect();
        let Some(at) = chance.pick(&letters).copied() else { break };
        mistype(&mut characters, at, chance);
    }
    characters.into_iter().collect()
}

fn mistype(characters: &mut Vec<char>, at: usize, chance: &mut Chance) {
    let letter = characters[at];
    let next = characters.get(at + 1).copied().filter(|next| next.is_alphabetic());
    match (chance.below(4), next) {
        (0, Some(_)) => characters.swap(at, at + 1),
        // A word of one letter would be gone.
        (1, Some(_)) => drop(characters.remove(at)),
        (2, _) => characters.insert(at, letter),
        _ => characters[at] = neighbour(letter, chance),
    }
}

/// A key beside that of a letter, in the same case. Letters that are on no key are doubled with a key of ours.
fn neighbour(letter: char, chance: &mut Chance) -> char {
    let small = letter.to_ascii_lowercase();
    let row = ROWS.iter().find(|row| row.contains(small)).copied().unwrap_or(ROWS[1]);
    let keys: Vec<char> = row.chars().collect();
    let key = match keys.iter().position(|key| *key == small) {
        Some(0) => keys[1],
        Some(at) if at + 1 == keys.len() || chance.below(2) == 0 => keys[at - 1],
        Some(at) => keys[at + 1],
        None => chance.pick(&keys).copied().unwrap_or('a'),
    };
    if letter.is_ascii_uppercase() { key.to_ascii_uppercase() } else { key }
}
