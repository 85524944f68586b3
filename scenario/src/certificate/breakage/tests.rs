//! Tests of breakages.

use super::row_text::values;
use super::{Breakage, breakages, chosen};
use crate::certificate::{Strength, Tried};
use crate::evidence::{
    Blob, Body, DatabaseChanges, Evidence, Exchange, FileDiff, Journal, TableChange, WorkspaceChanges,
};
use crate::plan::{PlanOptions, Seed, expand};
use crate::result::ScenarioResult;
use crate::spec::{Spec, load};

/// A spec that looks at a mock's requests alone: that there is a refund, and of how much.
fn spec() -> Spec {
    let text = "version: 1\nid: t\nbase: debian\ntask: {prompt: x}\nagent: {type: noop}\n\
        services: [{name: shop, type: http_mock, record: true}]\n\
        invariants:\n  refunded:\n    description: x\n    check:\n      type: http_mock_assertions\n      service: shop\n      \
        assertions:\n        - {field: last_request.json.amount, equals: 5}\n";
    let loaded = load(text, None);
    loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics))
}

fn exchange(method: &str, path: &str, body: &str) -> Exchange {
    let body = Body::Kept(Blob::from(body));
    let (method, path) = (method.to_owned(), path.to_owned());
    Exchange { method, path, body, query: vec![], headers: vec![], status: 200, at_ms: 0, fault: None, answer: None }
}

fn requests() -> Evidence {
    let exchanges =
        vec![exchange("GET", "/orders/7", ""), exchange("POST", "/refunds", r#"{"order": "7", "amount": 5}"#)];
    Evidence { journals: [("shop".to_owned(), Journal { exchanges, overflow: None })].into(), ..Evidence::default() }
}

fn told(evidence: &Evidence) -> Vec<String> {
    breakages(&spec(), evidence).iter().map(ToString::to_string).collect()
}

#[test]
fn files_that_were_written_are_broken_and_removed_ones_are_put_back() {
    let list = |paths: &[&str]| paths.iter().map(ToString::to_string).collect();
    let workspace = WorkspaceChanges {
        added: list(&["out", "out/a.txt", ".keystone/task.json", "x/__pycache__/x.pyc"]),
        modified: list(&["b.txt"]),
        removed: list(&["old.txt"]),
        incomplete: false,
    };
    let evidence = Evidence { workspace, ..Evidence::default() };
    assert_eq!(
        told(&evidence),
        [
            "b.txt is deleted",
            "b.txt is empty",
            "b.txt is cut in half",
            "out/a.txt is deleted",
            "out/a.txt is empty",
            "out/a.txt is cut in half",
            "old.txt is still there",
        ]
    );
}

/// A table with an updated, an added and a removed row, as Postgres or MySQL writes them.
fn rows(added: [&str; 2], removed: [&str; 2]) -> Evidence {
    let list = |rows: &[&str]| rows.iter().map(ToString::to_string).collect::<Vec<_>>();
    let change = TableChange {
        added: list(&added),
        removed: list(&removed),
        columns: list(&["id", "state"]),
        key: list(&["id"]),
        ..TableChange::default()
    };
    let changes = DatabaseChanges { tables: [("public.orders".to_owned(), change)].into(), problem: None };
    Evidence { databases: [("db".to_owned(), changes)].into(), ..Evidence::default() }
}

#[test]
fn rows_are_undone_written_twice_and_changed_column_by_column() {
    let expected = [
        "row orders/7 is not changed",
        "row orders/7 is written twice",
        "row orders/7.state changes",
        "row orders/8 is not written",
        "row orders/8 is written twice",
        "row orders/8.state changes",
        "row orders/9 is not removed",
    ];
    assert_eq!(told(&rows(["(7,paid)", "(8,\"a \"\"b\"\", c\")"], ["(7,open)", "(9,)"])), expected);
    assert_eq!(told(&rows(["'7', 'paid'", "'8', 'a, b'"], ["'7', NULL", "'9', 'x'"])), expected);
}

#[test]
fn rows_are_read_as_databases_write_them() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(values("(1,\"a \"\"b\"\", c\",,\"\")"), [some("1"), some("a \"b\", c"), None, some("")]);
    assert_eq!(values(r"'1', 'it\'s, 2', NULL, 'NULL'"), [some("1"), some("it's, 2"), None, some("NULL")]);
}

#[test]
fn requests_that_change_something_are_dropped_repeated_and_altered() {
    assert_eq!(
        told(&requests()),
        [
            "POST /refunds to shop is not sent",
            "POST /refunds to shop is sent twice",
            "POST /refunds to shop is sent with another `order`",
            "POST /refunds to shop is sent with another `amount`",
        ]
    );
}

#[test]
fn what_no_invariant_notices_is_told_with_one_that_would() {
    let (spec, whole) = (spec(), requests());
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let judge = |evidence: &Evidence| ScenarioResult::judge(&spec, &plan.scenarios[0], evidence);
    let tried: Vec<_> = breakages(&spec, &whole)
        .into_iter()
        .map(|breakage| {
            assert!(breakage.is_judged_purely(&spec), "{breakage}");
            let mut broken = whole.clone();
            breakage.break_records(&mut broken);
            Tried { breakage, result: Some(judge(&broken)) }
        })
        .collect();
    let strength = Strength::of(&judge(&whole), &whole, &tried, 3);
    assert_eq!((strength.tried, strength.noticed, strength.left_out, strength.score()), (4, 2, 3, Some(0.5)));
    let unnoticed: Vec<_> = strength.unnoticed.iter().map(|one| one.change.as_str()).collect();
    assert_eq!(
        unnoticed,
        ["POST /refunds to shop is sent twice", "POST /refunds to shop is sent with another `order`"]
    );
    let suggestion = &strength.unnoticed[1].suggestion;
    assert!(suggestion.starts_with("shop_POST__refunds:\n  description: \""), "{suggestion}");
    assert!(suggestion.contains("last_request.json.order") && suggestion.contains("\"equals\":\"7\""), "{suggestion}");
}

#[test]
fn a_suggestion_is_an_invariant_of_the_language() {
    let mut evidence = rows(["(7,paid)", "(8,new)"], ["(7,open)", "(9,)"]);
    evidence.journals = requests().journals;
    evidence.workspace.added = vec!["out/report.md".to_owned()];
    let diff = "@@ -0,0 +1,2 @@\n+# Orders\n+Total: 7 it's \"new\"\n".to_owned();
    evidence.file_diffs = vec![FileDiff { path: "out/report.md".to_owned(), diff, incomplete: false }];
    for breakage in breakages(&spec(), &evidence) {
        let suggestion = breakage.suggestion(&evidence).replace('\n', "\n  ");
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
             services: [{{name: shop, type: http_mock, record: true}}, {{name: db, image: 'postgres:16', env: {{POSTGRES_PASSWORD: x}}}}]\n\
             invariants:\n  {suggestion}\n"
        );
        let loaded = load(&text, None);
        assert!(loaded.spec.is_some(), "{breakage}: {text}\n{:#?}", loaded.diagnostics);
    }
}

#[test]
fn a_seed_chooses_the_same_ones_in_their_order() {
    let all = breakages(&spec(), &requests());
    let some = chosen(all.clone(), 2, Seed::new(7));
    assert_eq!((some.len(), &some), (2, &chosen(all.clone(), 2, Seed::new(7))));
    let places: Vec<_> = some.iter().filter_map(|one| all.iter().position(|other| other == one)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(chosen(all.clone(), 99, Seed::new(7)), all);
    assert!(matches!(all[0], Breakage::Request(_)));
}
