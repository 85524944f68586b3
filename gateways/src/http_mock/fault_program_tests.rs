//! Random programs of faults: a client meets a fault exactly where the journal and the fault engine have one.

use std::sync::Arc;

use scenario::plan::Seed;
use scenario::spec::load;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::testing::{DEADLINE, Running, body, status};
use super::{HttpMocks, MockContext, MockLimits};
use crate::faults::FaultEngine;

const PROGRAMS: u64 = 1000;
const CALLS: usize = 6;
const ORDER: &str = r#"{"id":7,"total":40,"note":"x"}"#;

const MODES: [&str; 14] = [
    "mode: error",
    "mode: error, error_code: 429",
    "mode: malformed",
    "mode: malicious_response",
    "mode: html_error_page",
    "mode: unauthorized",
    "mode: connection_reset",
    "mode: lost_response",
    "mode: empty",
    "mode: truncated, bytes: 3",
    "mode: 'wrong_data', set: {total: 1}",
    "mode: 'wrong_data', set: {total: 40}",
    "mode: drop_fields, paths: [note]",
    "mode: schema_violation",
];
const TRIGGERS: [&str; 8] = [
    "",
    ", probability: 0.5",
    ", times: 2",
    ", on_calls: [2, 4]",
    ", every: 3",
    ", after_calls: 3",
    ", burst: {length: 1, every: 2}",
    ", after_calls: 1, times: 1",
];

/// A number below a bound, chosen by a program and a purpose.
fn choose(program: u64, purpose: &str, bound: usize) -> usize {
    let drawn = Seed::new(program).derive(&[purpose]).get();
    usize::try_from(drawn % bound as u64).expect("a small number")
}

fn rules(program: u64) -> Vec<String> {
    let rule = |index: usize| {
        let mode = MODES[choose(program, &format!("mode {index}"), MODES.len())];
        let trigger = TRIGGERS[choose(program, &format!("trigger {index}"), TRIGGERS.len())];
        format!("{{tool: mock, {mode}{trigger}}}")
    };
    (0..=choose(program, "rules", 4)).map(rule).collect()
}

fn running(rules: &str, program: u64) -> (Running, Arc<FaultEngine>) {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: mock, type: http_mock, record: true, routes: [{{path: /order, response: '{ORDER}'}}]}}]\n\
         chaos: {{tool_faults: [{rules}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{text}: {:?}", loaded.diagnostics));
    let context = MockContext::default();
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(program), Arc::clone(&context.clock)));
    engine.start();
    let context = MockContext { faults: Some(Arc::clone(&engine)), ..context };
    let mock = spec.services[0].mock().expect("a mock").clone();
    let mocks = HttpMocks::with_limits([("mock".to_owned(), mock)], context, MockLimits::default());
    (Running::serve(mocks, &[(1, "mock")]), engine)
}

/// Makes a call; true when its answer is the usual one.
async fn is_usual(running: &Running) -> bool {
    let mut stream = running.connect().await;
    stream.write_all(b"GET /order HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n").await.expect("sending");
    let mut answer = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("an end in time");
    let answer = String::from_utf8_lossy(&answer);
    read.is_ok() && answer.starts_with("HTTP/1.1 200") && status(&answer) == 200 && body(&answer) == ORDER
}

#[tokio::test]
async fn a_client_meets_a_fault_exactly_where_one_is_recorded() {
    for program in 0..PROGRAMS {
        let rules = rules(program).join(", ");
        let (running, engine) = running(&rules, program);
        let mut usual = Vec::new();
        for _ in 0..CALLS {
            usual.push(is_usual(&running).await);
        }
        let journal = running.recorded(CALLS).await;
        let unmarked: Vec<_> = journal.exchanges.iter().map(|exchange| exchange.fault.is_none()).collect();
        assert_eq!(usual, unmarked, "program {program}: {rules}");
        let record = engine.record();
        let marks: Vec<_> = journal.exchanges.iter().filter_map(|exchange| exchange.fault.clone()).collect();
        let told: Vec<_> = marks.iter().map(|mark| (&mark.rule, &mark.mode, mark.call)).collect();
        let fired: Vec<_> = record.firings.iter().map(|one| (&one.rule, &one.mode, one.call)).collect();
        assert_eq!(told, fired, "program {program}: {rules}");
        assert_eq!(record.total(), marks.len() as u64, "program {program}: {rules}");
        assert!(record.rules.iter().all(|rule| rule.matched == CALLS as u64), "program {program}: {rules}");
        let reached = marks.iter().filter(|mark| !mark.reached).count();
        assert_eq!(journal.reached().count(), CALLS - reached, "program {program}: {rules}");
    }
}
