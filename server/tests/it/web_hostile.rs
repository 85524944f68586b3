//! Hostile text in every place where somebody can write or name something: nothing of it becomes markup, or hides.

use scenario::event::Event;
use scenario::evidence::{
    AgentRecord, Answer as ProbeAnswer, AuditEvent, Audited, Captured, CommandAnswer, DatabaseChanges, Evidence,
    Exchange, Exit, FileDiff, ImageRecord, Journal, ModelCall, ModelRecord, ProcessUse, SnapshotRecord, TableChange,
    WorkspaceChanges, World,
};
use scenario::result::{RowStatus, ScenarioResult};
use serde_json::json;
use server::auth;
use store::{Clock as _, Completion, Demand, Held, NewEvent, NewKey, NewWorker, Numbers, Pulse, Scope, WorkerId};
use uuid::Uuid;

use crate::test_app::{ADA, ADMIN, HELLO, TestApp, result};
use crate::web_session::{Browser, OWN};

/// Output of an agent that tries to become more than text.
pub(crate) const HOSTILE: &str =
    "<script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[31mred\u{1b}[0m\u{1b}[2J";

/// Ends the next job with this evidence.
pub(crate) async fn end(app: &TestApp, status: RowStatus, evidence: &Evidence) -> Held {
    let held = app.claim().await.expect("a job");
    let message = "expected `hello`, found `<b>nothing</b>`";
    let mut judged: ScenarioResult = result(&held, status);
    for invariant in &mut judged.invariants {
        if status == RowStatus::Fail {
            message.clone_into(&mut invariant.verdict.message);
        }
    }
    judged.notes = vec![format!("a note {HOSTILE}")];
    let completion = Completion { evidence: Some(evidence), result: &judged, traces: &[], at: app.clock.now() };
    let numbers = Numbers::of(&app.store, held.run).await.expect("numbers");
    app.store.complete(&held.lease, held.run, completion, &|all| numbers.score(all)).await.expect("kept");
    held
}

/// A request that a hostile agent sends.
pub(crate) fn exchange(path: &str, at_ms: u64) -> Exchange {
    Exchange {
        method: "POST".to_owned(),
        path: path.to_owned(),
        query: vec![("q".to_owned(), HOSTILE.to_owned())],
        headers: vec![("x-evil".to_owned(), HOSTILE.to_owned())],
        body: scenario::evidence::Body::Kept(format!("{{\"note\": \"{}\"}}", "<svg onload=alert(1)>").as_str().into()),
        status: 500,
        at_ms,
        fault: None,
        answer: None,
    }
}

/// Everything that a hostile agent can write.
pub(crate) fn hostile() -> Evidence {
    let agent = AgentRecord {
        exit: Some(Exit::Code(1)),
        stdout: Captured::from(format!("{HOSTILE} [redacted:PIN:k1] [redacted:PIN:k2]").as_str()),
        stderr: Captured::from(HOSTILE),
        wall_ms: 900,
        started_at: None,
        used: Some(ProcessUse { user_us: 400_000, system_us: 50_000, most_memory: 12_345_678 }),
    };
    let call = ModelCall {
        at_ms: 10,
        duration_ms: 40,
        request_model: HOSTILE.to_owned(),
        status: 200,
        ..ModelCall::default()
    };
    let command = CommandAnswer {
        exit: Some(Exit::Code(2)),
        stdout: Captured::from(HOSTILE),
        stderr: Captured::default(),
        image_changes: Vec::new(),
    };
    let written = AuditEvent::Command { command: HOSTILE.to_owned(), exit_code: Some(0) };
    Evidence {
        agent,
        marker_key: Some("k1".to_owned()),
        answers: [("greeted".to_owned(), vec![ProbeAnswer::Command(command)])].into(),
        journals: [("mail".to_owned(), Journal { exchanges: vec![exchange("/a", 5)], overflow: None })].into(),
        audit: Some(vec![Audited { at_ms: Some(7), event: written }]),
        model: Some(ModelRecord { calls: vec![call], ..ModelRecord::default() }),
        workspace: WorkspaceChanges { added: vec![format!("{HOSTILE}.txt")], ..WorkspaceChanges::default() },
        file_diffs: vec![FileDiff {
            path: format!("{HOSTILE}.txt"),
            diff: format!("--- a\n+++ b\n@@ -1 +1 @@\n+{HOSTILE}\n"),
            incomplete: false,
        }],
        databases: [(HOSTILE.to_owned(), changed_tables())].into(),
        image_changes: vec![HOSTILE.to_owned()],
        world: World {
            sandbox: HOSTILE.to_owned(),
            backend: HOSTILE.to_owned(),
            runtime: HOSTILE.to_owned(),
            images: vec![ImageRecord { reference: HOSTILE.to_owned(), ..ImageRecord::default() }],
            snapshot: Some(SnapshotRecord { name: HOSTILE.to_owned(), ..SnapshotRecord::default() }),
        },
        ..Evidence::default()
    }
}

