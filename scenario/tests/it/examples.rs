//! Every example loads without a finding, and its plan does not change by accident.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use scenario::checks::{Check, RunsIn};
use scenario::plan::{PlanOptions, expand};
use scenario::spec::sections::{AgentKind, Database, Invariant};
use scenario::spec::{Need, Spec};

use crate::corpus::{Case, examples, specs};

fn spec(case: &Case) -> Spec {
    let loaded = case.load();
    let messages: Vec<_> = loaded
        .diagnostics
        .iter()
        .map(|finding| format!("{} at {}: {}", finding.code, finding.path, finding.message))
        .collect();
    assert!(messages.is_empty(), "{}: {messages:#?}", case.name);
    loaded.spec.unwrap_or_else(|| panic!("{} is not a spec", case.name))
}

#[test]
fn every_example_loads_and_plans_the_same() {
    let mut plans = String::new();
    for case in examples() {
        let spec = spec(&case);
        assert_eq!(spec.id.as_str(), case.name, "an example's folder is called like its spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let needs: Vec<_> = spec.needs.iter().map(|need| need.word()).collect();
        let _ = writeln!(plans, "{} (expect {}, needs {}) seed {}", spec.id, spec.expect, needs.join(" "), plan.seed);
        for scenario in plan.scenarios {
            let _ = writeln!(plans, "  {} {}", scenario.id, scenario.seed);
        }
    }
    insta::assert_snapshot!(plans);
}

#[test]
fn every_example_says_what_it_needs() {
    for case in examples() {
        let spec = spec(&case);
        let stated: BTreeSet<Need> = spec.needs.iter().copied().filter(|need| *need != Need::Network).collect();
        assert_eq!(stated, needed(&spec), "{}", case.name);
    }
}

/// Returns the needs of a spec, by its content. The network is left out: a package to install may be in the image.
fn needed(spec: &Spec) -> BTreeSet<Need> {
    let mut needs = BTreeSet::new();
    if needs_docker(spec) {
        needs.insert(Need::Docker);
    }
    for service in &spec.services {
        needs.extend(service.database().map(|database| match database {
            Database::Postgres => Need::Postgres,
            Database::MySql => Need::Mysql,
        }));
    }
    let images = spec.services.iter().filter_map(|service| match &service.kind {
        scenario::spec::sections::ServiceKind::Container(container) => Some(container.image.source()),
        scenario::spec::sections::ServiceKind::HttpMock(_) => None,
    });
    for image in images.chain([spec.base.source()]) {
        needs.extend(
            [("postgres", Need::Postgres), ("redis", Need::Redis), ("mysql", Need::Mysql), ("mariadb", Need::Mysql)]
                .into_iter()
                .filter(|(name, _)| image.contains(name))
                .map(|(_, need)| need),
        );
    }
    needs.extend(spec.model.as_ref().map(|_| Need::Model));
    needs.extend(
        spec.agent.as_ref().filter(|agent| matches!(agent.kind, AgentKind::Snapshot(_))).map(|_| Need::Snapshot),
    );
    needs.extend(spec.invariants.values().filter_map(check_need));
    needs
}

/// Returns true if a spec needs something that only images provide.
fn needs_docker(spec: &Spec) -> bool {
    let programs = ["postgres", "mysql", "mariadb", "redis"];
    let is_image = |service: &scenario::spec::sections::Service| match &service.kind {
        scenario::spec::sections::ServiceKind::Container(container) => {
            !programs.iter().any(|program| container.image.source().starts_with(program))
        }
        scenario::spec::sections::ServiceKind::HttpMock(_) => false,
    };
    let is_image_agent = spec.agent.as_ref().is_some_and(|agent| matches!(agent.kind, AgentKind::Image(_)));
    is_image_agent || !spec.setup.packages.is_empty() || spec.services.iter().any(is_image)
}

fn check_need(invariant: &Invariant) -> Option<Need> {
    match &invariant.check {
        check if check.asks_model() => Some(Need::Judge),
        Check::Custom(custom) if custom.runs_in == RunsIn::Host => Some(Need::HostChecks),
        _ => None,
    }
}

#[test]
fn every_kind_of_check_has_an_example() {
    let used: BTreeSet<_> = examples()
        .iter()
        .flat_map(|case| spec(case).invariants.values().map(|invariant| invariant.check.word()).collect::<Vec<_>>())
        .collect();
    let all = BTreeSet::from([
        "command_exit",
        "file_exists",
        "file_absent",
        "file_content",
        "sql",
        "http_mock_assertions",
        "custom",
        "llm_as_judge",
        "contains",
        "contains_any",
        "regex",
        "excludes_pattern",
        "latency",
        "valid_json",
        "similarity",
        "excludes_pii",
        "refusal_check",
        "completes",
        "output_not_empty",
        "behavior_unchanged",
        "tool_calls",
        "trace",
        "tool_contract",
    ]);
    assert_eq!(used, all);
}

#[test]
fn the_table_of_examples_lists_them_all() {
    let table = std::fs::read_to_string(specs().join("README.md")).expect("a table");
    for case in examples() {
        assert!(
            table.contains(&format!("`{}`", case.name)) || table.contains(&format!("[{}]", case.name)),
            "{} is not in specs/README.md",
            case.name
        );
    }
}
