//! The way out of a sandbox, for agents that behave and for those that do not.

use std::sync::Arc;

use scenario::result::RowStatus;
use serde_json::json;

use super::internet::Internet;
use super::{acting, lookups, report, went_out};
use crate::harness::Harness;

/// Beginning of the agents' programs: every try is in the report.
const TRIES: &str = r#"
import http.client, json, socket, ssl, sys, urllib.request, urllib.error
report = {}
def attempt(name, action):
    try:
        report[name] = action()
    except urllib.error.HTTPError as error:
        report[name] = str(error.code) + " " + error.read().decode().strip()
    except ssl.SSLError as error:
        report[name] = "SSLError"
    except OSError as error:
        report[name] = type(error).__name__ + " " + str(error.errno)
context = ssl.create_default_context(cafile="/opt/outside.pem")
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
proxied = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
def get(opener, url):
    return lambda: opener.open(url, timeout=20).read().decode()
"#;

/// Program that goes out as it may.
const BEHAVES: &str = r#"
for name in ["http://a.open.example/x", "https://a.open.example/x", "https://exact.example/x"]:
    attempt("direct " + name, get(direct, name))
    attempt("proxied " + name, get(proxied, name))
print(json.dumps(report))
"#;

/// Tries to get elsewhere.
const HOSTILE: &str = r#"
for name in ["http://evil.example", "https://evil.example", "http://private.open.example", "http://metadata.open.example"]:
    attempt("direct " + name, get(direct, name))
    attempt("proxied " + name, get(proxied, name))
def keep_alive():
    client = http.client.HTTPConnection("a.open.example", timeout=20)
    statuses = []
    for host in ["a.open.example", "evil.example", "11.0.0.3", "a.open.example"]:
        client.request("GET", "/", headers={"Host": host})
        answer = client.getresponse()
        answer.read()
        statuses.append(answer.status)
    return statuses
attempt("another host on one connection", keep_alive)
def server_name(name):
    def shake():
        stream = socket.create_connection(("a.open.example", 443), timeout=20)
        loose = ssl.create_default_context()
        loose.check_hostname, loose.verify_mode = False, ssl.CERT_NONE
        loose.wrap_socket(stream, server_hostname=name)
        return "connected"
    return shake
attempt("another server in TLS", server_name("evil.example"))
attempt("no server in TLS", server_name(None))
def connect(target, inside=None):
    def ask():
        stream = socket.create_connection(("egress.services.internal", 3128), timeout=20)
        stream.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode())
        status = int(stream.recv(1000).split()[1])
        if status == 200 and inside:
            loose = ssl.create_default_context()
            loose.check_hostname, loose.verify_mode = False, ssl.CERT_NONE
            loose.wrap_socket(stream, server_hostname=inside)
        return status
    return ask
for target in ["11.0.0.3:443", "[::1]:443", "a.open.example:22", "evil.example:443", "mail:443"]:
    attempt("tunnel to " + target, connect(target))
attempt("tunnel for one and TLS for another", connect("a.open.example:443", "exact.example"))
def reach(family, address):
    def dial():
        stream = socket.socket(family, socket.SOCK_STREAM)
        stream.settimeout(3)
        stream.connect((address, 80))
        return "connected"
    return dial
attempt("an address", reach(socket.AF_INET, "11.0.0.3"))
attempt("an address of the newer kind", reach(socket.AF_INET6, "2606:4700::1111"))
attempt("a mapped address", reach(socket.AF_INET6, "::ffff:11.0.0.3"))
def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("11.0.0.3", 53))
    return "sent"
attempt("a datagram", datagram)
for turn in ["first", "second"]:
    attempt("rebound, " + turn, get(direct, "http://rebound.open.example"))
print(json.dumps(report))
"#;

async fn internet() -> Arc<Internet> {
    Internet::new(&[
        ("a.open.example", &[&["11.0.0.1"]]),
        ("exact.example", &[&["11.0.0.2"]]),
        ("evil.example", &[&["11.0.0.3"]]),
        ("private.open.example", &[&["10.0.0.1", "172.17.0.1"]]),
        ("metadata.open.example", &[&["169.254.169.254", "fd00:ec2::254"]]),
        ("rebound.open.example", &[&["11.0.0.2"], &["127.0.0.1"]]),
    ])
    .await
}

