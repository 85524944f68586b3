//! Sandboxes as tools.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use scenario::interactive::{
    Ask, CommandReply, DiffReply, FileBytes, FileState, ProcessState, Refusal, RefusalKind, Reply, StateReply,
};
use serde_json::{Value, json};
use store::{Clock as _, Demand, NewWorker, Pulse, SandboxClaim, SandboxLease, Store, WorkerId};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::serving::{Serving, until};
use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, HELLO, SANDBOX, TestApp};

const WORKER: WorkerId = WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(2) };
const CONTROL: &str = "http://10.0.0.1:9000";

/// A worker that makes every sandbox at once, until it is dropped.
struct FakeWorker {
    task: JoinHandle<()>,
    leases: Arc<Mutex<Vec<SandboxLease>>>,
}

impl Drop for FakeWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn register(app: &TestApp, reason: Option<&str>) {
    let new = NewWorker {
        id: WORKER,
        host: "box".to_owned(),
        control: CONTROL.to_owned(),
        slots: 2,
        budget: Demand { cpu_milli: 2000, memory: 1 << 30 },
        version: "1".to_owned(),
    };
    let pulse = Pulse { reason: reason.map(ToOwned::to_owned), ..Pulse::default() };
    app.store.register_worker(&new, &pulse, app.clock.now()).await.expect("a sandbox");
}

fn claim(now: Timestamp) -> SandboxClaim {
    let until = now + Duration::from_secs(60);
    SandboxClaim { worker: WORKER, token: "token".to_owned(), now, until, room: None }
}

