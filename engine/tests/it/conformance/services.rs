//! Services beside a sandbox: reached by name, asked by checks, and walled in.

use engine::error::EngineError;
use engine::event::Event;
use scenario::evidence::{Answer, Limit};
use scenario::result::RowStatus;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{DEBIAN, Sketch, answer, fired, is_met, output, printed, suite};
use crate::harness::Harness;

const POSTGRES: &str = "touchstone/postgres:15";
const MYSQL: &str = "touchstone/mysql:9";

suite! {
    two_databases_on_one_port_are_two_databases,
    mysql_refuses_a_wrong_password_and_mariadb_is_reached_by_both_names,
    mocks_share_a_port_with_each_other_and_with_a_container,
    a_service_is_ready_when_its_own_command_says_so,
    a_program_that_a_database_was_told_to_start_is_an_offence,
    a_database_that_the_agent_ends_is_a_fail_and_no_error,
    a_service_that_somebody_else_removes_is_an_error_and_no_fail,
    a_database_that_is_told_to_fill_the_disk_is_stopped_by_a_limit,
    a_service_has_five_capabilities_and_no_way_to_more;
    also on local:
    mysql_refuses_a_wrong_password_and_mariadb_is_reached_by_both_names,
    two_databases_on_one_port_are_two_databases,
    a_program_that_a_database_was_told_to_start_is_an_offence,
    a_database_that_the_agent_ends_is_a_fail_and_no_error,
    a_database_that_is_told_to_fill_the_disk_is_stopped_by_a_limit,
}

