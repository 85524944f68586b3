//! `completes`: did the agent end well?

use super::Case;
use crate::evidence::Exit;
use crate::spec::section::section;
use crate::verdict::Verdict;

section! {
    /// Passes when the agent ended by itself with exit code 0 and ran into no limit: neither time nor memory, processes, disk,
    /// output, requests, or what its model may use. An agent that is a service ends well when it answers with success.
    ///
    /// What the agent said or did is not looked at. Other checks are judged however the agent ended, so this is the one that
    /// notices a crash.
    ///
    /// ```yaml
    /// check: { type: completes }
    /// ```
    pub struct Completes {}
}

impl Completes {
    pub(super) fn judge(case: &Case<'_>) -> Verdict {
        if let Some(fired) = case.evidence.limits.first() {
            let detail = super::input::shown(&fired.detail);
            return Verdict::failed(format!("expected no limit to fire, found `{}`: {detail}", fired.limit));
        }
        match case.agent.exit {
            Some(Exit::Code(0)) => Verdict::passed(),
            Some(exit) => Verdict::failed(format!("expected the agent to end with exit code 0, found {exit}")),
            None => Verdict::failed("expected the agent to end by itself, and it did not run to its end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{findings, judge, output};
    use crate::evidence::{AgentRecord, Evidence, Exit, Fired, Limit};

    const SPEC: &str = "{type: completes}";

    fn ended(exit: Option<Exit>) -> String {
        let agent = AgentRecord { exit, ..AgentRecord::default() };
        judge(SPEC, &[], &Evidence { agent, ..Evidence::default() }).message
    }

    #[test]
    fn only_success_without_a_limit_is_an_end() {
        assert!(output(SPEC, "").is_passed());
        insta::assert_snapshot!(ended(Some(Exit::Code(3))), @"expected the agent to end with exit code 0, found exit code 3");
        insta::assert_snapshot!(ended(Some(Exit::Signal(9))), @"expected the agent to end with exit code 0, found signal 9");
        insta::assert_snapshot!(ended(None), @"expected the agent to end by itself, and it did not run to its end");
    }

    #[test]
    fn a_limit_counts_even_when_the_exit_code_is_fine() {
        let agent = AgentRecord { exit: Some(Exit::Code(0)), ..AgentRecord::default() };
        let limits = vec![Fired { limit: Limit::Output, detail: "more than 1 MiB printed".to_owned() }];
        let verdict = judge(SPEC, &[], &Evidence { agent, limits, ..Evidence::default() });
        insta::assert_snapshot!(verdict.message, @r#"expected no limit to fire, found `output`: "more than 1 MiB printed""#);
    }

    #[test]
    fn it_looks_at_no_text() {
        insta::assert_snapshot!(findings("{type: completes, input_from: agent_output}"));
    }
}
