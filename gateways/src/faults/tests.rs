use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use scenario::plan::Seed;
use scenario::spec::sections::StatementKind;
use scenario::spec::{StatementCall, StatementPart, load};

use super::testing::engine;
use super::{FaultEngine, ToolRequest};
use crate::Gateway as _;
use crate::clock::Clock;

#[tokio::test]
async fn only_the_agents_calls_are_faulted() {
    let engine = engine("tool_faults: [{tool: shop, mode: error}]", 1);
    assert_eq!(call(&engine, "GET", "/orders").1, Some("error"));
    engine.seal().await;
    assert_eq!(call(&engine, "GET", "/orders").1, None);
    assert_eq!(engine.record().rules[0].matched, 1);
}

fn call(engine: &FaultEngine, method: &str, path: &str) -> (Duration, Option<&'static str>) {
    let url = format!("http://shop{path}");
    let decision = engine.tool(ToolRequest { service: "shop", method, path, url: &url });
    (decision.delay, decision.fault.map(|fault| fault.mode.word()))
}

#[test]
fn the_first_rule_that_fires_decides_and_delays_add_up() {
    let faults = "tool_faults: [{tool: shop, mode: slow, delay_ms: 20}, {tool: shop, mode: error, times: 1}, \
                  {tool: 'shop:POST /refunds', mode: connection_reset}, {tool: '*', mode: slow, delay_ms: 3}]";
    let engine = engine(faults, 1);
    assert_eq!(call(&engine, "POST", "/refunds"), (Duration::from_millis(20), Some("error")));
    assert_eq!(call(&engine, "POST", "/refunds"), (Duration::from_millis(20), Some("connection_reset")));
    assert_eq!(call(&engine, "GET", "/orders"), (Duration::from_millis(23), None));
    let record = engine.record();
    let counts: Vec<_> = record.rules.iter().map(|rule| (rule.matched, rule.fired)).collect();
    assert_eq!(counts, [(3, 3), (3, 1), (2, 1), (3, 1)], "a rule counts calls that another one decided");
    assert_eq!(record.total(), 6);
    assert_eq!(record.firings.len(), 6);
}

#[test]
fn faults_of_tools_pass_services_and_hosts_over() {
    let faults =
        "tool_faults: [{tool: '*', mode: tool_error}, {tool: 'shop*', mode: vanish}, {tool: '*', mode: error}]";
    let engine = engine(faults, 1);
    assert_eq!(call(&engine, "GET", "/orders").1, Some("error"));
    let counts: Vec<_> = engine.record().rules.iter().map(|rule| rule.matched).collect();
    assert_eq!(counts, [0, 0, 1]);
}

