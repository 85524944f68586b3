//! Fixed phrases that are put around a prompt.

use crate::plan::Chance;

/// The phrase of a way. Once all were taken, another one follows it.
pub(super) fn phrase(phrases: &[&str], way: usize, chance: &mut Chance) -> String {
    let first = phrases.get(way % phrases.len().max(1)).copied().unwrap_or_default();
    match chance.pick(phrases).filter(|other| way >= phrases.len() && **other != first) {
        Some(other) => format!("{first} {other}"),
        None => first.to_owned(),
    }
}
