//! Requests in, verdict out.

use crate::checks::testing::{check_journal, read};
use crate::evidence::{Blob, Body, Exchange, Journal, Overflow, OverflowCount};
use crate::verdict::{ErrorKind, Outcome, Verdict};

use super::Field;

fn request(method: &str, path: &str, body: &str) -> Exchange {
    Exchange {
        method: method.to_owned(),
        path: path.to_owned(),
        query: vec![("page".to_owned(), "2".to_owned())],
        headers: vec![("x-id".to_owned(), "7".to_owned()), ("content-type".to_owned(), "application/json".to_owned())],
        body: Body::Kept(Blob::from(body)),
        status: 200,
        at_ms: 0,
        fault: None,
        answer: None,
    }
}

fn mails() -> Journal {
    Journal {
        exchanges: vec![
            request("POST", "/api/messages", r#"{"to": "finance@co", "n": 1, "items": [{"id": "a"}]}"#),
            request("GET", "/api/messages/1", ""),
            request("POST", "/api/messages", r#"{"to": ["sales@co", "finance@co"], "text": "renewal", "n": 2.50}"#),
        ],
        overflow: None,
    }
}

fn judge(assertion: &str, journal: Journal) -> Verdict {
    check_journal(&format!("{{type: http_mock_assertions, service: mail, assertions: [{assertion}]}}"), journal)
}

fn holds(assertion: &str) {
    let verdict = judge(assertion, mails());
    assert!(verdict.is_passed(), "{assertion}: {}", verdict.message);
}

fn fails(assertion: &str) -> String {
    let verdict = judge(assertion, mails());
    assert_eq!(verdict.outcome, Outcome::Failed, "{assertion}");
    verdict.message
}

#[test]
fn every_field_can_be_asked_for() {
    for assertion in [
        "{field: request_count, equals: 3}",
        "{field: last_request.body, contains: renewal}",
        "{field: last_request.headers, contains: application/json}",
        "{field: last_request.headers.X-Id, equals: 7}",
        "{field: last_request.method, equals: POST}",
        "{field: last_request.path, matches: '^/api/'}",
        "{field: last_request.query.page, equals: 2}",
        "{field: last_request.query, equals: {page: '2'}}",
        "{field: last_request.json.n, equals: 2.5}",
        "{field: last_request.json.to, contains: finance@co}",
        "{field: 'last_request.json.to[-1]', equals: finance@co}",
        "{field: 'requests[0].json.items[0].id', equals: a}",
        "{field: 'requests[-3].json.n', equals: 1}",
        "{field: 'requests[1]', contains: '\"method\":\"GET\"'}",
        "{field: last_request.json, contains: renewal}",
    ] {
        holds(assertion);
    }
}

#[test]
fn filters_choose_requests() {
    for (filters, count) in [
        ("{method: POST}", 2),
        ("{method: post}", 2),
        ("{path: /api/messages}", 2),
        ("{path: '/api/messages/*'}", 1),
        ("{path: '/api/**'}", 3),
        ("{query: {page: 2}}", 3),
        ("{query: {page: 3}}", 0),
        ("{headers: {X-ID: 7}}", 3),
        ("{x-id: 7}", 3),
        ("{to: finance@co}", 2),
        ("{to: sales@co}", 1),
        ("{n: 1.0}", 1),
        ("{method: POST, to: nobody@co}", 0),
    ] {
        holds(&format!("{{field: request_count, filters: {filters}, equals: {count}}}"));
    }
    holds("{field: last_request.json.n, filters: {to: sales@co}, equals: 2.5}");
    holds("{field: 'requests[0].method', filters: {method: GET}, equals: GET}");
}

#[test]
fn form_bodies_are_filtered_by_field() {
    let mut form = request("POST", "/", "to=finance%40co&x=a+b");
    form.headers = vec![("content-type".to_owned(), "application/x-www-form-urlencoded; charset=utf-8".to_owned())];
    let journal = Journal { exchanges: vec![form], overflow: None };
    assert!(judge("{field: request_count, filters: {to: finance@co, x: a b}, equals: 1}", journal).is_passed());
}

#[test]
fn failures_say_which_assertion_and_what_was_found() {
    insta::assert_snapshot!(fails("{field: request_count, equals: 3}, {field: request_count, filters: {method: POST}, equals: 1}"), @"assertions[1] `request_count` of `mail` (method POST): expected 1, found 2");
    insta::assert_snapshot!(fails("{field: 'requests[5].body', contains: x}"), @"assertions[0] `requests[5].body` of `mail`: expected a request, found only 3");
    insta::assert_snapshot!(fails("{field: 'requests[-4].body', contains: x}"), @"assertions[0] `requests[-4].body` of `mail`: expected a request, found only 3");
    insta::assert_snapshot!(fails("{field: last_request.body, filters: {method: PUT}, contains: x}"), @"assertions[0] `last_request.body` of `mail` (method PUT): expected a request, found none");
    insta::assert_snapshot!(fails("{field: last_request.headers.x-none, not_equals: x}"), @"assertions[0] `last_request.headers.x-none` of `mail`: expected a header `x-none`, found none");
    insta::assert_snapshot!(fails("{field: 'requests[0].json.items[3].id', not_equals: x}"), @r#"assertions[0] `requests[0].json.items[3].id` of `mail`: expected a field `json.items[3].id`, found none in {"to":"finance@co","n":1,"items":[{"id":"a"}]}"#);
    insta::assert_snapshot!(fails("{field: 'requests[1].json.x', equals: 1}"), @r#"assertions[0] `requests[1].json.x` of `mail`: expected a JSON body, found """#);
}

#[test]
fn a_mock_that_was_never_called_has_an_empty_journal() {
    assert!(judge("{field: request_count, equals: 0}", Journal::default()).is_passed());
    let nobody = crate::checks::testing::judge(
        "{type: http_mock_assertions, service: other, assertions: [{field: request_count, equals: 0}]}",
        &[],
        &crate::evidence::Evidence::default(),
    );
    assert_eq!(nobody.outcome, Outcome::Errored(ErrorKind::Infrastructure), "a lost journal proves nothing");
}

#[test]
fn after_an_overflow_counts_are_right_and_the_rest_never_passes() {
    let counted = |method: &str, path: Option<&str>, count| OverflowCount {
        method: method.to_owned(),
        path: path.map(ToOwned::to_owned),
        count,
    };
    let counts =
        vec![counted("POST", Some("/api/messages"), 4), counted("POST", Some("/other"), 1), counted("GET", None, 2)];
    let overflowed = || Journal { overflow: Some(Overflow { counts: counts.clone() }), ..mails() };
    let verdict = |assertion: &str| judge(assertion, overflowed());
    assert!(verdict("{field: request_count, equals: 10}").is_passed());
    assert!(verdict("{field: request_count, filters: {method: POST}, equals: 7}").is_passed());
    assert!(verdict("{field: request_count, filters: {method: POST, path: /api/messages}, equals: 6}").is_passed());
    assert!(verdict("{field: 'requests[0].json.n', equals: 1}").is_passed());
    for assertion in [
        "{field: request_count, filters: {to: finance@co}, equals: 2}",
        "{field: request_count, filters: {path: /api/messages}, gte: 0}",
        "{field: request_count, filters: {method: GET, path: '/api/**'}, gte: 0}",
        "{field: last_request.body, not_equals: x}",
        "{field: 'requests[3].body', not_equals: x}",
        "{field: 'requests[-1].method', not_equals: x}",
    ] {
        let verdict = verdict(assertion);
        assert!(
            verdict.outcome == Outcome::Failed && verdict.message.ends_with("(limit `requests`)"),
            "{assertion}: {verdict:?}"
        );
    }
}

#[test]
fn a_body_that_was_not_kept_never_passes() {
    for body in [Body::Dropped { size: 9 }, Body::Cut { kept: Blob::from("{"), size: 9, sha256: String::new() }] {
        let journal =
            || Journal { exchanges: vec![Exchange { body: body.clone(), ..request("POST", "/", "") }], overflow: None };
        for assertion in [
            "{field: last_request.body, not_equals: x}",
            "{field: last_request, not_equals: {a: 1}}",
            "{field: last_request.json.a, not_equals: x}",
            "{field: request_count, filters: {to: x}, equals: 0}",
        ] {
            let verdict = judge(assertion, journal());
            assert!(
                verdict.outcome == Outcome::Failed && verdict.message.contains("limit `requests`"),
                "{assertion}: {verdict:?}"
            );
        }
        assert!(judge("{field: request_count, equals: 1}", journal()).is_passed());
        assert!(judge("{field: last_request.method, equals: POST}", journal()).is_passed());
    }
}

#[test]
fn odd_fields_are_refused() {
    for field in [
        "",
        "requestcount",
        "last_request.",
        "last_request.bdy",
        "requests",
        "requests[x]",
        "requests[0",
        "last_request.json..a",
        "last_request.headers.",
        "request_count.x",
        "last_requestbody",
    ] {
        assert!(Field::parse(field).is_err(), "{field}");
    }
    let _ = read::<Field>("last_request.json");
}

#[test]
fn a_request_cannot_hide_from_a_filter() {
    let typed = |body: &[u8], types: &[&str]| {
        let headers = types.iter().map(|media_type| ("content-type".to_owned(), (*media_type).to_owned())).collect();
        Journal {
            exchanges: vec![Exchange { headers, body: Body::Kept(Blob(body.to_vec())), ..request("POST", "/", "") }],
            overflow: None,
        }
    };
    let none = "{field: request_count, filters: {to: x}, equals: 0}";
    let deep = format!("{{\"to\": \"x\", \"a\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let utf16: Vec<u8> = "\u{feff}{\"to\": \"x\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let json: &[&str] = &["application/json"];
    for (body, types) in [
        (&b"{\"to\": \"x\", \"n\": 1e999}"[..], json),
        (deep.as_bytes(), json),
        (b"{\"to\": \"x\", \"s\": \"\\ud800\"}", json),
        ("\u{feff}{\"to\": \"x\"}".as_bytes(), json),
        (" \u{feff}\u{feff} {\"to\": \"x\"}".as_bytes(), json),
        (b"\0{\"to\": \"x\"}", json),
        (b"/**/{\"to\": \"x\"}", json),
        (b"{\"to\": \"x\", \"to\": \"y\"}", json),
        (b"{\"to\": \"y\", \"to\": \"x\"}", &[]),
        (b"[{\"to\": \"x\"}]", json),
        (&utf16, &[]),
        (b"to=x", &["Application/X-WWW-Form-Urlencoded; charset=utf-8"]),
        (b"to=x", &["text/plain", "application/x-www-form-urlencoded"]),
        (b"to=x", &["application/x-www-form-urlencoded, text/plain"]),
        (b"--b\r\nContent-Disposition: form-data; name=\"to\"\r\n\r\nx\r\n--b--", &["multipart/form-data; boundary=b"]),
    ] {
        assert_eq!(
            judge(none, typed(body, types)).outcome,
            Outcome::Failed,
            "{:?} {types:?}",
            String::from_utf8_lossy(body)
        );
    }
    for (body, types) in [
        (&b"{\"to\": \"y\"}"[..], json),
        (b"to=x", &["text/plain"]),
        (b"{name} logged in", &["text/plain"]),
        (b"", json),
        (b"{x}=1&to=y", &["application/x-www-form-urlencoded"]),
    ] {
        let verdict = judge(none, typed(body, types));
        assert!(verdict.is_passed(), "{:?} {types:?}: {}", String::from_utf8_lossy(body), verdict.message);
    }
}

#[test]
fn a_field_that_stands_twice_is_not_believed() {
    let journal =
        Journal { exchanges: vec![request("POST", "/", "{\"to\": \"evil\", \"to\": \"x\"}")], overflow: None };
    assert_eq!(judge("{field: last_request.json.to, equals: x}", journal).outcome, Outcome::Failed);
}
