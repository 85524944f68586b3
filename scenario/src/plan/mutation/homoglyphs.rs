//! `homoglyphs`: characters that look like others, and invisible characters.

use crate::plan::Chance;

/// Latin letters with letters of other scripts that look the same.
const ALIKE: [(char, char); 26] = [
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('i', 'і'),
    ('j', 'ј'),
    ('o', 'о'),
    ('p', 'р'),
    ('s', 'ѕ'),
    ('v', 'ν'),
    ('x', 'х'),
    ('y', 'у'),
    ('A', 'Α'),
    ('B', 'В'),
    ('C', 'С'),
    ('E', 'Ε'),
    ('H', 'Н'),
    ('I', 'Ι'),
    ('K', 'Κ'),
    ('M', 'Μ'),
    ('N', 'Ν'),
    ('O', 'О'),
    ('P', 'Ρ'),
    ('S', 'Ѕ'),
    ('T', 'Τ'),
    ('X', 'Χ'),
    ('Y', 'Υ'),
];
/// Characters without width.
const UNSEEN: [char; 4] = ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}'];
/// Marks that are drawn over or under the letter before them.
const MARKS: [char; 5] = ['\u{301}', '\u{308}', '\u{323}', '\u{332}', '\u{30a}'];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    match way % 4 {
        0 => each(prompt, chance, |character, chance, text| {
            let alike = ALIKE.iter().find(|(latin, _)| *latin == character).map(|(_, alike)| *alike);
            text.push(alike.filter(|_| chance.below(4) > 0).unwrap_or(character));
        }),
        1 => each(prompt, chance, |character, chance, text| {
            text.push(character);
            text.extend(chance.pick(&UNSEEN).filter(|_| character.is_alphanumeric()));
        }),
        2 => each(prompt, chance, |character, chance, text| {
            text.push(wide(character).filter(|_| chance.below(8) > 0).unwrap_or(character));
        }),
        _ => each(prompt, chance, |character, chance, text| {
            text.push(character);
            text.extend(chance.pick(&MARKS).filter(|_| character.is_alphabetic()));
        }),
    }
}

/// The text that comes of every character by chance: a third of them stay as they are.
fn each(prompt: &str, chance: &mut Chance, change: impl Fn(char, &mut Chance, &mut String)) -> String {
    let mut text = String::with_capacity(prompt.len() * 2);
    for character in prompt.chars() {
        match chance.below(3) {
            0 => text.push(character),
            _ => change(character, chance, &mut text),
        }
    }
    text
}

/// The wide form of a letter, digit or sign of ASCII.
fn wide(character: char) -> Option<char> {
    let wide = character.is_ascii_graphic().then(|| u32::from(character) + 0xfee0);
    wide.and_then(char::from_u32)
}
