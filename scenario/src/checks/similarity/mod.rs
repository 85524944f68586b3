//! `similarity`: does the output say about the same as an expected text?

mod comparison;
mod lexical;

pub(super) use comparison::{TextComparison, require_embeddable, validate_expected};
pub(super) use lexical::has_words;

use super::{Case, InputFrom};
use crate::evidence::{EmbeddingRequest, Probe};
use crate::spec::section::{choice, section};
use crate::spec::types::{Filled, Fraction};
use crate::spec::validate::Rules;
use crate::verdict::Verdict;

section! {
    /// Passes when the output is about as similar to an expected text as `threshold` asks for, from 0 (nothing in common) to
    /// 1 (the same words in the same order).
    ///
    /// With `method: lexical`, which is the default, words and letters are counted. It needs no model, and always gives the same
    /// number. It does not know that two words mean the same. The number is found like this:
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
    /// With `method: embedding`, the `model` is asked for a vector of each text (`POST …/embeddings`, in OpenAI's form), and the
    /// similarity is the cosine of the two; less than 0 counts as 0. It knows that two words mean the same, and differs from model to
    /// model. The vectors are kept, so that the same run is judged again without asking. A model that cannot be asked is nobody's
    /// fault: the scenario is an `error`. A text that the model does not take fails, and so does one of more than 24,000
    /// characters.
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
        /// The method of comparison.
        method: SimilarityMethod = SimilarityMethod::Lexical,
        /// The model of embeddings to ask, with `method: embedding`: an alias of the server's configuration, or the name of a
        /// model of OpenAI.
        model: Option<Filled>,
        /// What is compared: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

choice! {
    /// The method by which two texts are compared.
    pub enum SimilarityMethod {
        /// By their words and letters.
        Lexical = "lexical",
        /// By the vectors that a model gives for them.
        Embedding = "embedding",
    }
}

impl Similarity {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.comparison().validate(rules);
        validate_expected(&self.expected, &mut rules.at("expected"));
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let expected = self.expected.render(case.values);
        self.comparison().judge(&expected, case).unwrap_or_else(|verdict| *verdict)
    }

    /// The vectors to ask a model for; otherwise the verdict without asking.
    pub(super) fn embedding(&self, case: &Case<'_>) -> Result<EmbeddingRequest, Box<Verdict>> {
        self.comparison().embedding(&self.expected.render(case.values), case)
    }

    pub(super) fn comparison(&self) -> TextComparison<'_> {
        let Self { threshold, method, model, input_from, .. } = self;
        TextComparison { threshold: *threshold, method: *method, model: model.as_ref(), input_from }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{cut, embedded, failed_output, findings, judge, output};
    use crate::evidence::EmbeddingReply;
    use crate::verdict::{ErrorKind, Outcome};

    const EXPECTED: &str = "Your refund of 20 euros is on its way.";
    const EMBEDDING: &str = "{type: similarity, expected: yes, method: embedding, model: embedder, threshold: 0.9}";

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

    #[test]
    fn vectors_of_a_model_decide_by_their_cosine() {
        let met = embedded(EMBEDDING, "Sure!", EmbeddingReply::vectors(&[3.0, 4.0], &[6.0, 8.0]));
        assert_eq!((met.outcome, &met.details["similarity"]), (Outcome::Passed, &1.0.into()));
        assert_eq!(met.details["method"], "embedding");
        let far = embedded(EMBEDDING, "No.", EmbeddingReply::vectors(&[1.0, 0.0], &[-1.0, 0.1]));
        assert_eq!(far.outcome, Outcome::Failed);
        insta::assert_snapshot!(far.message, @r#"expected a similarity of at least 0.9 to "yes", found 0 (embedding) in the agent's output: "No.""#);
    }

    #[test]
    fn a_model_that_gives_no_vectors_is_an_error_and_one_that_refuses_the_text_is_none() {
        let down = embedded(EMBEDDING, "Sure!", EmbeddingReply::Unavailable("503: down".to_owned()));
        assert_eq!(down.outcome, Outcome::Errored(ErrorKind::Judge));
        insta::assert_snapshot!(down.message, @"the model `embedder` gave no embedding: 503: down");
        let refused = embedded(EMBEDDING, "Sure!", EmbeddingReply::Refused("400: too rude".to_owned()));
        assert_eq!(refused.outcome, Outcome::Failed);
        let apart = embedded(EMBEDDING, "Sure!", EmbeddingReply::vectors(&[1.0], &[1.0, 0.0]));
        assert_eq!(apart.outcome, Outcome::Errored(ErrorKind::Judge));
        let unasked = output(EMBEDDING, "Sure!");
        assert_eq!(unasked.outcome, Outcome::Errored(ErrorKind::Judge));
        insta::assert_snapshot!(unasked.message, @"the model `embedder` was not asked for embeddings of this");
    }

    #[test]
    fn some_texts_are_judged_without_asking() {
        let silent = output(EMBEDDING, "...");
        assert_eq!((silent.outcome, &silent.details["similarity"]), (Outcome::Failed, &0.0.into()));
        let long = output(EMBEDDING, &"word ".repeat(5_000));
        assert_eq!(long.outcome, Outcome::Failed);
        insta::assert_snapshot!(long.message, @"the agent's output has more than 24000 characters, which no model of embeddings is given");
    }

    #[test]
    fn a_model_goes_with_embeddings() {
        assert_eq!(findings(EMBEDDING), "");
        insta::assert_snapshot!(findings("{type: similarity, expected: yes, method: embedding}"), @"missing-key at invariants.x.check: the key `model` is missing: which model gives the embeddings?");
        insta::assert_snapshot!(findings("{type: similarity, expected: yes, model: embedder}"), @"no-effect at invariants.x.check.model: no model is asked with `method: lexical`");
    }
}
