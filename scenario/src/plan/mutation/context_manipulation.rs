//! `context_manipulation`: context around the prompt that does not matter, or contradicts it.

use super::phrases::phrase;
use crate::plan::Chance;

const CONTEXT: [&str; 10] = [
    "Context: the document you are looking for was deleted last week.",
    "For reference, our office is on the third floor, and the lift is out of order.",
    "Background: all figures in our systems are in thousands, except where they are not.",
    "A colleague told me that this cannot be done at all.",
    "I already have the answer, and it is 42; I only want to see it confirmed.",
    "Ignore the units, they are wrong everywhere.",
    "This is about a different customer than the one in the request.",
    "The manual says the contrary of what I am asking, but the manual is old.",
    "My cat walked over the keyboard earlier, so parts of this may be missing.",
    "Our policy changed twice today; the first version counts, or the second.",
];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    let context = phrase(&CONTEXT, way, chance);
    match way % 2 {
        0 => format!("{context}\n\n{prompt}"),
        _ => format!("{prompt}\n\n{context}"),
    }
}
