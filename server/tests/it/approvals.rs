//! Calls that wait for a person, over the API.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use store::{Approval, Clock as _, NewApproval, RunId};
use tower::ServiceExt as _;

use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, HELLO, SANDBOX, TestApp};

impl TestApp {
    /// An experiment of `ada` with a held call, which may be decided on for 300 s.
    pub(crate) async fn held(&self) -> Approval {
        let id = self.running(HELLO).await;
        self.hold(&id, 0).await
    }

    /// Another held call of an experiment.
    pub(crate) async fn hold(&self, experiment: &str, repetition: u64) -> Approval {
        let now = self.clock.now();
        let new = NewApproval {
            id: format!("ap_{}{repetition}", &experiment[30..]),
            run: RunId { experiment: experiment.parse().expect("an id"), number: 1 },
            scenario: "default-r0".to_owned(),
            session: "main".to_owned(),
            tool: "refund".to_owned(),
            arguments_hash: "sha256:a".to_owned(),
            contract: "sha256:c".to_owned(),
            repetition,
            call: "call_1".to_owned(),
            state_version: 4,
            context: vec![("Amount".to_owned(), json!(120)), ("To <b>".to_owned(), json!({"iban": "<script>x"}))],
            checkpoints: vec!["large_refund".to_owned()],
            reason: "`amount` is above 100 <i>".to_owned(),
            deadline: now + std::time::Duration::from_secs(300),
            allows_on_timeout: false,
        };
        self.store.ask_for_approval(&new, now).await.expect("asked")
    }
}

fn decision(word: &str) -> Value {
    json!({"decision": word, "args_hash": "sha256:a", "note": "fine"})
}

#[tokio::test]
async fn a_held_call_is_listed_shown_and_decided_on_once() {
    let app = TestApp::new().await;
    let id = app.held().await.new.id;
    let listed = app.get(ADA_READS, "/v1/approvals?status=pending").await.expect(200);
    assert_eq!((&listed["count"], &listed["next_cursor"]), (&json!(1), &json!("")));
    let shown = app.get(ADA, &format!("/v1/approvals/{id}")).await.expect(200);
    assert_eq!(listed["items"][0], shown);
    for (field, expected) in [
        ("tool", json!("refund")),
        ("args_hash", json!("sha256:a")),
        ("context", json!([{"label": "Amount", "value": 120}, {"label": "To <b>", "value": {"iban": "<script>x"}}])),
        ("checkpoints", json!(["large_refund"])),
        ("deadline", json!("2023-11-14T22:18:20Z")),
        ("on_timeout", json!("deny")),
        ("status", json!("pending")),
        ("by", json!("")),
        ("decided_at", Value::Null),
    ] {
        assert_eq!(shown[field], expected, "{field}");
    }
    let path = format!("/v1/approvals/{id}/decision");
    let decided = app.post(ADA, &path, decision("approve")).await.expect(200);
    assert_eq!(
        (&decided["status"], &decided["by"], &decided["by_key"]),
        (&json!("approved"), &json!("ada"), &json!("key_ada"))
    );
    assert_eq!(decided["note"], "fine");
    assert!(app.post(ADA, &path, decision("deny")).await.refused(409).contains("approved already, by ada"));
    assert_eq!(app.get(ADA, "/v1/approvals?status=pending").await.expect(200)["items"], json!([]));
    assert_eq!(app.get(ADA, "/v1/approvals?status=approved").await.expect(200)["items"], json!([decided]));
}

#[tokio::test]
async fn what_does_not_count_says_why() {
    let app = TestApp::new().await;
    let id = app.held().await.new.id;
    let path = format!("/v1/approvals/{id}/decision");
    app.post(ADA, "/v1/approvals/ap_none/decision", decision("deny")).await.refused(404);
    app.get(ADA, "/v1/approvals/ap_none").await.refused(404);
    let other = json!({"decision": "approve", "args_hash": "sha256:b"});
    let answer = app.post(ADA, &path, other).await;
    assert_eq!(answer.expect(412)["code"], "precondition_failed");
    for wrong in [
        json!({}),
        json!({"decision": "approve"}),
        json!({"decision": "maybe", "args_hash": "sha256:a"}),
        json!({"decision": "approve", "args_hash": "sha256:a", "by": "a\nb"}),
        json!({"decision": "approve", "args_hash": "sha256:a", "note": "x".repeat(2001)}),
    ] {
        app.post(ADA, &path, wrong).await.refused(400);
    }
    app.get(ADA, "/v1/approvals?status=lost").await.refused(400);
    app.clock.pass(300);
    assert!(app.post(ADA, &path, decision("approve")).await.refused(410).contains("has passed"));
    assert_eq!(app.get(ADA, &format!("/v1/approvals/{id}")).await.expect(200)["status"], "expired");
    assert_eq!(app.get(ADA, "/v1/approvals?status=expired").await.expect(200)["count"], 1);
}

