//! `length_extremes`: the prompt cut down to a few words, repeated, or lost in a long text.

use crate::plan::Chance;

/// The size up to which a prompt is padded, in bytes.
const LONG: usize = 12_000;
/// The number of words that a prompt is cut down to.
const FEW: usize = 6;
/// Sentences that padding is made of.
const PADDING: [&str; 8] = [
    "The weather has been changing all week.",
    "Somebody left the window of the meeting room open again.",
    "The minutes of the last three meetings are attached.",
    "Thank you all for your patience with the new parking rules.",
    "The canteen closes early on Friday.",
    "Please remember to water the plants on the second floor.",
    "The printer next to the stairs works again.",
    "There was nothing new to report about the move.",
];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    match way % 5 {
        0 => telegram(prompt),
        1 => repeated(prompt, chance),
        2 => format!("{} {prompt}", padding(prompt, chance)),
        3 => format!("{prompt} {}", padding(prompt, chance)),
        _ => format!("{} {prompt} {}", padding(prompt, chance), padding(prompt, chance)),
    }
}

/// The longest words of a prompt, and those with capitals or digits, in their order.
fn telegram(prompt: &str) -> String {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    let tells = |word: &str| {
        let is_name = word.chars().any(|character| character.is_uppercase() || character.is_numeric());
        word.chars().count() + if is_name { 10 } else { 0 }
    };
    let mut longest: Vec<usize> = (0..words.len()).collect();
    longest.sort_by_key(|at| std::cmp::Reverse(tells(words[*at])));
    longest.truncate(FEW.min(words.len().div_ceil(2)));
    longest.sort_unstable();
    longest.into_iter().map(|at| words[at]).collect::<Vec<_>>().join(" ")
}

fn repeated(prompt: &str, chance: &mut Chance) -> String {
    let wanted = 3 + chance.below(30);
    let times = wanted.min(LONG / (prompt.len() + 1)).max(2);
    vec![prompt; times].join(" ")
}

/// Sentences that have nothing to do with anything, of up to the length that is called long.
fn padding(prompt: &str, chance: &mut Chance) -> String {
    let wanted = LONG / 4 + chance.below(LONG / 4);
    let mut text = String::new();
    // A prompt that is long already gets a sentence more.
    while text.is_empty() || text.len() + prompt.len() < wanted {
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str(chance.pick(&PADDING).copied().unwrap_or_default());
    }
    text
}
