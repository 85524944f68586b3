//! Names of a sandbox.

use std::sync::Arc;

use scenario::result::RowStatus;
use serde_json::json;

use super::internet::Internet;
use super::{acting, lookups, report, went_out};
use crate::harness::Harness;

/// Program that looks names up, and prints the addresses of each.
const LOOK_UP: &str = r#"
import json, os, socket
def look(name):
    try:
        return " ".join(sorted({found[4][0] for found in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)}))
    except OSError as error:
        return type(error).__name__
report = {name: look(name) for name in os.environ["NAMES"].split(",")}
report["resolv"] = open("/etc/resolv.conf").read().split()[:2]
report["hosts"] = len(open("/etc/hosts").read().splitlines())
print(json.dumps(report))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn every_name_that_is_asked_for_is_known_and_carries_nothing_out() {
    let mut harness = Harness::docker().await;
    harness.secrets.insert("KEY".to_owned(), "Hunter2-and-more".to_owned());
    let names = "mail,MAIL.services.internal,api.example.com,localhost,touchstone.services.internal,model.services.internal,example.com,db,hunter2-AND-more.evil.example";
    let spec = json!({
        "services": [{"name": "mail", "type": "http_mock"}, {"name": "db", "image": "touchstone/redis:7"}],
        "network": {"dns_overrides": {"api.example.com": "mail.services.internal"}},
        "secrets": [{"name": "KEY", "from": "static://Hunter2-and-more"}],
        "setup": {"env": {"NAMES": names}},
        "agent": {"type": "cli", "command": ["python3", "-c", LOOK_UP], "read_only": true, "user": "1234"},
        "invariants": {"closed": {"description": "x", "check": {
            "type": "command_exit", "verify": "fresh", "command": "! grep -q nameserver /etc/resolv.conf && ! getent hosts mail",
        }}},
    });
    let (result, evidence) = harness.run(&acting("", &spec)).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = report(&evidence);
    assert_eq!(said["resolv"], json!(["nameserver", "127.20.0.53"]));
    assert_eq!(said["hosts"], json!(2), "only the sandbox itself is in /etc/hosts");
    insta::assert_json_snapshot!(said, @r#"
    {
      "mail": "127.10.0.1",
      "MAIL.services.internal": "127.10.0.1",
      "api.example.com": "127.10.0.1",
      "localhost": "127.0.0.1 ::1",
      "touchstone.services.internal": "127.20.0.2",
      "model.services.internal": "gaierror",
      "example.com": "gaierror",
      "db": "127.0.0.1",
      "hunter2-AND-more.evil.example": "gaierror",
      "resolv": [
        "nameserver",
        "127.20.0.53"
      ],
      "hosts": 2
    }
    "#);
    let key = evidence.marker_key.clone().expect("a key");
    insta::assert_snapshot!(lookups(&evidence).join("\n").replace(&key, "…"), @r"
    MAIL.services.internal A 127.10.0.1
    MAIL.services.internal AAAA 127.10.0.1
    [redacted:KEY/case:…].evil.example A nothing
    [redacted:KEY/case:…].evil.example AAAA nothing
    api.example.com A 127.10.0.1
    api.example.com AAAA 127.10.0.1
    db A 127.0.0.1
    db AAAA 127.0.0.1
    example.com A nothing
    example.com AAAA nothing
    mail A 127.10.0.1
    mail AAAA 127.10.0.1
    model.services.internal A nothing
    model.services.internal AAAA nothing
    touchstone.services.internal A 127.20.0.2
    touchstone.services.internal AAAA 127.20.0.2
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_systems_names_others_exist_and_still_cannot_be_reached() {
    let mut harness = Harness::docker().await;
    let internet = Internet::new(&[("open.example", &[&["11.0.0.1"]]), ("closed.example", &[&["11.0.0.2"]])]).await;
    harness.machine.outside = Arc::<Internet>::clone(&internet);
    let program = r#"
import json, socket, urllib.request, urllib.error
def look(name):
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        return type(error).__name__
report = {name: look(name) for name in ["open.example", "closed.example", "nowhere.example"]}
for name in ["open.example", "closed.example"]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        report[name] += " " + opener.open("http://" + name).read().decode()
    except urllib.error.HTTPError as error:
        report[name] += " " + str(error.code) + " " + error.read().decode().strip()
print(json.dumps(report))
"#;
    let spec = json!({"network": {"egress": {"allow": ["open.example"]}}, "determinism": {"dns": "system"}});
    let (_, evidence) = harness.run(&acting(program, &spec)).await;
    insta::assert_json_snapshot!(report(&evidence), @r#"
    {
      "open.example": "127.20.0.3 11.0.0.1 as open.example",
      "closed.example": "127.20.0.3 403 touchstone: closed.example: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`",
      "nowhere.example": "gaierror"
    }
    "#);
    insta::assert_snapshot!(went_out(&evidence).join("\n"), @r"
    closed.example:80 denied: the spec does not let it out of the sandbox; to allow it, add the name to `network.egress.allow`
    open.example:80 at 11.0.0.1, both ways
    ");
    assert_eq!(internet.connected(), ["11.0.0.1:80"]);
}
