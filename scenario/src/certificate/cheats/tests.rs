//! Tests of the cheats.

use super::{CheatProgram, cheat_program, cheats, require_cheat};
use crate::evidence::Evidence;
use crate::plan::{PlanOptions, Values, expand};
use crate::spec::types::CheatName;
use crate::spec::{Spec, load};

const HEAD: &str = "version: 1\nid: t\nbase: debian\nagent: {type: noop}\n";

fn spec(rest: &str) -> Spec {
    let loaded = load(&format!("{HEAD}{rest}"), None);
    loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics))
}

fn program(rest: &str, name: &str) -> CheatProgram {
    let spec = spec(rest);
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let evidence = Evidence::default();
    let values = Values::for_judging(&spec, &plan.scenarios[0], &evidence);
    cheat_program(&CheatName::new(name).expect("a name"), &values).expect("a cheat")
}

const FILES: &str = "task: {prompt: \"Write `Hello, Ada` into out/letter.txt, for 12.50 EUR.\"}\n\
    invariants:\n  a: {description: a, check: {type: file_content, path: 'reports/**/*.json', pattern: x}}\n  \
    b: {description: b, check: {type: file_exists, path: out, kind: directory}}\n  \
    c: {description: c, check: {type: file_absent, path: old.txt}}\n";

#[test]
fn a_cheat_that_makes_no_sense_says_why() {
    let told = |rest: &str| {
        let reason = |cheat: super::PlannedCheat| (cheat.name.to_string(), cheat.not_applicable.unwrap_or("runs"));
        cheats(&spec(rest)).into_iter().map(reason).collect::<Vec<_>>()
    };
    let plain = "task: {prompt: x, cheats: [{name: own-one, script: 'true'}]}\n\
        invariants: {x: {description: x, check: {type: completes}}}\n";
    assert_eq!(
        told(plain),
        [
            ("verdict-files", "runs"),
            ("echo-expected", "runs"),
            ("touch-paths", "no invariant looks at a path"),
            ("call-every-mock", "there is no mock with a route"),
            ("confident", "runs"),
            ("own-one", "runs"),
        ]
        .map(|(name, reason)| (name.to_owned(), reason))
    );
    assert_eq!(told(FILES)[2].1, "runs");
}

#[test]
fn paths_that_must_be_there_are_made_and_others_are_not() {
    let lines = program(FILES, "touch-paths").lines.join("\n");
    assert!(lines.contains("mkdir -p 'out'") && lines.contains("> 'reports/a.json'"), "{lines}");
    assert!(!lines.contains("old.txt"), "{lines}");
}

#[test]
fn what_is_quoted_in_the_task_is_printed_and_written() {
    let lines = program(FILES, "echo-expected").lines;
    assert!(lines[0].starts_with("printf '%s'"), "{lines:?}");
    for text in ["\nHello, Ada\n", "\n12.50\n"] {
        assert!(lines[0].contains(text), "{text} {lines:?}");
    }
    assert!(lines.iter().any(|line| line.contains("> 'out/letter.txt'")), "{lines:?}");
}

#[test]
fn every_route_gets_a_request_that_it_takes() {
    let mocks = "task: {prompt: x}\nservices:\n  - name: shop\n    type: http_mock\n    record: true\n    routes:\n      \
        - {method: GET, path: '/orders/{id}/*', query: {since: 'a b', open: true}}\n      \
        - {method: POST, path: /refunds, headers: {X-Key: k}, body: {json: {amount: 5}}, response: {refund: r-77}}\n\
        invariants: {x: {description: x, check: {type: completes}}}\n";
    let requests = program(mocks, "call-every-mock").requests;
    let told: Vec<_> = requests.iter().map(|one| (one.method.as_str(), one.path.as_str(), one.body.as_str())).collect();
    assert_eq!(told, [("GET", "/orders/1/?since=a%20b&open=1", ""), ("POST", "/refunds", r#"{"amount":5}"#)]);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(requests[1].headers, [header("X-Key", "k"), header("Content-Type", "application/json")]);
    assert!(program(mocks, "echo-expected").lines[0].contains(r#"{"refund":"r-77"}"#));
    let spec = spec(mocks);
    let routes = &spec.services[0].mock().expect("a mock").routes;
    for (request, route) in requests.iter().zip(routes) {
        let path = request.path.split('?').next().unwrap_or_default();
        assert!(route.path.matches(path).is_some(), "{path}");
    }
}

#[test]
fn a_cheat_of_the_spec_is_its_script_with_values() {
    let own = "task: {prompt: do it, cheats: [{name: echo, script: [\"echo {{ replica }}\", \"true\"]}]}\n\
        invariants: {x: {description: x, check: {type: completes}}}\n";
    assert_eq!(program(own, "echo").lines, ["echo 0", "true"]);
    let spec = spec(own);
    let refused = require_cheat(&CheatName::new("ecko").expect("a name"), &spec).expect_err("no cheat").to_string();
    assert_eq!(
        refused,
        "the spec has no cheat `ecko`, only `verdict-files`, `echo-expected`, `touch-paths`, `call-every-mock`, `confident`, `echo`"
    );
}