async fn make(store: Store, now: Timestamp, leases: Arc<Mutex<Vec<SandboxLease>>>) {
    loop {
        match store.claim_sandbox(&claim(now)).await.expect("a sandbox") {
            Some(held) => {
                let services = json!({"db": {"host": "db.services.internal", "port": 5432, "ready": true}});
                assert!(store.sandbox_ready(&held.lease, &services).await.expect("a sandbox"));
                leases.lock().expect("a sandbox").push(held.lease);
            }
            None => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}

async fn worker(app: &TestApp) -> FakeWorker {
    register(app, None).await;
    let leases = Arc::new(Mutex::new(Vec::new()));
    let task = tokio::spawn(make(app.store.clone(), app.clock.now(), Arc::clone(&leases)));
    FakeWorker { task, leases }
}

/// Files that commands and files are about.
fn answer_with_files(app: &TestApp) -> Arc<Mutex<Vec<Ask>>> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (files, seen) = (Mutex::new(HashMap::<String, Vec<u8>>::new()), Arc::clone(&asked));
    app.workers.answer(move |worker, control, ask| {
        assert_eq!((worker, control), (WORKER.to_string().as_str(), CONTROL));
        seen.lock().expect("a sandbox").push(ask.clone());
        let mut files = files.lock().expect("a sandbox");
        let missing = || Refusal::new(RefusalKind::NotFound, "there is no such file");
        match ask {
            Ask::Command { command, background, .. } => {
                let stdout = if background { "42".to_owned() } else { format!("ran {command}\n") };
                Ok(Reply::Command(CommandReply { command, stdout, duration_ms: 3, ..CommandReply::default() }))
            }
            Ask::Write { path, content, .. } => {
                files.insert(path, content.0);
                Ok(Reply::Done)
            }
            Ask::Read { path, .. } => {
                files.get(&path).cloned().map(|bytes| Reply::File(FileBytes(bytes))).ok_or_else(missing)
            }
            Ask::Remove { path, .. } => files.remove(&path).map(|_| Reply::Done).ok_or_else(missing),
            Ask::State { .. } => Ok(Reply::State(state())),
            Ask::Diff { .. } => Ok(Reply::Diff(DiffReply { added: vec!["a.txt".to_owned()], ..DiffReply::default() })),
            Ask::Reported { .. } => Ok(Reply::Events(vec![
                json!({"event_type": "tool_call", "phase": "start", "tool": "inside"}),
                json!({"event_type": "tool_call", "phase": "end", "tool": "inside", "duration_ms": 10, "status": "ok"}),
            ])),
            Ask::Destroy { .. } => Ok(Reply::Done),
        }
    });
    asked
}

fn state() -> StateReply {
    let file = FileState { size: 2, mode: "0644".to_owned(), checksum: "sha256:ab".to_owned() };
    let process = ProcessState { pid: 7, command: "sleep 9".to_owned(), status: "sleeping".to_owned() };
    StateReply {
        captured_at: Timestamp::UNIX_EPOCH,
        files: BTreeMap::from([("a.txt".to_owned(), file)]),
        processes: vec![process],
        incomplete: false,
    }
}

/// A sandbox of `ada` that is ready: its path and its token.
async fn ready(app: &TestApp) -> (String, String) {
    app.upload(ADA, HELLO).await.expect(201);
    let made = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello"})).await.expect(201);
    assert_eq!(made["state"], "ready", "{made}");
    let text = |field: &str| made[field].as_str().expect("a sandbox").to_owned();
    (format!("/v1/sandboxes/{}", text("id")), text("token"))
}

#[tokio::test]
async fn a_sandbox_is_made_shown_and_ended() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    let asked = answer_with_files(&app);
    app.upload(ADA, HELLO).await.expect(201);
    let body = json!({"spec_id": "hello", "timeout": "10m", "metadata": {"purpose": "try"}, "unknown": 1});
    let made = app.post(ADA, "/v1/sandboxes", body).await.expect(201);
    let id = made["id"].as_str().unwrap();
    assert!(id.starts_with("sb-") && id.len() == 15, "{id}");
    assert_eq!((&made["spec_id"], &made["state"]), (&json!("hello"), &json!("ready")));
    assert_eq!(made["metadata"], json!({"purpose": "try"}));
    assert_eq!(made["services"], json!({"db": {"host": "db.services.internal", "port": 5432, "ready": true}}));
    let created: Timestamp = made["created_at"].as_str().unwrap().parse().unwrap();
    let expires: Timestamp = made["expires_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(expires.duration_since(created).as_secs(), 600);
    assert!(made["token"].as_str().unwrap().starts_with("ks_sb_"));
    for field in ["path", "url"] {
        assert!(made[field].is_string(), "{field}");
    }
    let path = format!("/v1/sandboxes/{id}");
    let shown = app.get(ADA_READS, &path).await.expect(200);
    assert_eq!((&shown["state"], shown.get("token")), (&json!("ready"), None));
    assert_eq!(app.get(ADA, "/v1/sandboxes").await.expect(200), json!([shown]));
    app.delete(ADA, &path).await.expect(204);
    app.delete(ADA, &path).await.expect(204);
    assert_eq!(app.get(ADA, &path).await.expect(200)["state"], "stopped");
    assert_eq!(app.get(ADA, "/v1/sandboxes").await.expect(200), json!([]));
    app.delete(ADA, "/v1/sandboxes/sb-ffffffffffff").await.refused(404);
    let asked = asked.lock().unwrap();
    assert!(!asked.is_empty() && asked.iter().all(|ask| *ask == Ask::Destroy { sandbox: id.to_owned() }), "{asked:?}");
}

#[tokio::test]
async fn timeouts_are_texts_or_seconds_within_a_day() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    app.upload(ADA, HELLO).await.expect(201);
    for (timeout, seconds) in [(json!("30s"), 30), (json!(90), 90), (json!(null), 3600), (json!("24h"), 86_400)] {
        let made = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello", "timeout": timeout})).await.expect(201);
        let stored = app.store.sandbox(made["id"].as_str().unwrap()).await.unwrap().unwrap();
        assert_eq!(stored.new.timeout, Duration::from_secs(seconds), "{timeout}");
    }
    for timeout in [json!("25h"), json!(0), json!("0s"), json!(-1), json!("soon"), json!(true), json!(1e300)] {
        app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello", "timeout": timeout})).await.refused(400);
    }
}

