//! The causes for which a judged scenario is an error, and why no agent can bring them about.

use super::ErrorKind;

/// Defines the causes. A cause without an explanation does not compile, and one that `docs/reliability.md` does not tell fails
/// the test below.
macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident = $word:literal, $kind:ident, $explanation:literal;)+) => {
        /// The cause of a scenario's error. No agent can hide a failure behind one of these.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCause {
            $($(#[$doc])* $cause,)+
        }

        impl ErrorCause {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$cause,)+];

            /// Returns the party at fault.
            #[must_use]
            pub const fn kind(self) -> ErrorKind {
                match self {
                    $(Self::$cause => ErrorKind::$kind,)+
                }
            }

            /// The word for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$cause => $word,)+
                }
            }

            /// Explains why no agent can bring it about, or gains nothing by it.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(Self::$cause => $explanation,)+
                }
            }
        }
    };
}

causes! {
    /// The evidence holds no answer to a check's probe.
    MissingAnswer = "missing_answer", Infrastructure,
        "The engine answers every probe or fails the attempt. What the agent broke, hid or used up is an answer too (`unavailable`), and fails the check.";
    /// The evidence lacks a record that the spec asks for.
    MissingRecord = "missing_record", Infrastructure,
        "The worker keeps the audit and the key of the redaction markers outside the sandbox. More than it keeps is a fired limit, not a missing record.";
    /// A pattern or a path of a check cannot be used once its templates are filled.
    UnusableCheck = "unusable_check", Check,
        "Patterns and paths are filled from the spec, its parameters and its secrets. Nothing that the agent writes is a template.";
    /// A `behavior_unchanged` check was given no output of a run without faults.
    MissingBaseline = "missing_baseline", Check,
        "The baseline is the output of another run, in a sandbox of its own that the agent of this one cannot reach.";
    /// A `custom` script failed by itself.
    BrokenScript = "broken_script", Check,
        "The script is run once more in a world without an agent, and only a script that ends in the same way there is broken. One that ends otherwise, is ended by a signal, runs on a changed image or needs a service that ended is a failure.";
    /// The model of an `llm_as_judge` check, or of a comparison by embeddings, gave no reply.
    JudgeUnavailable = "judge_unavailable", Judge,
        "A question that the provider does not take is asked once more about nothing, and only a provider that does not take that either is unavailable. What is judged is cut at 24,000 characters and a reply at 4,096 tokens, so that the agent cannot make a judge slow.";
    /// The prompt of an `llm_as_judge` check brings no score, whatever is judged.
    BrokenJudgePrompt = "broken_judge_prompt", Spec,
        "The criteria are empty, or the model gives no score about nothing either while it rates a plain question of ours. Neither question holds anything of the agent's.";
    /// The model of an `llm_as_judge` check, or of a comparison by embeddings, was not asked as often as it is to be.
    JudgeNotAsked = "judge_not_asked", Judge,
        "How often a judge is asked is in the spec. It happens only when kept evidence is judged by another spec.";
    /// The provider of the agent's model was unavailable.
    ProviderUnavailable = "provider_unavailable", Provider,
        "The gateway asks the provider a question of its own, with nothing of the agent's in it, and only when that fails the provider is unavailable. An agent that floods it (beyond `max_calls`, or 32 calls at once, 600 a minute, 64 MiB a minute) has no such excuse.";
    /// The provider of the agent's model refused our key, address or account.
    ProviderRefused = "provider_refused", ProviderConfig,
        "The gateway's own question is refused too. A model that the agent made up, a path, a header or a content that the provider does not like is a failure.";
    /// Faults were required, and none fired.
    NoFaultFired = "no_fault_fired", Inconclusive,
        "An agent that makes none of the faulted calls can, and gains nothing: only a pass becomes an error, and a failure stays a failure.";
}

#[cfg(test)]
mod tests {
    use super::ErrorCause;

    #[test]
    fn the_documentation_explains_every_cause() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reliability.md");
        let text = std::fs::read_to_string(path).expect("the documentation");
        for cause in ErrorCause::ALL {
            let row = format!("| `{}` | `{}` | {} |", cause.word(), cause.kind(), cause.explanation());
            assert!(text.lines().any(|line| line == row), "docs/reliability.md lacks this row:\n{row}");
        }
        let section = text.split("### What judging finds").nth(1).and_then(|rest| rest.split("\n#").next());
        let rows = section.expect("the section").lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, ErrorCause::ALL.len(), "docs/reliability.md explains a cause that there is not");
    }
}