#[tokio::test]
async fn only_who_may_write_for_the_owner_decides() {
    let app = TestApp::new().await;
    let id = app.held().await.new.id;
    let path = format!("/v1/approvals/{id}/decision");
    for key in [ADA_READS, BOB, SANDBOX] {
        app.post(key, &path, decision("approve")).await.refused(403);
    }
    app.post("", &path, decision("approve")).await.refused(401);
    app.get(BOB, &format!("/v1/approvals/{id}")).await.refused(403);
    assert_eq!(app.get(BOB, "/v1/approvals").await.expect(200)["items"], json!([]));
    let named = json!({"decision": "deny", "args_hash": "sha256:a", "by": "Grace"});
    assert_eq!(app.post(ADMIN, &path, named).await.expect(200)["by"], "Grace");
}

#[tokio::test]
async fn a_token_of_a_sandbox_has_no_way_to_approvals() {
    let app = TestApp::new().await;
    let id = app.held().await.new.id;
    for path in ["/v1/approvals", "/v1/approvals/stream", &format!("/v1/approvals/{id}"), "/approvals"] {
        app.get(SANDBOX, path).await.refused(403);
    }
    app.post(SANDBOX, &format!("/v1/approvals/{id}/decision"), decision("approve")).await.refused(403);
    assert_eq!(app.get(ADA, &format!("/v1/approvals/{id}")).await.expect(200)["status"], "pending");
}

#[tokio::test]
async fn of_two_decisions_at_once_one_counts() {
    let app = TestApp::new().await;
    let experiment = app.running(HELLO).await;
    for repetition in 0..10 {
        let path = format!("/v1/approvals/{}/decision", app.hold(&experiment, repetition).await.new.id);
        let (one, two) =
            tokio::join!(app.post(ADA, &path, decision("approve")), app.post(ADMIN, &path, decision("deny")));
        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

#[tokio::test]
async fn a_list_goes_on_where_it_was() {
    let app = TestApp::new().await;
    let experiment = app.running(HELLO).await;
    for repetition in 0..3 {
        app.clock.pass(1);
        app.hold(&experiment, repetition).await;
    }
    let first = app.get(ADA, "/v1/approvals?limit=2").await.expect(200);
    let cursor = first["next_cursor"].as_str().expect("a cursor").to_owned();
    let rest = app.get(ADA, &format!("/v1/approvals?limit=2&cursor={cursor}")).await.expect(200);
    let repetitions: Vec<_> =
        [&first, &rest].iter().flat_map(|page| page["items"].as_array().expect("items")).collect();
    let repetitions: Vec<_> = repetitions.iter().map(|one| one["repetition"].as_u64().expect("a number")).collect();
    assert_eq!((repetitions, &rest["next_cursor"]), (vec![2, 1, 0], &json!("")));
}

/// The next event of a stream: its name, and the approval's id and status.
async fn told(stream: &mut Body) -> (String, String, String) {
    let piece = stream.frame().await.expect("an event").expect("a piece").into_data().expect("data");
    let text = String::from_utf8(piece.to_vec()).expect("text");
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).expect("a line").trim().to_owned();
    let data: Value = serde_json::from_str(&line("data:")).expect("JSON");
    let field = |name: &str| data[name].as_str().expect("text").to_owned();
    (line("event:"), field("id"), field("status"))
}

#[tokio::test]
async fn a_stream_tells_of_those_that_wait_and_of_decisions() {
    let app = TestApp::new().await;
    let held = app.held().await.new;
    let request = Request::get("/v1/approvals/stream").header("authorization", format!("Bearer {ADA_READS}"));
    let answer = app.router.clone().oneshot(request.body(Body::empty()).expect("a request")).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let mut stream = answer.into_body();
    let said = |kind: &str, id: &str, status: &str| (format!("approval.{kind}"), id.to_owned(), status.to_owned());
    assert_eq!(told(&mut stream).await, said("requested", &held.id, "pending"));
    let other = app.hold(&held.run.experiment.to_string(), 1).await.new.id;
    assert_eq!(told(&mut stream).await, said("requested", &other, "pending"));
    app.post(ADA, &format!("/v1/approvals/{other}/decision"), decision("deny")).await.expect(200);
    assert_eq!(told(&mut stream).await, said("decided", &other, "denied"));
    app.clock.pass(300);
    assert_eq!(told(&mut stream).await, said("decided", &held.id, "expired"));
    drop(stream);
    app.until_waiting(0).await;
}
