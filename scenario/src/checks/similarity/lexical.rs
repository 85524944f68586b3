//! The lexical comparison of two texts, by words and letters.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::LazyLock;

use ::regex::Regex;
use unicode_normalization::UnicodeNormalization;

/// Returns true if there is something in a text that another can be similar to.
pub(in crate::checks) fn has_words(text: &str) -> bool {
    !words(&normalised(text)).is_empty()
}

/// The similarity of two texts, from 0 to 1, with four decimals.
pub(super) fn similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (normalised(one), normalised(other));
    let (one, other) = (words(&one), words(&other));
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let by_words = cosine(&counts(word_runs(&one)), &counts(word_runs(&other)));
    let by_letters = cosine(&counts(letter_runs(&one)), &counts(letter_runs(&other)));
    round(f64::midpoint(by_words, by_letters))
}

/// Rounds down, so that only the same words have similarity 1 and no threshold is reached by rounding.
pub(super) fn round(number: f64) -> f64 {
    (number.clamp(0.0, 1.0) * 10_000.0).floor() / 10_000.0
}

fn normalised(text: &str) -> String {
    text.nfkc().flat_map(char::to_lowercase).collect()
}

fn words(normalised: &str) -> Vec<&str> {
    static WORD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*").unwrap_or_else(|error| unreachable!("{error}")));
    WORD.find_iter(normalised).map(|found| found.as_str()).collect()
}

/// Each word, and each pair of neighbours.
fn word_runs<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    words.chunks(1).chain(words.windows(2))
}

/// Each three characters that follow each other.
fn letter_runs(words: &[&str]) -> Vec<[char; 3]> {
    let joined: Vec<char> = format!(" {} ", words.join(" ")).chars().collect();
    joined.windows(3).filter_map(|run| <[char; 3]>::try_from(run).ok()).collect()
}

fn counts<T: Eq + Hash>(items: impl IntoIterator<Item = T>) -> HashMap<T, u64> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_insert(0) += 1;
    }
    counts
}

/// The cosine of the angle between two counts. The sums are whole numbers, so their order does not matter.
fn cosine<T: Eq + Hash>(one: &HashMap<T, u64>, other: &HashMap<T, u64>) -> f64 {
    let product: u64 = one.iter().map(|(item, count)| count * other.get(item).unwrap_or(&0)).sum();
    let square = |counts: &HashMap<T, u64>| counts.values().map(|count| count * count).sum::<u64>() as f64;
    product as f64 / (square(one) * square(other)).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::similarity;

    const EXPECTED: &str = "Your refund of 20 euros is on its way.";

    #[test]
    fn the_same_words_are_the_same_text() {
        for other in
            [EXPECTED, "your REFUND — of 20 euros is on its way", "Your refund\n\n of  20 euros is on its way!"]
        {
            assert_eq!(similarity(EXPECTED, other), 1.0, "{other}");
        }
        assert_eq!(similarity("café", "cafe\u{301}"), 1.0, "one accent, written in two ways");
        assert_eq!(similarity("ﬁne", "FINE"), 1.0, "a ligature");
        assert_eq!(similarity("你好世界", "你好世界。"), 1.0);
    }

    #[test]
    fn the_number_falls_with_what_is_different() {
        let compared = [
            "Your refund of 20 euros is on its way, and arrives soon.",
            "A refund of 20 euros is on the way to you.",
            "On its way is your refund of 20 euros.",
            "Your order was cancelled because the address is unknown.",
            "你好世界",
            "",
        ];
        let shown = compared.map(|other| format!("{:.4} {other}", similarity(EXPECTED, other)));
        insta::assert_snapshot!(shown.join("\n"));
        let reversed: Vec<_> = EXPECTED.split(' ').rev().collect();
        assert!(similarity(EXPECTED, &reversed.join(" ")) > 0.5);
    }

    #[test]
    fn the_documented_steps_give_the_number() {
        // Words: {a: 1, b: 1, a b: 1} and {a: 1, c: 1, a c: 1} have one of three in common. Letters: " a ", "a b", " b " and
        // " a ", "a c", " c " have one of three in common too.
        assert_eq!(similarity("a b", "a c"), 0.3333);
        // Words: {a: 2, a a: 1} and {a: 1}: 2 / sqrt(5). Letters: " a ": 2, "a a": 1 and " a ": 1: the same.
        assert_eq!(similarity("a a", "a"), 0.8944);
    }

    proptest! {
        #[test]
        fn it_is_symmetric_and_within_bounds(one in "\\PC{0,40}", other in "\\PC{0,40}") {
            let found = similarity(&one, &other);
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert_eq!(found, similarity(&other, &one));
        }

        #[test]
        fn a_text_with_a_word_is_similar_to_itself(text in "[a-z]{1,5}\\PC{0,40}") {
            prop_assert_eq!(similarity(&text, &text), 1.0);
        }
    }
}
