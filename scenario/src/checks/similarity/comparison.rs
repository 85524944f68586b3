//! The comparison of a check's text with an expected text, by one of the methods.

use super::{SimilarityMethod, lexical};
use crate::checks::input::{Input, shown};
use crate::checks::{Case, InputFrom};
use crate::evidence::{Answer, EmbeddingAnswer, EmbeddingReply, EmbeddingRequest};
use crate::spec::code::Code;
use crate::spec::types::{Filled, Fraction};
use crate::spec::validate::Rules;
use crate::verdict::{ErrorCause, Verdict};

/// The most characters of a text that are sent to a model of embeddings.
const MOST_CHARACTERS: usize = 24_000;

/// The keys that checks which compare texts have in common.
#[derive(Debug, Clone, Copy)]
pub(in crate::checks) struct TextComparison<'a> {
    /// The similarity that is enough.
    pub(in crate::checks) threshold: Fraction,
    /// The method of comparison.
    pub(in crate::checks) method: SimilarityMethod,
    /// The model of embeddings.
    pub(in crate::checks) model: Option<&'a Filled>,
    /// The text that is compared.
    pub(in crate::checks) input_from: &'a InputFrom,
}

/// Reports an expected text without a word; `rules` stand at it.
pub(in crate::checks) fn validate_expected(expected: &Filled, rules: &mut Rules<'_>) {
    if expected.as_literal().is_some_and(|text| !lexical::has_words(text)) {
        rules.report(Code::InvalidValue, "the text has no letter and no digit, so nothing is similar to it", None);
    }
}

impl<'a> TextComparison<'a> {
    /// Reports what is wrong with it; `rules` stand at the check.
    pub(in crate::checks) fn validate(&self, rules: &mut Rules<'_>) {
        self.input_from.validate(rules);
        match (self.method, self.model) {
            (SimilarityMethod::Embedding, None) => {
                let help =
                    Some("add `model`: an alias of the server's configuration that leads to a model of embeddings");
                rules.report(Code::MissingKey, "the key `model` is missing: which model gives the embeddings?", help);
            }
            (SimilarityMethod::Lexical, Some(_)) => {
                let message = "no model is asked with `method: lexical`";
                rules.at("model").report(Code::NoEffect, message, Some("add `method: embedding`, or remove `model`"));
            }
            (SimilarityMethod::Embedding, Some(_)) | (SimilarityMethod::Lexical, None) => {}
        }
    }

    /// The model that it asks.
    pub(in crate::checks) fn asked_model(&self) -> Option<&'a Filled> {
        self.model.filter(|_| self.method == SimilarityMethod::Embedding)
    }

    /// Compares a check's text with an expected text; the error is the verdict without a comparison.
    pub(in crate::checks) fn judge(&self, expected: &str, case: &Case<'_>) -> Result<Verdict, Box<Verdict>> {
        let input = self.read(expected, case)?;
        let text = input.whole()?;
        let similarity = match self.method {
            SimilarityMethod::Lexical => lexical::similarity(expected, text),
            SimilarityMethod::Embedding if !lexical::has_words(text) => 0.0,
            SimilarityMethod::Embedding => self.by_vectors(expected, case)?,
        };
        let (bar, method) = (self.threshold.get(), self.method);
        let verdict = if similarity >= bar {
            Verdict::passed()
        } else {
            let (expected, name, found) = (shown(expected), input.name(), input.excerpt());
            Verdict::failed(format!(
                "expected a similarity of at least {bar} to {expected}, found {similarity} ({method}) in {name}: {found}"
            ))
        };
        Ok(verdict.with_detail("similarity", similarity).with_detail("method", method.word()))
    }

    /// The vectors to ask a model for; otherwise the verdict without asking.
    pub(in crate::checks) fn embedding(
        &self,
        expected: &str,
        case: &Case<'_>,
    ) -> Result<EmbeddingRequest, Box<Verdict>> {
        let input = self.read(expected, case)?;
        let text = input.whole()?;
        if !lexical::has_words(text) {
            return self.judge(expected, case).map(Box::new).and_then(Err);
        }
        require_embeddable(input.name(), text).map_err(|message| Box::new(Verdict::unproven(message)))?;
        require_embeddable("the text to compare with", expected)
            .map_err(|message| Box::new(Verdict::errored(ErrorCause::UnusableCheck, message)))?;
        let model = self.model.map(|model| model.render(case.values)).unwrap_or_default();
        Ok(EmbeddingRequest { model, expected: expected.to_owned(), text: text.to_owned() })
    }

    fn read(&self, expected: &str, case: &Case<'_>) -> Result<Input, Box<Verdict>> {
        if !lexical::has_words(expected) {
            let message = "the text to compare with has no letter and no digit, so nothing is similar to it";
            return Err(Box::new(Verdict::errored(ErrorCause::UnusableCheck, message)));
        }
        self.input_from.read_input(case)
    }

    /// The similarity by the vectors that a model gave.
    fn by_vectors(&self, expected: &str, case: &Case<'_>) -> Result<f64, Box<Verdict>> {
        self.embedding(expected, case)?;
        let model = self.model.map(|model| model.source().to_owned()).unwrap_or_default();
        let errored = |cause: ErrorCause, problem: &str| {
            Box::new(Verdict::errored(cause, format!("the model `{model}` {problem}")))
        };
        let answer = case.answers.iter().find_map(|answer| match answer {
            Answer::Embedding(answer) => Some(answer),
            _ => None,
        });
        let EmbeddingAnswer { reply, .. } =
            answer.ok_or_else(|| errored(ErrorCause::JudgeNotAsked, "was not asked for embeddings of this"))?;
        match reply {
            EmbeddingReply::Vectors(one, other) => one
                .cosine(other)
                .map(rounded)
                .ok_or_else(|| errored(ErrorCause::JudgeUnavailable, "gave vectors that do not belong together")),
            EmbeddingReply::Refused(reason) => {
                let message = format!("the model `{model}` gives no embedding of what is judged: {reason}");
                Err(Box::new(Verdict::unproven(message)))
            }
            EmbeddingReply::Unavailable(reason) => {
                Err(errored(ErrorCause::JudgeUnavailable, &format!("gave no embedding: {reason}")))
            }
        }
    }
}

/// Returns an error for a text that is too long for a model of embeddings.
pub(in crate::checks) fn require_embeddable(name: &str, text: &str) -> Result<(), String> {
    match text.chars().nth(MOST_CHARACTERS) {
        None => Ok(()),
        Some(_) => {
            Err(format!("{name} has more than {MOST_CHARACTERS} characters, which no model of embeddings is given"))
        }
    }
}

/// Converts a cosine into a similarity. It first undoes the rounding of numbers of four bytes, so that the same text
/// has similarity 1.
fn rounded(cosine: f64) -> f64 {
    lexical::round((cosine * 1e6).round() / 1e6)
}