fn changed_tables() -> DatabaseChanges {
    let table = TableChange { added: vec![HOSTILE.to_owned()], ..TableChange::default() };
    DatabaseChanges { tables: [(HOSTILE.to_owned(), table)].into(), problem: Some(HOSTILE.to_owned()) }
}

/// Asserts that hostile text did not become markup.
#[track_caller]
pub(crate) fn require_harmless(page: &str) {
    for markup in ["<script>alert", "<img", "<svg onload", "onerror=\"", "\u{202e}", "\u{1b}", " style=", "javascript:"]
    {
        assert!(!page.contains(markup), "{markup:?} in {page}");
    }
}

/// A worker whose machine has a name that is none.
async fn register_worker(app: &TestApp) {
    let new = NewWorker {
        id: WorkerId { data_dir: Uuid::from_u128(9), owner: Uuid::from_u128(1) },
        host: HOSTILE.to_owned(),
        control: HOSTILE.to_owned(),
        slots: 2,
        budget: Demand { cpu_milli: 2000, memory: 1 << 30 },
        version: HOSTILE.to_owned(),
    };
    let pulse = Pulse { running: 0, free_disk: 1 << 30, reason: Some(HOSTILE.to_owned()), problems: Vec::new() };
    app.store.register_worker(&new, &pulse, app.clock.now()).await.expect("registered");
}

/// A key with names that nobody could give over the API.
async fn create_key(app: &TestApp, text: &str) {
    let (owner, name) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    let key =
        NewKey { id: "key_x".to_owned(), owner, name, scope: Scope::Submit, hash: auth::hash(text), sandbox: None };
    app.store.create_key(&key, app.clock.now()).await.expect("a key");
}

/// A spec with a value of its matrix that is hostile, and one that could be mistaken for it.
fn matrix() -> String {
    let values = json!([HOSTILE, {"<b>": ["'\"><b>"]}]);
    format!("{HELLO}tags: [night:ly/x.y]\nparallelism: {{matrix: {{note_1: {values}}}}}\n")
}

#[tokio::test]
async fn what_people_and_machines_are_called_stays_text_on_every_page() {
    const KEY: &str = "ts_live_hostile";
    let app = TestApp::new().await;
    create_key(&app, KEY).await;
    let body = json!({"spec": matrix(), "name": HOSTILE});
    let id = app.post(KEY, "/v1/runs", body.clone()).await.expect(202)["experiment_id"].clone();
    let id = id.as_str().expect("an id");
    let held = end(&app, RowStatus::Fail, &hostile()).await;
    let (run, scenario, at) = (held.run, held.scenario.id.to_string(), app.clock.now());
    let happened = Event::read(HOSTILE, json!({HOSTILE: HOSTILE}));
    let event = NewEvent { run, scenario, attempt: 1, at, happened };
    app.store.note(&[event]).await.expect("noted");
    end(&app, RowStatus::Error, &hostile()).await;
    let other = app.post(KEY, "/v1/runs", body).await.expect(202)["experiment_id"].clone();
    let other = other.as_str().expect("an id");
    register_worker(&app).await;
    let scenario = held.scenario.id;
    let own = Browser::signed_in(&app, KEY).await;
    for browser in [&own, &Browser::signed_in(&app, ADMIN).await] {
        for (place, words) in [
            ("/experiments".to_owned(), "night:ly/x.y"),
            ("/experiments?tag=night:ly/x.y".to_owned(), "night:ly/x.y"),
            (format!("/experiments/{id}"), "note_1=&lt;script&gt;"),
            (format!("/experiments/{id}/part"), "note_1=&lt;script&gt;"),
            (format!("/experiments/{other}"), "note_1=&lt;script&gt;"),
            (format!("/experiments/{id}/scenarios/{scenario}"), "note_1 <code>&lt;script&gt;"),
            ("/specs".to_owned(), "/specs/hello?owner=%3Cscript"),
            ("/specs/hello".to_owned(), "&lt;U+202E&gt;"),
            (format!("/compare?a={id}&b={id}"), "&lt;script&gt;"),
            ("/workers".to_owned(), "no: &lt;script&gt;"),
        ] {
            let page = browser.get(&place).await;
            assert_eq!(page.status, 200, "{place}: {}", page.text());
            require_harmless(&page.text());
            assert!(page.text().contains(words), "{words} is not in {place}: {}", page.text());
        }
    }
    let cancelled = app.post(KEY, &format!("/v1/experiments/{other}/cancel"), json!({"reason": HOSTILE})).await;
    cancelled.expect(202);
    let page = own.get(&format!("/experiments/{other}")).await.text();
    require_harmless(&page);
    assert!(page.contains("It was ended early: &lt;script&gt;"), "{page}");
    let form = own.get("/submit").await.text();
    require_harmless(&form);
    assert!(form.contains("&lt;script&gt;"), "who looks is shown");
}

