//! Tests of everything that is the same in every run: clocks, seeds, places; and of the events that are written about
//! commands.

use scenario::evidence::AuditEvent;
use scenario::result::RowStatus;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Sketch, printed, suite};
use crate::harness::Harness;

suite! {
    the_agent_and_its_databases_have_the_clock_of_the_spec,
    a_clock_that_the_image_has_no_library_for_is_refused,
    seeds_and_places_are_in_the_environment,
    commands_that_were_started_are_in_the_audit,
    what_was_changed_in_the_image_is_in_the_audit;
    also on local:
    the_agent_and_its_databases_have_the_clock_of_the_spec,
    seeds_and_places_are_in_the_environment,
    commands_that_were_started_are_in_the_audit,
    what_was_changed_in_the_image_is_in_the_audit,
}

async fn the_agent_and_its_databases_have_the_clock_of_the_spec(harness: &mut Harness) {
    let service = |name: &str, image: &str, prefix: &str, database: &str| {
        let variable = |rest: &str| format!("{prefix}_{rest}");
        json!({"name": name, "image": image, "env": {
            variable("USER"): "app", variable("PASSWORD"): "secret", variable(database): "shop", "MYSQL_ROOT_PASSWORD": "root"}})
    };
    let services = json!([
        service("pg", "touchstone/postgres:15", "POSTGRES", "DB"),
        service("maria", "touchstone/mariadb:10.11", "MYSQL", "DATABASE"),
        service("my", "touchstone/mysql:9", "MYSQL", "DATABASE"),
    ]);
    let script = r#"
        echo "date=$(date -u +%Y-%m-%dT%H)"
        echo "child=$(bash -c 'date +%Y')"
        echo "database=$(PGPASSWORD=secret psql -h pg -U app -d shop -Atc "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')")"
        echo "epoch=$SOURCE_DATE_EPOCH"
    "#;
    let year = |name: &str| json!({"type": "sql", "service": name, "query": "SELECT YEAR(NOW())", "equals": 2031});
    let sketch = Sketch::acting(script)
        .base("touchstone/postgres:15")
        .with("determinism: {clock: '2031-05-06T07:08:09Z'}")
        .with(&format!("services: {services}"))
        .must("mariadb", year("maria"))
        .must("mysql", year("my"));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = printed(&evidence);
    assert_eq!((said["date"].as_str(), said["child"].as_str()), ("2031-05-06T07", "2031"));
    assert_eq!((said["database"].as_str(), said["epoch"].as_str()), ("2031-05-06", "1935817689"));
}

async fn a_clock_that_the_image_has_no_library_for_is_refused(harness: &mut Harness) {
    let sketch = Sketch::with_agent(json!({"type": "cli", "command": "true"}));
    let clock = "determinism: {clock: '2031-05-06T07:08:09Z'}";
    let yaml = sketch.base("touchstone/busybox:1").with(clock).yaml();
    let refused = harness.try_run(&yaml, &CancellationToken::new()).await;
    let problem = refused.expect_err("no clock").to_string();
    assert!(problem.contains("libfaketime") && problem.contains("the sandbox's image"), "{problem}");
}

async fn seeds_and_places_are_in_the_environment(harness: &mut Harness) {
    let script = r#"for name in TZ LANG TOUCHSTONE_SEED KEYSTONE_SEED PYTHONHASHSEED PERL_HASH_SEED; do echo "$name=${!name}"; done"#;
    let sketch = Sketch::acting(script).with("determinism: {seed: 7}");
    let (_, first) = sketch.run(harness).await;
    let (_, second) = sketch.run(harness).await;
    let said = printed(&first);
    assert_eq!((said["TZ"].as_str(), said["LANG"].as_str()), ("UTC", "C.UTF-8"));
    assert_eq!(said["TOUCHSTONE_SEED"], said["KEYSTONE_SEED"]);
    assert!(said.values().all(|value| !value.is_empty()), "{said:#?}");
    assert_eq!(said, printed(&second), "the same seed gives the same");
}

async fn commands_that_were_started_are_in_the_audit(harness: &mut Harness) {
    harness.secrets = [("KEY".to_owned(), "s3cret-value".to_owned())].into();
    let sketch = Sketch::acting("exit 3").with(
        "secrets: [{name: KEY, from: 'static://s3cret-value'}]\nsetup: {commands: ['echo {{ secrets.KEY }}']}\naudit: {commands: true}",
    );
    let (_, evidence) = sketch.run(harness).await;
    let commands: Vec<_> = evidence
        .audit
        .iter()
        .flatten()
        .filter_map(|event| match &event.event {
            AuditEvent::Command { command, exit_code } => Some((command.as_str(), *exit_code)),
            _ => None,
        })
        .collect();
    let key = evidence.marker_key.as_deref().unwrap_or_default();
    let hidden = format!("sh -c echo [redacted:KEY:{key}]");
    assert_eq!(commands, [(hidden.as_str(), Some(0)), ("bash -c exit 3", Some(3))]);
}

async fn what_was_changed_in_the_image_is_in_the_audit(harness: &mut Harness) {
    let sketch = Sketch::acting("echo x > /etc/motd; echo x > a.txt; echo x > /tmp/b.txt")
        .with("audit: {file_writes: true}\nforbidden: {file_writes_outside: [a.txt]}");
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let written = evidence.audit.iter().flatten().filter_map(|audited| match &audited.event {
        AuditEvent::FileWrite { path, op } => Some(format!("{op} {path}")),
        _ => None,
    });
    assert_eq!(written.collect::<Vec<_>>(), ["added a.txt", "changed /etc/motd"]);
}
