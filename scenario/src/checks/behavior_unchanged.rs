//! `behavior_unchanged`: does the agent say about the same as it does in a calm world?

use serde::{Serialize, Serializer};

use super::similarity::{SimilarityMethod, TextComparison, has_words, require_embeddable, validate_expected};
use super::{Case, InputFrom};
use crate::evidence::{EmbeddingRequest, Probe};
use crate::spec::code::Code;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::shape::{Choice, Shape};
use crate::spec::types::{Filled, Fraction};
use crate::spec::validate::Rules;
use crate::spec::yaml::{Kind, Node};
use crate::verdict::{ErrorCause, Verdict};

section! {
    /// Passes when the output is about as similar to a baseline as `similarity_threshold` asks for. The number is that of the
    /// `similarity` check, and stands in the details of the result.
    ///
    /// `baseline: auto` compares with what the agent prints in a world without faults: the agent is run once more with the same
    /// prompt, in a sandbox of its own in which nothing breaks, and all scenarios with that prompt are compared with this run. Only
    /// rules of a contract can ask for that; anywhere else, write the text that the agent is expected to say.
    ///
    /// ```yaml
    /// check:
    ///   type: behavior_unchanged
    ///   baseline: The balance of the account is 120 euros.
    ///   similarity_threshold: 0.6
    /// ```
    pub struct BehaviorUnchanged {
        /// The text to compare with, or `auto` for the output of a run without faults.
        baseline: Baseline = Baseline::Auto,
        /// The similarity that is enough.
        similarity_threshold: Fraction = Fraction::THREE_QUARTERS,
        /// The method of comparison; see the `similarity` check.
        method: SimilarityMethod = SimilarityMethod::Lexical,
        /// The model of embeddings to ask, with `method: embedding`: an alias of the server's configuration, or the name of a
        /// model of OpenAI.
        model: Option<Filled>,
        /// What is compared: `agent_output` (or `stdout`, the same), `workspace` (names and contents of the files that the agent
        /// left), or a field of a recording mock, such as `mail.last_request.body`.
        input_from: InputFrom = InputFrom::AgentOutput,
    }
}

/// The text that an output is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Baseline {
    /// The output of a run without faults.
    Auto,
    /// This text.
    Text(Filled),
}

/// The word for the output of a run without faults.
const AUTO: &str = "auto";

impl BehaviorUnchanged {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        self.comparison().validate(rules);
        match &self.baseline {
            Baseline::Auto => self.require_clean_run(rules),
            Baseline::Text(text) => validate_expected(text, &mut rules.at("baseline")),
        }
    }

    /// Reports `baseline: auto` where nothing runs without faults, and where it is not about what that run prints; `rules` stand at
    /// the check.
    fn require_clean_run(&self, rules: &mut Rules<'_>) {
        let help = Some("write the text that the agent is expected to say under `baseline`");
        if !rules.is_in_contract() {
            let message = "`baseline: auto` compares with a run without faults, which only a contract has";
            rules.report(Code::NoBaseline, message, help);
        } else if self.input_from != InputFrom::AgentOutput {
            let message = "`baseline: auto` compares what the agent prints, and nothing else";
            rules.at("input_from").report(Code::NoBaseline, message, help);
        }
    }

    pub(super) fn probes(&self) -> Vec<Probe> {
        self.input_from.probes()
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let compared = self.expected(case).and_then(|expected| self.comparison().judge(&expected, case));
        compared.unwrap_or_else(|verdict| *verdict)
    }

    /// The vectors to ask a model for; otherwise the verdict without asking.
    pub(super) fn embedding(&self, case: &Case<'_>) -> Result<EmbeddingRequest, Box<Verdict>> {
        self.expected(case).and_then(|expected| self.comparison().embedding(&expected, case))
    }

    pub(super) fn comparison(&self) -> TextComparison<'_> {
        let Self { similarity_threshold, method, model, input_from, .. } = self;
        TextComparison { threshold: *similarity_threshold, method: *method, model: model.as_ref(), input_from }
    }

    /// Returns the text to compare with; the error is the verdict without one.
    fn expected(&self, case: &Case<'_>) -> Result<String, Box<Verdict>> {
        match &self.baseline {
            Baseline::Text(text) => Ok(text.render(case.values)),
            Baseline::Auto => {
                let printed = clean_output(case)?;
                if self.method == SimilarityMethod::Embedding {
                    require_embeddable("the output of the run without faults", &printed)
                        .map_err(|message| Box::new(Verdict::unproven(message)))?;
                }
                Ok(printed)
            }
        }
    }
}