fn spec(internet: &Internet) -> serde_json::Value {
    json!({
        "services": [{"name": "mail", "type": "http_mock"}],
        "network": {"egress": {"allow": ["*.open.example", "exact.example", "*.services.internal"]}},
        "setup": {"files": [{"path": "/opt/outside.pem", "content": internet.certificate}]},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_allowed_are_reached_with_and_without_a_proxy() {
    let mut harness = Harness::docker().await;
    let internet = internet().await;
    harness.machine.outside = Arc::<Internet>::clone(&internet);
    let (result, evidence) = harness.run(&acting(&format!("{TRIES}{BEHAVES}"), &spec(&internet))).await;
    insta::assert_json_snapshot!(report(&evidence), @r#"
    {
      "direct http://a.open.example/x": "11.0.0.1 as a.open.example",
      "proxied http://a.open.example/x": "11.0.0.1 as a.open.example",
      "direct https://a.open.example/x": "11.0.0.1 as a.open.example",
      "proxied https://a.open.example/x": "11.0.0.1 as a.open.example",
      "direct https://exact.example/x": "11.0.0.2 as exact.example",
      "proxied https://exact.example/x": "11.0.0.2 as exact.example"
    }
    "#);
    insta::assert_snapshot!(went_out(&evidence).join("\n"), @r"
    a.open.example:443 at 11.0.0.1, both ways
    a.open.example:80 at 11.0.0.1, both ways
    exact.example:443 at 11.0.0.2, both ways
    ");
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_goes_out_and_every_try_is_known() {
    let mut harness = Harness::docker().await;
    let internet = internet().await;
    harness.machine.outside = Arc::<Internet>::clone(&internet);
    let mut spec = spec(&internet);
    spec["forbidden"] = json!({"http_except": ["mail"]});
    let (result, evidence) = harness.run(&acting(&format!("{TRIES}{HOSTILE}"), &spec)).await;
    insta::assert_json_snapshot!("what_attackers_are_told", report(&evidence));
    insta::assert_snapshot!("nothing_else_goes_out", went_out(&evidence).join("\n"));
    insta::assert_snapshot!("names_that_attackers_look_up", lookups(&evidence).join("\n"));
    let outside = internet.connected();
    assert!(outside.iter().all(|address| address.starts_with("11.0.0.1:") || address == "11.0.0.2:80"), "{outside:?}");
    assert!(internet.asked().iter().all(|name| name != "evil.example"), "{:?}", internet.asked());
    assert!(result.forbidden[0].violated && result.status == RowStatus::Fail, "{result:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_setup_may_reach_the_agent_may_not() {
    let mut harness = Harness::docker().await;
    let internet = internet().await;
    harness.machine.outside = Arc::<Internet>::clone(&internet);
    let fetch = r#"
import socket, urllib.request
open("fetched", "wb").write(urllib.request.urlopen("http://evil.example").read())
"#;
    // A program of setup holds a connection to the outside open, and listens for the agent.
    let hold = r#"
import socket, os
out = socket.create_connection(("evil.example", 80))
server = socket.create_server(("127.0.0.1", 9000))
if os.fork() == 0:
    os.setsid()
    os.close(1); os.close(2)
    while True:
        client, _ = server.accept()
        try:
            out.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            client.sendall(out.recv(1000) or b"ended")
        except OSError:
            client.sendall(b"ended")
        client.close()
"#;
    let agent = r#"
held = socket.create_connection(("127.0.0.1", 9000)).recv(1000)
report["held"] = held.decode().split("\r\n")[0]
attempt("direct", get(direct, "http://evil.example"))
server = socket.create_server(("0.0.0.0", 443))
report["fetched"] = open("fetched").read()
print(json.dumps(report))
"#;
    let spec = json!({"setup": {
        "files": [{"path": "/opt/outside.pem", "content": internet.certificate}],
        "commands": [["python3", "-c", fetch], ["python3", "-c", hold]],
    }});
    let (_, evidence) = harness.run(&acting(&format!("{TRIES}{agent}"), &spec)).await;
    insta::assert_json_snapshot!(report(&evidence), @r#"
    {
      "held": "ended",
      "direct": "URLError None",
      "fetched": "11.0.0.3 as evil.example"
    }
    "#);
    assert_eq!(
        (lookups(&evidence), went_out(&evidence)),
        (vec!["evil.example A nothing".to_owned(), "evil.example AAAA nothing".to_owned()], Vec::new())
    );
}
