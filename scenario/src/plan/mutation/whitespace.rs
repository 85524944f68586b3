//! `whitespace`: spaces, tabs and line breaks where none belong, or none where some do.

use crate::plan::Chance;

/// Characters that may stand for a space.
const SPACES: [&str; 6] = ["  ", "\t", "\n", "\u{a0}", "   ", "\r\n"];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    match way {
        0 => spaced(prompt, |_| "   "),
        1 => spaced(prompt, |_| "\n"),
        2 => format!("\n\n\t   {prompt}   \n\n"),
        3 => prompt.split_whitespace().collect(),
        4 => letters_apart(prompt),
        _ => spaced(prompt, |_| chance.pick(&SPACES).copied().unwrap_or(" ")),
    }
}

fn spaced(prompt: &str, mut space: impl FnMut(usize) -> &'static str) -> String {
    let mut text = String::with_capacity(prompt.len() * 2);
    for (at, word) in prompt.split_whitespace().enumerate() {
        text.push_str(if at == 0 { "" } else { space(at) });
        text.push_str(word);
    }
    text
}

fn letters_apart(prompt: &str) -> String {
    let letters: Vec<String> = prompt.chars().map(String::from).collect();
    letters.join(" ")
}
