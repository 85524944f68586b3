//! `similarity`: does the output say about the same as an expected text?

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::LazyLock;

use ::regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::{Case, InputFrom};
use crate::evidence::Probe;
use crate::spec::code::Code;
use crate::spec::section::section;
use crate::spec::types::{Filled, Fraction};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when the output is about as similar to an expected text as `threshold` asks for, from 0 (nothing in common) to
    /// 1 (the same words in the same order).
    ///
    /// The comparison is lexical: it counts words and letters, needs no model, and always gives the same number. It does not
    /// know that two words mean the same. The number is found like this:
    ///
    /// 1. Both texts are brought to Unicode's form NFKC and to lower case. Words are runs of letters, digits and their marks;
    ///    everything else only separates them.
    /// 2. `words` is the cosine of two counts: of each word, and of each pair of words that follow each other.
    /// 3. `letters` is the cosine of the counts of each three characters that follow each other, in the words joined by single
    ///    spaces, with one space before the first and one after the last.
    /// 4. The similarity is the mean of `words` and `letters`. Without a word in the output, it is 0.
    ///
    /// The same words in another order come to more than 0.5, and another ending of a word costs little. Long texts of one
    /// language share many words whatever they are about, so compare short ones. Try a few outputs before choosing
    /// a threshold: the details of the result show the number. The default is the usual one for embeddings, and strict here.
    ///
    /// An output that is too long to be kept whole fails.
    ///
    /// ```yaml
    /// check:
    ///   type: similarity
    ///   expected: Your refund of 20 euros is on its way.
    ///   threshold: 0.6
    /// ```
    pub struct Similarity {
        /// The text to compare with. It has at least one letter or digit.
        expected: Filled,
        /// The similarity that is enough.
        threshold: Fraction = Fraction::FOUR_FIFTHS,
        /// What is compared: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

impl Similarity {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
        validate_expected(&self.expected, &mut rules.at("expected"));
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let expected = self.expected.render(case.values);
        judge_similarity(&expected, self.threshold, &self.input_from, case).unwrap_or_else(|verdict| *verdict)
    }
}

/// Reports an expected text without a word; `rules` stand at it.
pub(super) fn validate_expected(expected: &Filled, rules: &mut Rules<'_>) {
    if expected.as_literal().is_some_and(|text| !has_words(text)) {
        rules.report(Code::InvalidValue, "the text has no letter and no digit, so nothing is similar to it", None);
    }
}

/// Compares what a check reads with an expected text.
pub(super) fn judge_similarity(
    expected: &str,
    threshold: Fraction,
    input_from: &InputFrom,
    case: &Case<'_>,
) -> Result<Verdict, Box<Verdict>> {
    if !has_words(expected) {
        let message = "the text to compare with has no letter and no digit, so nothing is similar to it";
        return Err(Box::new(Verdict::errored(ErrorCause::UnusableCheck, message)));
    }
    let input = input_from.read_input(case)?;
    let similarity = lexical_similarity(expected, input.whole()?);
    let verdict = if similarity >= threshold.get() {
        Verdict::passed()
    } else {
        Verdict::failed(format!(
            "expected a similarity of at least {} to {}, found {similarity} in {}: {}",
            threshold.get(),
            super::input::shown(expected),
            input.name(),
            input.excerpt()
        ))
    };
    Ok(verdict.with_detail("similarity", similarity).with_detail("method", "lexical"))
}

/// Tells if there is something in a text that another can be similar to.
pub(super) fn has_words(text: &str) -> bool {
    !words(&normalised(text)).is_empty()
}

/// How similar two texts are, from 0 to 1, with four decimals.
fn lexical_similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (normalised(one), normalised(other));
    let (one, other) = (words(&one), words(&other));
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let by_words = cosine(&counts(word_runs(&one)), &counts(word_runs(&other)));
    let by_letters = cosine(&counts(letter_runs(&one)), &counts(letter_runs(&other)));
    round(f64::midpoint(by_words, by_letters))
}