/// An engine for a Postgres `db` and a Redis `cache`.
fn engine_of_services(faults: &str) -> FaultEngine {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: db, image: 'postgres:16'}}, {{name: cache, image: 'redis:7'}}]\n\
         chaos: {{service_faults: [{faults}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let engine = FaultEngine::new(&spec.chaos, Seed::new(1), Arc::new(Clock::default()));
    engine.start();
    engine
}

/// The fault of a statement `kind table` of `db`; one with `!` at its end commits.
fn statement(engine: &FaultEngine, words: &str) -> Option<&'static str> {
    let mut parts = words.trim_end_matches('!').split(' ');
    let kind = match parts.next() {
        Some("select") => StatementKind::Select,
        Some("update") => StatementKind::Update,
        Some("commit") => StatementKind::Commit,
        _ => StatementKind::Other,
    };
    let part = StatementPart { kind, tables: parts.map(str::to_owned).collect() };
    let call = StatementCall { parts: vec![part], commits: words.ends_with('!') };
    engine.statement("db", &call).fault.map(|fault| fault.mode.word())
}

fn matched(engine: &FaultEngine) -> Vec<(u64, u64)> {
    engine.record().rules.iter().map(|rule| (rule.matched, rule.fired)).collect()
}

#[test]
fn statements_are_counted_by_the_rules_that_are_about_them() {
    let engine = engine_of_services(
        "{service: db, mode: error, sqlstate: '40001', statement: [update], table: orders, on_calls: [2]}, \
         {service: '*', mode: read_only, after_calls: 2}, {service: db, mode: commit_unknown, times: 1}",
    );
    assert_eq!(statement(&engine, "update staff"), None);
    assert_eq!(statement(&engine, "update orders"), None);
    assert_eq!(statement(&engine, "update orders"), Some("error"));
    assert_eq!(statement(&engine, "select orders"), None, "reads pass");
    assert_eq!(statement(&engine, "update staff"), Some("read_only"));
    assert_eq!(statement(&engine, "commit!"), Some("commit_unknown"));
    assert_eq!(statement(&engine, "commit!"), None);
    assert_eq!(matched(&engine), [(2, 1), (4, 1), (2, 1)]);
    let targets: Vec<_> = engine.record().firings.into_iter().map(|firing| firing.target).collect();
    assert_eq!(targets, ["db:update orders", "db:update staff", "db:commit"]);
}

#[test]
fn connections_are_calls_of_what_is_no_database_and_of_refuse() {
    let engine = engine_of_services(
        "{service: '*', mode: refuse, on_calls: [2]}, {service: '*', mode: reset, on_calls: [1]}, \
         {service: '*', mode: kill_session}, {service: '*', mode: hang, statement: [select]}",
    );
    let connect = |service, is_database| engine.connection(service, is_database).fault.map(|fault| fault.mode.word());
    assert_eq!((connect("db", true), connect("cache", false)), (None, Some("refuse")));
    assert_eq!(connect("cache", false), None, "the rule counted the call that another one decided");
    assert_eq!(statement(&engine, "select a"), Some("kill_session"));
    assert_eq!(matched(&engine), [(3, 1), (3, 0), (1, 1), (1, 0)]);
    assert!(engine.is_about_service("cache", false) && engine.is_about_service("db", true));
    let only_statements = engine_of_services("{service: '*', mode: kill_session}");
    assert!(!only_statements.is_about_service("cache", false) && only_statements.is_about_service("db", true));
}

#[test]
fn a_call_that_is_made_again_is_seen() {
    let engine = engine("tool_faults: [{tool: shop, mode: error, error_code: 429, times: 1}]", 1);
    call(&engine, "POST", "/refunds");
    call(&engine, "GET", "/orders");
    assert_eq!(engine.record().firings[0].retried_after_ms, None, "another call is no second try");
    call(&engine, "POST", "/refunds");
    let firing = &engine.record().firings[0];
    assert_eq!((firing.retried_after_ms, firing.retry_after_ms), (Some(0), Some(1000)));
    assert_eq!((firing.target.as_str(), firing.kept_retry_after()), ("shop:POST /refunds", Some(false)));
    assert!(firing.close_to_another, "the clock stood still");
}

#[test]
fn a_fault_that_is_taken_back_never_was() {
    let engine = engine("tool_faults: [{tool: shop, mode: wrong_data, zero: total, times: 1}]", 1);
    let request = ToolRequest { service: "shop", method: "GET", path: "/orders", url: "http://shop/orders" };
    let fault = engine.tool(request).fault.expect("a fault");
    engine.take_back(&fault);
    assert!(engine.record().is_vacuous() && engine.record().firings.is_empty());
    assert!(engine.tool(request).fault.is_some(), "it is not counted as one of `times`");
}

#[test]
fn the_model_has_rules_of_its_own() {
    let engine = engine("llm_faults: [{mode: delay, delay_ms: 5}, {mode: rate_limit, on_calls: [2]}]", 1);
    let words: Vec<_> = (0..3).map(|_| engine.model().fault.map(|fault| fault.mode.word())).collect();
    assert_eq!(words, [None, Some("rate_limit"), None]);
    assert_eq!(engine.record().rules[1].fired, 1);
}

#[test]
fn parallel_calls_are_counted_exactly() {
    let engine = engine("tool_faults: [{tool: shop, mode: error, every: 4}]", 1);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    call(&engine, "GET", "/orders");
                }
            });
        }
    });
    let record = engine.record();
    assert_eq!((record.rules[0].matched, record.rules[0].fired, record.firings.len()), (200, 50, 50));
    let calls: Vec<_> = record.firings.iter().map(|firing| firing.call).collect();
    assert_eq!(calls, (1..=50).map(|n| n * 4).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn the_same_seed_and_calls_have_the_same_faults(seed: u64, percent in 1..100_u32, posts in prop::collection::vec(any::<bool>(), 1..40)) {
        let faults = format!(
            "tool_faults: [{{tool: shop, mode: error, probability: {p}}}, {{tool: 'shop:POST /refunds', mode: timeout, probability: {p}}}]",
            p = f64::from(percent) / 100.0
        );
        let run = || {
            let engine = engine(&faults, seed);
            let seen: Vec<_> = posts.iter().map(|post| if *post { call(&engine, "POST", "/refunds") } else { call(&engine, "GET", "/orders") }.1).collect();
            (seen, engine.record())
        };
        let (seen, record) = run();
        prop_assert_eq!(&seen, &run().0);
        // No fault without its record, and no record without its fault.
        let faulted = seen.iter().flatten().count();
        prop_assert_eq!((record.firings.len(), record.total()), (faulted, faulted as u64));
    }
}