/// The agent's output without faults. That it printed nothing to compare with, or too much, is its own doing, and that there was
/// no such run is not.
fn clean_output(case: &Case<'_>) -> Result<String, Box<Verdict>> {
    let Some(printed) = case.baseline else {
        let message = "no baseline: there was no run without faults to compare with";
        return Err(Box::new(Verdict::errored(ErrorCause::MissingBaseline, message)));
    };
    if !printed.is_complete() {
        let message = "the output of the run without faults is known in part only, so nothing can be compared with it";
        return Err(Box::new(Verdict::unproven(message)));
    }
    if !has_words(&printed.head) {
        let message = "the run without faults printed no letter and no digit, so nothing is similar to it";
        return Err(Box::new(Verdict::failed(message)));
    }
    Ok(printed.head.clone())
}

impl Readable for Baseline {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::String(word) if word == AUTO => Some(Self::Auto),
            _ => Filled::read(node, reader).map(Self::Text),
        }
    }

    fn shape() -> Shape {
        let doc = "The output of a run without faults.".to_owned();
        Shape::Either(vec![Shape::Choice(vec![Choice { word: AUTO, doc }]), Filled::shape()])
    }
}

impl Serialize for Baseline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(AUTO),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{cut, embedded, failed_output, findings, judge, judge_against, output};
    use crate::evidence::EmbeddingReply;
    use crate::verdict::{ErrorKind, Outcome};

    const TEXT: &str = "{type: behavior_unchanged, baseline: The balance is 120 euros.}";
    const AUTO: &str = "{type: behavior_unchanged}";

    #[test]
    fn a_text_is_compared_like_any_other() {
        assert_eq!(findings(TEXT), "");
        let verdict = output(TEXT, "the balance is 120 euros");
        assert!(verdict.is_passed());
        assert_eq!((&verdict.details["similarity"], &verdict.details["method"]), (&1.0.into(), &"lexical".into()));
        let message = failed_output(TEXT, "I could not reach the bank.");
        assert!(message.contains("at least 0.75"), "{message}");
        assert_eq!(judge(TEXT, &[], &cut("The balance", "is 120 euros.")).outcome, Outcome::Failed);
    }

    #[test]
    fn auto_takes_the_output_of_the_clean_run() {
        assert!(judge_against(AUTO, "The balance is 120 euros.", "the balance is 120 euros").is_passed());
        assert_eq!(judge_against(AUTO, "The balance is 120 euros.", "no idea").outcome, Outcome::Failed);
        let verdict = output(AUTO, "the balance is 120 euros");
        assert_eq!(verdict.outcome, Outcome::Errored(ErrorKind::Check));
        insta::assert_snapshot!(verdict.message, @"no baseline: there was no run without faults to compare with");
        let silent = judge_against(AUTO, "...", "");
        assert_eq!(silent.outcome, Outcome::Failed, "an agent that says nothing in any world is no error of ours");
    }

    #[test]
    fn vectors_are_compared_like_those_of_any_other_text() {
        let check = "{type: behavior_unchanged, baseline: 120 euros, method: embedding, model: embedder}";
        assert_eq!(findings(check), "");
        let close = embedded(check, "one hundred and twenty", EmbeddingReply::vectors(&[3.0, 4.0], &[4.0, 3.0]));
        assert_eq!((close.outcome, &close.details["similarity"]), (Outcome::Passed, &0.96.into()));
        assert_eq!(output(check, "120 euros").outcome, Outcome::Errored(ErrorKind::Judge), "it was not asked");
    }

    #[test]
    fn auto_is_refused_where_there_is_no_clean_run() {
        insta::assert_snapshot!(findings(AUTO), @"no-baseline at invariants.x.check: `baseline: auto` compares with a run without faults, which only a contract has");
        assert_eq!(findings("{type: behavior_unchanged, baseline: auto}"), findings(AUTO));
        assert_eq!(findings("{type: behavior_unchanged, baseline: '...'}").lines().count(), 1);
    }
}