async fn two_databases_on_one_port_are_two_databases(harness: &mut Harness) {
    let script = r#"
        export PGPASSWORD=secret PGUSER=app PGDATABASE=shop PGCONNECT_TIMEOUT=5
        for host in one one.services.internal two two.services.internal; do echo "$host=$(psql -h $host -Atc 'SELECT name FROM who')"; done
        psql -qh one -c "UPDATE who SET name = 'changed'"
        for host in one two 127.10.0.1; do
            PGPASSWORD=wrong psql -wh $host -c 'SELECT 1' 2>&1 | grep -o 'password authentication failed' | sed "s/^/wrong $host=/"
            PGPASSWORD= psql -wh $host -c 'SELECT 1' > /dev/null 2>&1 && echo "without=$host"
        done
    "#;
    let service = |name: &str| json!({"name": name, "image": POSTGRES, "env": {"POSTGRES_USER": "app", "POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "shop"}});
    let fixture = |name: &str| json!({"type": "sql", "service": name, "sql": format!("CREATE TABLE who (name text); INSERT INTO who VALUES ('{name}')")});
    let query = |name: &str, value: &str| json!({"type": "sql", "service": name, "query": "SELECT name FROM who", "equals": value});
    let sketch = Sketch::acting(script)
        .base(POSTGRES)
        .with(&format!(
            "services: {}\nfixtures: {}",
            json!([service("one"), service("two")]),
            json!([fixture("one"), fixture("two")])
        ))
        .must("one", query("one", "changed"))
        .must("two", query("two", "two"));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = printed(&evidence);
    for (host, name) in
        [("one", "one"), ("one.services.internal", "one"), ("two", "two"), ("two.services.internal", "two")]
    {
        assert_eq!(said[host], name, "{evidence:#?}");
    }
    assert!(said.contains_key("wrong one") && said.contains_key("wrong two"), "{said:#?}");
    assert_eq!(said.get("without"), None);
}

async fn mysql_refuses_a_wrong_password_and_mariadb_is_reached_by_both_names(harness: &mut Harness) {
    let script = r#"
        export MYSQL_PWD=secret
        for host in my my.services.internal; do echo "$host=$(mysql -h $host -u app shop -Ne 'SELECT 1')"; done
        for host in maria maria.services.internal; do echo "$host=$(mysql -h $host -P 3307 -u root -Ne 'SELECT 2')"; done
        for user in app root nobody; do
            MYSQL_PWD=wrong mysql -h my -u $user -e 'SELECT 1' 2>&1 | grep -o 'Access denied' | sed "s/^/wrong $user=/"
            MYSQL_PWD= mysql -h my -u $user -e 'SELECT 1' > /dev/null 2>&1 && echo "without=$user"
        done
        for host in cache cache.services.internal; do
            exec 3<> /dev/tcp/$host/6379; printf 'PING\r\n' >&3; read -r answer <&3; echo "$host=${answer%?}"
        done
    "#;
    let services = json!([
        {"name": "my", "image": MYSQL, "env": {"MYSQL_ROOT_PASSWORD": "other", "MYSQL_USER": "app", "MYSQL_PASSWORD": "secret", "MYSQL_DATABASE": "shop"}, "wait_timeout": "120s"},
        {"name": "maria", "image": "touchstone/mariadb:10.11", "env": {"MARIADB_ROOT_PASSWORD": "secret"}, "ports": [3307], "command": ["mariadbd", "--port=3307"], "wait_timeout": "120s"},
        {"name": "cache", "image": "touchstone/redis:7"},
    ]);
    let sketch = Sketch::acting(script)
        .base(MYSQL)
        .with(&format!("services: {services}"))
        .must("asked", json!({"type": "sql", "service": "maria", "query": "SELECT 1 + 1", "equals": 2}));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = printed(&evidence);
    let names = ["my", "my.services.internal", "maria", "maria.services.internal", "cache", "cache.services.internal"];
    assert_eq!(names.map(|name| said[name].as_str()), ["1", "1", "2", "2", "+PONG", "+PONG"], "{evidence:#?}");
    for user in ["wrong app", "wrong root", "wrong nobody"] {
        assert!(said.contains_key(user), "{said:#?}");
    }
    assert_eq!(said.get("without"), None);
}

async fn mocks_share_a_port_with_each_other_and_with_a_container(harness: &mut Harness) {
    let script = r#"
        ask() { exec 3<> /dev/tcp/$1/$2; printf 'GET / HTTP/1.0\r\nHost: %s\r\n\r\n' $1 >&3; echo "$1:$2=$(tail -1 <&3)"; }
        ask one 80; ask two.services.internal 80; ask real 80; ask api.example.com 80; ask one 81
    "#;
    let perl = r#"use IO::Socket; my $s = IO::Socket::INET->new(LocalPort => 80, Listen => 9, ReuseAddr => 1) or die; while (my $c = $s->accept) { <$c>; print $c "HTTP/1.0 200 OK\r\n\r\nreal\n"; close $c }"#;
    let mock = |name: &str, ports: &[u16]| json!({"name": name, "type": "http_mock", "ports": ports, "record": true, "routes": [{"path": "/", "response": name}]});
    let services = json!([mock("one", &[80, 81]), mock("two", &[80]), {"name": "real", "image": DEBIAN, "ports": [80], "command": ["perl", "-e", perl]}]);
    let sketch = Sketch::acting(script)
        .with(&format!("services: {services}\nnetwork: {{dns_overrides: {{api.example.com: two.services.internal}}}}"));
    let (_, evidence) = sketch.run(harness).await;
    let said = printed(&evidence);
    let asked = ["one:80", "two.services.internal:80", "real:80", "api.example.com:80", "one:81"];
    assert_eq!(asked.map(|name| said[name].trim_matches('"')), ["one", "two", "real", "two", "one"], "{evidence:#?}");
    assert_eq!((evidence.journals["one"].exchanges.len(), evidence.journals["two"].exchanges.len()), (2, 2));
}

async fn a_service_is_ready_when_its_own_command_says_so(harness: &mut Harness) {
    let service = |wait_for: &str| {
        json!([{
            "name": "slow", "image": DEBIAN, "command": ["sh", "-c", "sleep 0.7; echo warm > /tmp/state; sleep 1000"],
            "wait_for": wait_for, "wait_timeout": "2s",
        }])
    };
    let yaml = |wait_for: &str| Sketch::acting("true").with(&format!("services: {}", service(wait_for))).yaml();
    let started = tokio::time::Instant::now();
    harness.run(&yaml("grep -q warm /tmp/state")).await;
    assert!(started.elapsed().as_millis() >= 700);
    let error = harness.try_run(&yaml("echo cold; exit 3"), &CancellationToken::new()).await.expect_err("never ready");
    let EngineError::ServiceNotReady { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("exit code 3") && reason.contains("cold") && reason.contains("2s"), "{reason}");
    harness.assert_nothing_is_left();
}

/// A world with Postgres, whose agent is its superuser.
fn superuser(statement: &str) -> Sketch {
    let service = json!([{"name": "db", "image": POSTGRES, "env": {"POSTGRES_PASSWORD": "secret"}}]);
    Sketch::acting(&format!("PGPASSWORD=secret psql -qh db -U postgres -c \"{statement}\"; true"))
        .base(POSTGRES)
        .with(&format!("services: {service}"))
        .must("asked", json!({"type": "sql", "service": "db", "query": "SELECT 1", "equals": 1}))
}

async fn a_program_that_a_database_was_told_to_start_is_an_offence(harness: &mut Harness) {
    let (result, evidence) =
        superuser("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; sleep 1000 > /dev/null 2>&1 &'").run(harness).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(is_met(&result, "asked"));
    assert!(
        matches!(evidence.offences.as_slice(), [offence] if offence.contains("`db`") && offence.contains("sleep 1000")),
        "{:?}",
        evidence.offences
    );
    let (result, evidence) = superuser("SELECT pg_sleep(0.1)").run(harness).await;
    assert_eq!((result.status, evidence.offences), (RowStatus::Pass, Vec::new()));
}

async fn a_database_that_the_agent_ends_is_a_fail_and_no_error(harness: &mut Harness) {
    let statement = "COPY (SELECT 1) TO PROGRAM 'kill -9 1; kill -QUIT 1; kill -9 -1'";
    let (result, evidence) = superuser(statement).run(harness).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    let Answer::Unavailable { reason, .. } = answer(&evidence, "asked") else { panic!("{evidence:#?}") };
    assert!(reason.contains("was ready before the agent started"), "{reason}");
}

async fn a_service_that_somebody_else_removes_is_an_error_and_no_fail(harness: &mut Harness) {
    let service = json!([{"name": "db", "image": POSTGRES, "env": {"POSTGRES_PASSWORD": "secret"}}]);
    let query = json!({"type": "sql", "service": "db", "query": "SELECT 1", "equals": 1});
    let sketch = Sketch::acting("sleep 3").with(&format!("services: {service}")).must("asked", query);
    let remove = async {
        let mut acting = None;
        super::until("the agent acts", || {
            acting = sandbox_with_a_busy_agent(harness);
            acting.is_some()
        })
        .await;
        output("docker", &["rm", "--force", "--volumes", &format!("{}-db", acting.expect("a name"))]);
    };
    let (yaml, cancel) = (sketch.yaml(), CancellationToken::new());
    let (ran, ()) = tokio::join!(harness.try_run(&yaml, &cancel), remove);
    let error = ran.expect_err("an error");
    assert!(error.is_retryable() && error.to_string().contains("somebody removed its container"), "{error}");
    harness.assert_nothing_is_left();
}

/// The name of the sandbox, once its agent acts.
fn sandbox_with_a_busy_agent(harness: &Harness) -> Option<String> {
    let events = harness.events.lock().expect("events");
    let name = events.iter().find_map(|event| match event {
        Event::SandboxCreated { name } => Some(name.clone()),
        _ => None,
    });
    name.filter(|_| events.contains(&Event::AgentStarted))
}

async fn a_database_that_is_told_to_fill_the_disk_is_stopped_by_a_limit(harness: &mut Harness) {
    let statement = "COPY (SELECT repeat('x', 1000000) FROM generate_series(1, 100000)) TO '/tmp/big'";
    let (result, evidence) = superuser(statement).run(harness).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert_eq!(fired(&evidence), [Limit::Disk], "{:?}", evidence.limits);
    assert!(evidence.limits[0].detail.contains("the service `db` wrote more than 1024 MiB"), "{:?}", evidence.limits);
}

async fn a_service_has_five_capabilities_and_no_way_to_more(harness: &mut Harness) {
    let service = json!([{"name": "wall", "image": DEBIAN, "command": ["sleep", "1000"]}]);
    let yaml = Sketch::acting("sleep 1000").with(&format!("services: {service}")).yaml();
    let cancel = CancellationToken::new();
    let looking = async {
        let begun = || harness.events.lock().expect("events").contains(&engine::event::Event::AgentStarted);
        super::until("the agent acts", begun).await;
        let label = format!("label=touchstone.data={}", harness.data_dir.id());
        let id = output("docker", &["ps", "-q", "--filter", &label, "--filter", "label=touchstone=service"]);
        let inspected = output("docker", &["inspect", &id]);
        let status = output("docker", &["exec", &id, "grep", "-E", "^(Cap|NoNewPrivs|Seccomp:)", "/proc/1/status"]);
        cancel.cancel();
        (serde_json::from_str::<serde_json::Value>(&inspected).expect("JSON"), status)
    };
    let (_, (inspected, status)) = tokio::join!(harness.try_run(&yaml, &cancel), looking);
    let host = &inspected[0]["HostConfig"];
    assert_eq!(host["CapDrop"], json!(["ALL"]));
    let options = host["SecurityOpt"].as_array().expect("a list");
    assert_eq!((options.len(), &options[0]), (2, &json!("no-new-privileges")));
    assert!(options[1].as_str().is_some_and(|option| option.starts_with("seccomp={")), "a profile of ours: {host}");
    assert_eq!(
        (&host["Privileged"], host["PortBindings"].as_object().map_or(0, |ports| ports.len())),
        (&json!(false), 0)
    );
    assert!(host["NetworkMode"].as_str().is_some_and(|mode| mode.starts_with("container:")), "{host}");
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, SETGID 6, SETUID 7.
    let five = format!("{:016x}", (1 << 0) | (1 << 1) | (1 << 3) | (1 << 6) | (1 << 7));
    for line in
        [format!("CapBnd:\t{five}"), format!("CapEff:\t{five}"), "NoNewPrivs:\t1".to_owned(), "Seccomp:\t2".to_owned()]
    {
        assert!(status.contains(&line), "{line} is not in:\n{status}");
    }
}