#[tokio::test]
async fn what_cannot_be_made_is_refused() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    app.upload(ADA, HELLO).await.expect(201);
    app.post(ADA, "/v1/sandboxes", json!({"spec_id": "missing"})).await.refused(404);
    app.post(BOB, "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(404);
    app.post(ADA, "/v1/sandboxes", json!({})).await.refused(400);
    app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello", "metadata": {"a": 1}})).await.refused(400);
    let many: BTreeMap<_, _> = (0..65).map(|number| (number.to_string(), "x")).collect();
    app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello", "metadata": many})).await.refused(400);
    let refused = HELLO.replace("id: hello", "id: not-here\ntags: [refused]");
    app.upload(ADA, &refused).await.expect(201);
    let reason = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "not-here"})).await.refused(400);
    assert!(reason.contains("no worker can run it"), "{reason}");
    app.post(ADA_READS, "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(403);
    app.post(SANDBOX, "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(403);
    app.post("", "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(401);
    assert_eq!(app.get(ADMIN, "/v1/sandboxes").await.expect(200), json!([]));
}

#[tokio::test]
async fn without_a_worker_that_takes_it_there_is_a_reason() {
    let app = TestApp::new().await;
    app.upload(ADA, HELLO).await.expect(201);
    let answer = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello"})).await;
    assert!(answer.refused(503).contains("no worker is running"), "{}", answer.text());
    assert!(!answer.header("retry-after").is_empty());
    register(&app, Some("its disk is full")).await;
    let refused = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(503);
    assert!(refused.contains("box: its disk is full"), "{refused}");
    register(&app, None).await;
    app.clock.pass(3600);
    let refused = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(503);
    assert!(refused.contains("no worker is running"), "{refused}");
    assert_eq!(app.get(ADA, "/v1/sandboxes").await.expect(200), json!([]));
}

#[tokio::test]
async fn a_sandbox_that_fails_says_why_and_one_that_nobody_waits_for_is_given_up() {
    let app = Arc::new(TestApp::new().await);
    register(&app, None).await;
    app.upload(ADA, HELLO).await.expect(201);
    let create = || {
        let app = Arc::clone(&app);
        tokio::spawn(async move { app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello"})).await })
    };
    let waiting = create();
    let now = app.clock.now();
    let held = until("a sandbox", || async { app.store.claim_sandbox(&claim(now)).await.unwrap() }).await;
    app.store.end_sandbox(&held.lease, Some("the image is missing"), now).await.unwrap();
    let refused = waiting.await.unwrap().refused(502);
    assert!(refused.contains("the image is missing"), "{refused}");
    let waiting = create();
    until("a sandbox", || async { (app.get(ADA, "/v1/sandboxes").await.json() != json!([])).then_some(()) }).await;
    waiting.abort();
    until("its end", || async { (app.get(ADA, "/v1/sandboxes").await.json() == json!([])).then_some(()) }).await;
}

#[tokio::test]
async fn secrets_are_sealed_for_their_sandbox_and_never_shown() {
    let app = TestApp::new().await;
    register(&app, None).await;
    let spec = HELLO.replace("id: hello", "id: hello\nsecrets: [{name: API_KEY}]");
    app.upload(ADA, &spec).await.expect(201);
    let refused = app.post(ADA, "/v1/sandboxes", json!({"spec_id": "hello"})).await.refused(400);
    assert!(refused.contains("API_KEY"), "{refused}");
    let app = Arc::new(app);
    let waiting = {
        let app = Arc::clone(&app);
        let body = json!({"spec_id": "hello", "secrets": {"API_KEY": "very-secret", "OTHER": "not named"}});
        tokio::spawn(async move { app.post(ADA, "/v1/sandboxes", body).await })
    };
    let now = app.clock.now();
    let held = until("a sandbox", || async { app.store.claim_sandbox(&claim(now)).await.unwrap() }).await;
    let sealed = held.sandbox.new.secrets.expect("secrets");
    assert!(!sealed.windows(6).any(|part| part == b"secret"));
    let opened = app.master_key.open(&sealed, &held.lease.sandbox).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&opened).unwrap(), json!({"API_KEY": "very-secret"}));
    app.store.sandbox_ready(&held.lease, &json!({})).await.unwrap();
    let made = waiting.await.unwrap();
    let path = format!("/v1/sandboxes/{}/trace", made.expect(201)["id"].as_str().unwrap());
    assert!(!made.text().contains("very-secret"));
    app.post(ADA, &path, json!({"events": [{"output": "key=very-secret"}]})).await.expect(200);
    assert_eq!(app.get(ADA, &path).await.expect(200)["events"][0]["output"], "key=[redacted:API_KEY]");
}

#[tokio::test]
async fn commands_are_passed_on_within_the_time_of_clients() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    let asked = answer_with_files(&app);
    let (path, _) = ready(&app).await;
    let commands = format!("{path}/commands");
    let ran = app.post(ADA, &commands, json!({"command": "ls"})).await.expect(200);
    assert_eq!((&ran["command"], &ran["stdout"], &ran["stderr"]), (&json!("ls"), &json!("ran ls\n"), &json!("")));
    assert_eq!((&ran["exit_code"], &ran["duration_ms"]), (&json!(0), &json!(3)));
    app.post(ADA, &commands, json!({"command": "ls", "timeout": "5s"})).await.expect(200);
    app.post(ADA, &commands, json!({"command": "ls", "timeout": 7})).await.expect(200);
    app.post(ADA, &commands, json!({"command": "ls", "timeout": "10m"})).await.expect(200);
    let started = app.post(ADA, &commands, json!({"command": "serve", "background": true})).await.expect(200);
    assert_eq!(started["stdout"], "42");
    let timeouts: Vec<_> = asked
        .lock()
        .unwrap()
        .iter()
        .map(|ask| match ask {
            Ask::Command { timeout_ms, background, .. } => (*timeout_ms, *background),
            other => panic!("{other:?}"),
        })
        .collect();
    let seconds = |seconds: u64| (Some(seconds * 1000), false);
    assert_eq!(timeouts, [seconds(25), seconds(5), seconds(7), seconds(25), (None, true)]);
    for wrong in
        [json!({}), json!({"command": " "}), json!({"command": "a\0b"}), json!({"command": "ls", "timeout": 0})]
    {
        app.post(ADA, &commands, wrong).await.refused(400);
    }
    app.post(ADA, &commands, json!({"command": "x".repeat(200_000)})).await.refused(413);
    app.post(ADA_READS, &commands, json!({"command": "ls"})).await.refused(403);
    app.post(BOB, &commands, json!({"command": "ls"})).await.refused(403);
}

#[tokio::test]
async fn files_are_written_read_and_removed_by_relative_and_absolute_paths() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    let asked = answer_with_files(&app);
    let (path, _) = ready(&app).await;
    let files = format!("{path}/files");
    for (name, url) in [("a/b.txt", "a/b.txt"), ("/tmp/x y", "/tmp/x%20y"), ("ä.txt", "%C3%A4.txt"), ("%2e", "%252e")]
    {
        let written = app.post(ADA, &files, json!({"path": name, "content": "hé\n"})).await;
        assert_eq!((written.status.as_u16(), written.body.len()), (204, 0));
        let read = app.get(ADA_READS, &format!("{files}/{url}")).await;
        assert_eq!((read.status.as_u16(), &read.body[..]), (200, "hé\n".as_bytes()), "{url}");
        assert_eq!(read.header("content-type"), "application/octet-stream");
        assert_eq!(read.header("x-content-type-options"), "nosniff");
        app.delete(ADA, &format!("{files}/{url}")).await.expect(204);
        app.get(ADA, &format!("{files}/{url}")).await.refused(404);
    }
    let absolute = asked.lock().unwrap().iter().any(|ask| matches!(ask, Ask::Read { path, .. } if path == "/tmp/x y"));
    assert!(absolute, "the second slash is a part of the path");
    app.post(ADA, &files, json!({"path": "b", "content": "AP8=", "encoding": "base64"})).await.expect(204);
    assert_eq!(&app.get(ADA, &format!("{files}/b")).await.body[..], [0, 255]);
    app.post(ADA, &files, json!({"path": "b", "content": "%", "encoding": "base64"})).await.refused(400);
    app.post(ADA, &files, json!({"path": "b", "content": "", "encoding": "rot13"})).await.refused(400);
    app.post(ADA_READS, &files, json!({"path": "b", "content": ""})).await.refused(403);
    app.delete(ADA_READS, &format!("{files}/b")).await.refused(403);
    app.get(BOB, &format!("{files}/b")).await.refused(403);
}

