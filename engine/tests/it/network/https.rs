//! HTTPS to names that lead to services, for the usual clients.

use scenario::result::RowStatus;
use serde_json::json;

use super::{acting, report};
use crate::harness::Harness;

/// Clients that each ask the mock over HTTP and HTTPS.
const CLIENTS: &str = r#"
say() { echo "$1: $(cat)"; }
for url in http://api.stripe.com https://api.stripe.com http://api.stripe.com:8080 https://stripe-mock.services.internal; do
    curl -sS $url/v1/charges 2>&1 | say "curl $url"
    python3 -c "import urllib.request as u; print(u.urlopen('$url/v1/charges').read().decode())" 2>&1 | tail -1 | say "urllib $url"
    python3 -c "import requests; print(requests.get('$url/v1/charges').text)" 2>&1 | tail -1 | say "requests $url"
    node -e "fetch('$url/v1/charges').then(a => a.text()).then(console.log, e => console.log(String(e.cause || e)))" 2>&1 | tail -1 | say "node $url"
done
curl -sS --http1.1 https://api.stripe.com/v1/charges 2>&1 | say "curl with HTTP/1.1"
curl -sS -o /dev/null -w '%{http_version}' https://api.stripe.com/v1/charges 2>&1 | say "curl's version"
env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.stripe.com/v1/charges 2>&1 | say "curl with the image's bundle"
git ls-remote https://api.stripe.com/repository.git 2>&1 | say "git"
curl -sS https://other.example/ 2>&1 | say "another name"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_clients_trust_names_that_lead_to_a_mock() {
    let harness = Harness::docker().await;
    let packet = |line: &str| format!("{:04x}{line}", line.len() + 4);
    let main = "95dcfa3633004da0049d3d0fa03f80589cbcaf31";
    let lines = [format!("{main} HEAD\n"), format!("{main} refs/heads/main\n")].map(|line| packet(&line));
    let references = format!("{}0000{}0000", packet("# service=git-upload-pack\n"), lines.concat());
    let routes = json!([
        {"path": "/v1/charges", "response": {"object": "list"}},
        {"path": "/repository.git/info/refs", "response": references, "response_headers": {"content-type": "application/x-git-upload-pack-advertisement"}},
    ]);
    let spec = json!({
        "base": "touchstone/debian:bookworm",
        "setup": {"packages": ["curl", "git", "nodejs", "python3-requests"]},
        "agent": {"type": "cli", "command": ["bash", "-c", CLIENTS], "timeout": "120s"},
        "services": [{"name": "stripe-mock", "type": "http_mock", "ports": [8080], "record": true, "routes": routes}],
        "network": {"dns_overrides": {"api.stripe.com": "stripe-mock.services.internal"}},
        "audit": {"http_calls": true},
        "resources": {"timeout": "10m"},
    });
    let (result, evidence) = harness.run(&acting("", &spec)).await;
    insta::assert_snapshot!(evidence.agent.stdout.text(), @r#"
    curl http://api.stripe.com: {"object":"list"}
    urllib http://api.stripe.com: {"object":"list"}
    requests http://api.stripe.com: {"object":"list"}
    node http://api.stripe.com: {"object":"list"}
    curl https://api.stripe.com: {"object":"list"}
    urllib https://api.stripe.com: {"object":"list"}
    requests https://api.stripe.com: {"object":"list"}
    node https://api.stripe.com: {"object":"list"}
    curl http://api.stripe.com:8080: {"object":"list"}
    urllib http://api.stripe.com:8080: {"object":"list"}
    requests http://api.stripe.com:8080: {"object":"list"}
    node http://api.stripe.com:8080: {"object":"list"}
    curl https://stripe-mock.services.internal: {"object":"list"}
    urllib https://stripe-mock.services.internal: {"object":"list"}
    requests https://stripe-mock.services.internal: {"object":"list"}
    node https://stripe-mock.services.internal: {"object":"list"}
    curl with HTTP/1.1: {"object":"list"}
    curl's version: 2
    curl with the image's bundle: {"object":"list"}
    git: 95dcfa3633004da0049d3d0fa03f80589cbcaf31	HEAD
    95dcfa3633004da0049d3d0fa03f80589cbcaf31	refs/heads/main
    another name: curl: (6) Could not resolve host: other.example
    "#);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(evidence.journals["stripe-mock"].exchanges.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_reached_under_a_name_of_the_outside_over_http_and_https() {
    let harness = Harness::docker().await;
    let program = r#"
import json, urllib.request
urls = ["http://api.example.com", "https://api.example.com", "http://api.example.com:8123", "http://app:8123", "https://app.services.internal"]
print(json.dumps({url: urllib.request.urlopen(url + "/where").read().decode() for url in urls}))
"#;
    let server = r#"
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(("%s as %s" % (self.path, self.headers["Host"])).encode())
http.server.HTTPServer(("0.0.0.0", 8123), Handler).serve_forever()
"#;
    let spec = json!({
        "services": [{"name": "app", "image": super::PYTHON, "ports": [8123], "command": ["python3", "-c", server]}],
        "network": {"dns_overrides": {"api.example.com": "app"}},
        "agent": {"type": "cli", "command": ["python3", "-c", program], "read_only": true, "user": "1234"},
    });
    let (result, evidence) = harness.run(&acting("", &spec)).await;
    insta::assert_json_snapshot!(report(&evidence), @r#"
    {
      "http://api.example.com": "/where as api.example.com",
      "https://api.example.com": "/where as api.example.com",
      "http://api.example.com:8123": "/where as api.example.com:8123",
      "http://app:8123": "/where as app:8123",
      "https://app.services.internal": "/where as app.services.internal"
    }
    "#);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
}