/// Rounded down, so that only the same words come to 1 and no threshold is reached by rounding.
fn round(number: f64) -> f64 {
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

    use super::lexical_similarity;
    use crate::checks::testing::{cut, failed_output, findings, judge, output};
    use crate::verdict::{ErrorKind, Outcome};

    const EXPECTED: &str = "Your refund of 20 euros is on its way.";

    #[test]
    fn the_same_words_are_the_same_text() {
        for other in
            [EXPECTED, "your REFUND — of 20 euros is on its way", "Your refund\n\n of  20 euros is on its way!"]
        {
            assert_eq!(lexical_similarity(EXPECTED, other), 1.0, "{other}");
        }
        assert_eq!(lexical_similarity("café", "cafe\u{301}"), 1.0, "one accent, written in two ways");
        assert_eq!(lexical_similarity("ﬁne", "FINE"), 1.0, "a ligature");
        assert_eq!(lexical_similarity("你好世界", "你好世界。"), 1.0);
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
        let shown = compared.map(|other| format!("{:.4} {other}", lexical_similarity(EXPECTED, other)));
        insta::assert_snapshot!(shown.join("\n"));
        let reversed: Vec<_> = EXPECTED.split(' ').rev().collect();
        assert!(lexical_similarity(EXPECTED, &reversed.join(" ")) > 0.5);
    }

    #[test]
    fn the_documented_steps_give_the_number() {
        // Words: {a: 1, b: 1, a b: 1} and {a: 1, c: 1, a c: 1} have one of three in common. Letters: " a ", "a b", " b " and
        // " a ", "a c", " c " have one of three in common too.
        assert_eq!(lexical_similarity("a b", "a c"), 0.3333);
        // Words: {a: 2, a a: 1} and {a: 1}: 2 / sqrt(5). Letters: " a ": 2, "a a": 1 and " a ": 1: the same.
        assert_eq!(lexical_similarity("a a", "a"), 0.8944);
    }

    #[test]
    fn the_threshold_decides_and_the_details_say_how() {
        let yaml = format!("{{type: similarity, expected: '{EXPECTED}', threshold: 0.5}}");
        let verdict = output(&yaml, "A refund of 20 euros is on the way to you.");
        assert!(verdict.is_passed(), "{verdict:?}");
        assert_eq!(verdict.details["method"], "lexical");
        assert!(verdict.details["similarity"].as_f64().is_some_and(|number| number > 0.5 && number < 1.0));
        insta::assert_snapshot!(failed_output(&yaml, "No."));
        let default = failed_output("{type: similarity, expected: yes}", "no");
        assert!(default.contains("at least 0.8"), "{default}");
    }

    #[test]
    fn there_must_be_something_to_compare_with() {
        insta::assert_snapshot!(findings("{type: similarity, expected: '?!'}"), @"invalid-value at invariants.x.check.expected: the text has no letter and no digit, so nothing is similar to it");
        let filled = output("{type: similarity, expected: '{{ params.open }}'}", "x");
        assert_eq!(filled.outcome, Outcome::Errored(ErrorKind::Check));
        assert_eq!(
            judge("{type: similarity, expected: x, threshold: 0}", &[], &cut("x", "x")).outcome,
            Outcome::Failed
        );
    }

    proptest! {
        #[test]
        fn it_is_symmetric_and_within_bounds(one in "\\PC{0,40}", other in "\\PC{0,40}") {
            let similarity = lexical_similarity(&one, &other);
            prop_assert!((0.0..=1.0).contains(&similarity));
            prop_assert_eq!(similarity, lexical_similarity(&other, &one));
        }

        #[test]
        fn a_text_with_a_word_is_similar_to_itself(text in "[a-z]{1,5}\\PC{0,40}") {
            prop_assert_eq!(lexical_similarity(&text, &text), 1.0);
        }
    }
}