#[tokio::test]
async fn paths_with_tricks_are_refused_before_the_worker_hears_of_them() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    let asked = answer_with_files(&app);
    let (path, _) = ready(&app).await;
    let files = format!("{path}/files");
    let long = "x".repeat(5000);
    for trick in [
        "..",
        "../x",
        "a/../../x",
        "%2e%2e/x",
        "a/%2E%2e/x",
        "/../etc/passwd",
        "a%00b",
        "a%2F..%2Fb",
        "%FF",
        &long,
        "/",
    ] {
        app.get(ADA, &format!("{files}/{trick}")).await.refused(400);
        app.delete(ADA, &format!("{files}/{trick}")).await.refused(400);
    }
    for trick in ["..", "../x", "a/../x", "/..", "a\0b", "", "/", &long] {
        app.post(ADA, &files, json!({"path": trick, "content": "x"})).await.refused(400);
    }
    app.get(ADA, &format!("{files}/")).await.refused(404);
    assert_eq!(*asked.lock().unwrap(), []);
    let large = json!({"path": "x", "content": "x".repeat(17 << 20)});
    app.post(ADA, &files, large).await.refused(413);
    let larger = json!({"path": "x", "content": "x".repeat(25 << 20)});
    app.post(ADA, &files, larger).await.refused(413);
    app.call(Method::POST, ADA, &files, &[], "{").await.refused(400);
    assert_eq!(*asked.lock().unwrap(), []);
}

