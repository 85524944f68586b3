//! `latency`: was the agent fast enough?

use super::Case;
use crate::spec::section::section;
use crate::spec::types::Whole;
use crate::verdict::Verdict;

section! {
    /// Passes when the agent took at most so long, from its start to its end, on the wall clock. For an agent that is a
    /// service, that is until its answer is complete.
    ///
    /// An agent that ends with an error is measured like any other; `completes` looks at how it ended. An agent that a limit
    /// stopped fails, because nobody knows how long it would have taken. Machines differ, so leave room.
    ///
    /// ```yaml
    /// check: { type: latency, max_ms: 30000 }
    /// ```
    pub struct AgentLatency {
        /// How long the agent may take, in milliseconds.
        max_ms: Whole<1, 86_400_000>,
    }
}

impl AgentLatency {
    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        let (agent, max_ms) = (case.agent, self.max_ms.get());
        let took = agent.wall_ms;
        if agent.exit.is_none() {
            let message = match case.evidence.limits.first() {
                Some(fired) => format!("the agent was stopped after {took} ms (limit `{}`)", fired.limit),
                None => "the agent did not run".to_owned(),
            };
            return Verdict::failed(message);
        }
        let verdict = match i64::try_from(took) {
            Ok(took) if took <= max_ms => Verdict::passed(),
            _ => Verdict::failed(format!("expected the agent to take at most {max_ms} ms, found {took} ms")),
        };
        verdict.with_detail("latency_ms", took)
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{failed_output, findings, judge, output};
    use crate::evidence::{AgentRecord, Evidence, Exit, Fired, Limit};

    #[test]
    fn the_bound_itself_is_fast_enough() {
        let verdict = output("{type: latency, max_ms: 1200}", "");
        assert!(verdict.is_passed());
        assert_eq!(verdict.details["latency_ms"], 1200);
        insta::assert_snapshot!(failed_output("{type: latency, max_ms: 1199}", ""), @"expected the agent to take at most 1199 ms, found 1200 ms");
    }

    #[test]
    fn an_agent_that_was_stopped_or_never_ran_was_not_fast() {
        let yaml = "{type: latency, max_ms: 5000}";
        insta::assert_snapshot!(judge(yaml, &[], &Evidence::default()).message, @"the agent did not run");
        let limits = vec![Fired { limit: Limit::Memory, detail: String::new() }];
        let agent = AgentRecord { wall_ms: 10, ..AgentRecord::default() };
        let stopped = Evidence { agent, limits, ..Evidence::default() };
        insta::assert_snapshot!(judge(yaml, &[], &stopped).message, @"the agent was stopped after 10 ms (limit `memory`)");
        let agent = AgentRecord { wall_ms: 10, exit: Some(Exit::Code(1)), ..AgentRecord::default() };
        assert!(judge(yaml, &[], &Evidence { agent, ..Evidence::default() }).is_passed());
    }

    #[test]
    fn a_bound_is_a_positive_number() {
        insta::assert_snapshot!(findings("{type: latency, max_ms: 0}"), @"invalid-value at invariants.x.check.max_ms: expected a whole number from 1 to 86400000, found 0");
    }
}