#[tokio::test]
async fn names_that_could_be_more_than_names_are_refused_and_shown_as_text() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    let token = browser.token("/submit").await;
    let evil = json!("<img src=x onerror=alert(1)>");
    for spec in [
        HELLO.replace("id: hello", &format!("id: {evil}")),
        HELLO.replace("greeted:", &format!("{evil}:")),
        HELLO.replace("agent: {type: noop}", &format!("agent: {{type: snapshot, name: {evil}}}")),
        format!("{HELLO}tags: [{evil}]\n"),
        format!("{HELLO}parallelism: {{matrix: {{{evil}: [1]}}}}\n"),
        format!("{HELLO}secrets: [{{name: {evil}}}]\n"),
        format!("{HELLO}services: [{{name: {evil}, type: http_mock, ports: [80], routes: []}}]\n"),
        format!("{HELLO}{evil}: 1\n"),
    ] {
        let answer = browser.submit(&[("token", &token), ("spec", &spec), ("do", "run")], &[OWN]).await;
        assert_eq!(answer.status, 400, "{spec}");
        require_harmless(&answer.text());
        assert!(answer.text().contains("&lt;img src=x onerror=alert(1)&gt;"), "{spec}");
    }
    let id = app.finished(HELLO).await;
    let evil = "%3Cimg%20src=x%20onerror=alert(1)%3E%E2%80%AE";
    for (place, status) in [
        (format!("/experiments/{evil}"), 404),
        (format!("/experiments/{id}/scenarios/{evil}"), 404),
        (format!("/experiments/{id}/scenarios/{evil}/live"), 404),
        (format!("/experiments/{id}/scenarios/default-r0/output/{evil}"), 404),
        (format!("/experiments/{id}/scenarios/default-r0?kind={evil}"), 200),
        (format!("/experiments/{id}?run={evil}"), 400),
        (format!("/specs/{evil}"), 404),
        (format!("/specs/hello?owner={evil}"), 403),
        (format!("/compare?a={evil}&b={evil}"), 404),
        (format!("/experiments?status={evil}"), 400),
        (format!("/experiments?after={evil}"), 400),
    ] {
        let answer = browser.get(&place).await;
        assert_eq!(answer.status, status, "{place}: {}", answer.text());
        require_harmless(&answer.text());
    }
}

#[tokio::test]
async fn a_scenario_tells_its_story_and_nothing_of_it_becomes_markup() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = end(&app, RowStatus::Fail, &hostile()).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}", held.scenario.id);
    let page = browser.get(&place).await.text();
    require_harmless(&page);
    for part in [
        "Why it did not pass",
        "expected <code>hello</code>, found <code>&lt;b&gt;nothing&lt;/b&gt;</code>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&lt;U+202E&gt;",
        "<span class=\"front1\">red</span>",
        "<mark class=\"redacted\">redacted: PIN</mark> [redacted:PIN:k2]",
        "exit code 2",
        "<rect class=\"model\" x=",
        "touchstone run hello.yaml --seed",
        "download hello.yaml",
        "<span class=\"added\">+",
        "Download stdout",
        "450 ms <span class=\"quiet\">of 0.50 processors",
        "12.3 MB <span class=\"quiet\">in one process",
        "POST</strong> mail/a <span class=\"bad\">answered 500</span>",
        "<dt>Agent</dt><dd>&lt;script&gt;",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let only = browser.get(&format!("{place}?kind=http")).await.text();
    assert_eq!(only.matches("<details id=\"moment-").count(), 1, "{only}");
    let file = browser.get(&format!("{place}/output/stdout")).await;
    assert_eq!(file.header("content-type"), "text/plain; charset=utf-8");
    assert!(file.header("content-disposition").starts_with("attachment"));
    assert!(file.text().starts_with(HOSTILE), "byte for byte");
    assert_eq!(browser.get(&format!("{place}/output/other")).await.status, 404);
}