#[tokio::test]
async fn state_and_diff_are_shown() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    answer_with_files(&app);
    let (path, _) = ready(&app).await;
    let id = path.rsplit('/').next().unwrap();
    let state = app.get(ADA, &format!("{path}/state")).await.expect(200);
    assert_eq!((&state["captured_at"], &state["sandbox_id"]), (&json!("1970-01-01T00:00:00Z"), &json!(id)));
    assert_eq!(state["files"], json!({"a.txt": {"size": 2, "mode": "0644", "checksum": "sha256:ab"}}));
    assert_eq!(state["processes"], json!([{"pid": 7, "command": "sleep 9", "status": "sleeping"}]));
    let diff = app.get(ADA, &format!("{path}/diff")).await.expect(200);
    let expected = json!({"sandbox_id": id, "added": ["a.txt"], "removed": [], "modified": [], "incomplete": false});
    assert_eq!(diff, expected);
}

#[tokio::test]
async fn a_trace_has_what_was_reported_inside_and_outside_and_counts_calls_once() {
    let app = TestApp::new().await;
    let worker = worker(&app).await;
    answer_with_files(&app);
    let (path, token) = ready(&app).await;
    let trace = format!("{path}/trace");
    let events = json!({"events": [
        {"event_type": "tool_call", "phase": "start", "tool": "outside", "span_id": "a"},
        {"event_type": "tool_call", "phase": "end", "tool": "outside", "span_id": "a", "duration_ms": 30, "status": "error"},
        {"event_type": "tool_use", "phase": "invoked", "tool": "outside", "status": "ok"},
        {"event_type": "llm_call", "phase": "complete", "tool": "openai.create"},
        "odd",
    ]});
    assert_eq!(app.post(&token, &trace, events).await.expect(200)["ingested"], 5);
    let read = app.get(&token, &trace).await.expect(200);
    assert_eq!(read["events"].as_array().unwrap().len(), 7);
    let metrics = &read["metrics"];
    assert_eq!((&metrics["total_tool_calls"], &metrics["mean_duration_ms"]), (&json!(3), &json!(20)));
    assert_eq!(metrics["p95_duration_ms"], 30);
    assert!((metrics["tool_success_rate"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(metrics["tool_breakdown"]["inside"]["count"], 1);
    let id = path.rsplit('/').next().unwrap();
    assert_eq!(app.get(ADA, &format!("/v1/traces?sandbox_id={id}")).await.expect(200)["count"], 5);
    assert_eq!(app.get(BOB, &format!("/v1/traces?sandbox_id={id}")).await.expect(200)["count"], 0);
    app.post(BOB, &trace, json!({"events": [{}]})).await.refused(403);
    app.post(ADA_READS, &trace, json!({"events": [{}]})).await.refused(403);
    let lease = worker.leases.lock().unwrap()[0].clone();
    app.store.end_sandbox(&lease, None, app.clock.now()).await.unwrap();
    let read = app.get(ADA, &trace).await.expect(200);
    assert_eq!(read["events"].as_array().unwrap().len(), 5, "what was reported outside stays");
}

#[tokio::test]
async fn a_token_is_good_for_its_own_sandbox_and_nothing_else() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    answer_with_files(&app);
    let (own, token) = ready(&app).await;
    let (other, _) = ready(&app).await;
    app.get(&token, &own).await.expect(200);
    app.post(&token, &format!("{own}/commands"), json!({"command": "ls"})).await.expect(200);
    app.post(&token, &format!("{own}/files"), json!({"path": "a", "content": "b"})).await.expect(204);
    app.get(&token, &format!("{own}/files/a")).await.expect_raw(200);
    for part in ["", "/state", "/diff", "/trace", "/files/a"] {
        app.get(&token, &format!("{other}{part}")).await.refused(403);
    }
    app.post(&token, &format!("{other}/commands"), json!({"command": "ls"})).await.refused(403);
    app.post(&token, &format!("{other}/files"), json!({"path": "a", "content": "b"})).await.refused(403);
    app.post(&token, &format!("{other}/trace"), json!({"events": []})).await.refused(403);
    app.delete(&token, &other).await.refused(403);
    app.delete(&token, &format!("{other}/files/a")).await.refused(403);
    for path in [
        "/v1/sandboxes",
        "/v1/specs",
        "/v1/specs/hello",
        "/v1/experiments",
        "/v1/traces",
        "/v1/traces/x",
        "/v1/spans",
        "/v1/scores",
        "/v1/agents",
        "/v1/agents/a/latest",
        "/v1/agents/a/versions",
        "/v1/snapshots/x",
        "/v1/datasets",
        "/v1/datasets/x",
        "/v1/alerts",
        "/v1/alerts/x",
        "/v1/alerts/x/firings",
        "/v1/score-rules",
        "/v1/score-rules/x",
    ] {
        app.get(&token, path).await.refused(403);
    }
    for path in [
        "/v1/sandboxes",
        "/v1/traces",
        "/v1/datasets",
        "/v1/alerts",
        "/v1/score-rules",
        "/v1/experiments",
        "/v1/agents",
    ] {
        app.post(&token, path, json!({})).await.refused(403);
    }
    app.delete(&token, &own).await.expect(204);
}

#[tokio::test]
async fn what_a_worker_refuses_has_a_status_that_says_so() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    let (path, _) = ready(&app).await;
    for (kind, status, code) in [
        (RefusalKind::NotFound, 404, "not_found"),
        (RefusalKind::NotReady, 409, "not_ready"),
        (RefusalKind::Gone, 409, "gone"),
        (RefusalKind::Invalid, 400, "invalid"),
        (RefusalKind::Denied, 403, "denied"),
        (RefusalKind::TooLarge, 413, "too_large"),
        (RefusalKind::Busy, 503, "at_capacity"),
        (RefusalKind::TimedOut, 408, "timed_out"),
        (RefusalKind::Failed, 502, "failed"),
    ] {
        app.workers.answer(move |_, _, _| Err(Refusal::new(kind, "because")));
        let answer = app.get(ADA, &format!("{path}/files/a")).await;
        assert_eq!((answer.refused(status).as_str(), &answer.json()["code"]), ("because", &json!(code)));
    }
    app.workers.answer(|_, _, _| Ok(Reply::Done));
    for (method, part) in
        [(Method::GET, "files/a"), (Method::GET, "state"), (Method::GET, "diff"), (Method::POST, "commands")]
    {
        let answer = app.call(method, ADA, &format!("{path}/{part}"), &[], r#"{"command": "ls"}"#).await;
        answer.refused(502);
    }
}

#[tokio::test]
async fn a_sandbox_that_is_not_there_to_be_asked_is_a_conflict() {
    let app = TestApp::new().await;
    let worker = worker(&app).await;
    let asked = answer_with_files(&app);
    let (path, token) = ready(&app).await;
    let state = format!("{path}/state");
    app.store.worker_left(WORKER).await.unwrap();
    let refused = app.get(ADA, &state).await.refused(409);
    assert!(refused.contains("not there any more"), "{refused}");
    app.delete(ADA, &path).await.expect(204);
    register(&app, None).await;
    assert!(app.get(ADA, &state).await.refused(409).contains("was ended"));
    let (late, _) = ready(&app).await;
    app.clock.pass(3601);
    assert!(app.get(ADA, &format!("{late}/state")).await.refused(409).contains("is over"));
    assert_eq!(*asked.lock().unwrap(), []);
    drop(worker);
    let _ = token;
}

#[tokio::test]
async fn a_sandbox_whose_worker_is_lost_becomes_an_error_and_its_token_is_worth_nothing() {
    let app = TestApp::new().await;
    let _worker = worker(&app).await;
    answer_with_files(&app);
    let (path, token) = ready(&app).await;
    let serving = Serving::start(&app, |_| {}).await;
    assert_eq!(app.get(ADA, &path).await.expect(200)["state"], "ready");
    app.clock.pass(120);
    let lost = until("the loss", || async {
        let shown = app.get(ADA, &path).await.expect(200);
        (shown["state"] == "error").then_some(shown)
    });
    assert_eq!(lost.await["error"], "its worker was lost");
    let refused = app.get(ADA, &format!("{path}/state")).await.refused(409);
    assert!(refused.contains("its worker was lost"), "{refused}");
    until("the token's end", || async { (app.get(&token, &path).await.status == 401).then_some(()) }).await;
    serving.end().await;
}
