//! Rules that read the whole exchange with the model: a log that does not have the exchange folds to the same decisions.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use tool_contracts::options::Mode;
use tool_contracts::{
    CompileOptions, Compiled, Exchange, LiveSession, Now, ProposedCall, RawFile, RawSet, SessionOpening, compile,
    replay_log,
};

const SESSION: &str = "schema_version: '1.0'\nagent: a\nsession_limits: {max_tool_calls: 6}\n";
const ASK: &str = "tool: ask\nside_effect: read\nresponse_format_invariants: {finish_reason: tool_calls, content_when_tool_calls: empty}\n\
    assertions: {input_invariants: [{path: $.messages, length_gte: 2}], output_invariants: [{path: $.tool_calls, length_lte: 1}]}\n\
    argument_value_invariants: [{path: $.n, lte: 3}]\n";
const PLAIN: &str = "tool: plain\nside_effect: read\n";

fn set(mode: Mode) -> Arc<Compiled> {
    let file = |(name, text): (&str, &str)| RawFile { name: name.to_owned(), text: text.to_owned() };
    let files = [("session.yaml", SESSION), ("ask.yaml", ASK), ("plain.yaml", PLAIN)].map(file).to_vec();
    let mut options = CompileOptions::default();
    options.run.mode = mode;
    Arc::new(compile(&RawSet { files }, &options).expect("a set").0)
}

/// A response: its calls with their argument, its exchange, and whether that was seen.
type Response = (Vec<(bool, u8)>, (bool, bool, u8), bool);

fn responses() -> impl Strategy<Value = Vec<Response>> {
    vec((vec((any::<bool>(), 0..6_u8), 0..3), (any::<bool>(), any::<bool>(), 0..4_u8), prop::bool::weighted(0.8)), 0..8)
}

fn exchange(calls: &[(bool, u8)], (finishes, talks, messages): (bool, bool, u8)) -> Exchange {
    let named: Vec<_> = calls.iter().map(|(asks, n)| json!({"name": tool(*asks), "arguments": {"n": n}})).collect();
    let finish = if finishes { "tool_calls" } else { "stop" };
    let content = if talks { json!("well") } else { json!(null) };
    Exchange {
        request: json!({"messages": vec![json!({"role": "user"}); messages.into()]}),
        response: json!({"content": content, "finish_reason": finish, "tool_calls": named}),
    }
}

fn tool(asks: bool) -> &'static str {
    if asks { "ask" } else { "plain" }
}

proptest! {
    #[test]
    fn every_decision_about_an_exchange_is_reproduced_from_the_log(responses in responses(), governs: bool) {
        let set = set(if governs { Mode::Govern } else { Mode::Observe });
        let opening = SessionOpening {
            session: "s".to_owned(), role: None, decides: true, sees_model: true, labels: Vec::new(),
        };
        let now = Now { ts: "2026-11-15T00:00:00Z".to_owned(), at_ms: 0 };
        let mut live = LiveSession::open(Arc::clone(&set), opening, Arc::new(str::to_owned), &now);
        for (calls, seen, is_seen) in responses {
            let exchange = is_seen.then(|| exchange(&calls, seen));
            let proposed = calls.iter().map(|(asks, n)| ProposedCall {
                id: String::new(), tool: tool(*asks).to_owned(), arguments: json!({"n": n}),
            });
            let calls = live.prepare(proposed.collect());
            let step = live.propose(&now, calls, exchange);
            live.release(&now, step);
        }
        let decisions = live.log().records.iter().filter(|record| record["kind"] == "decision").count() as u64;
        let replayed = replay_log(&set, &live.log().records);
        prop_assert_eq!(replayed.divergences, vec![]);
        prop_assert_eq!((replayed.decisions, replayed.not_evaluable), (decisions, 0));
    }
}
