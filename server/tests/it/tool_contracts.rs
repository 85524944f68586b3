//! Tool contracts without a sandbox: compiled, evaluated, and sessions of agents that run somewhere else.

use serde_json::{Value, json};
use store::{ContractSessionProgress, SessionLimits};

use crate::bundles::Tar;
use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, SANDBOX, TestApp};

const SESSIONS: &str = "/v1/tool-contracts/sessions";

fn files() -> Value {
    json!({
        "session.yaml": "schema_version: '1.0'\nagent: desk\npolicy: {rules: [{allow: {principal: {path: $.desk, equals: a}}}]}\n",
        "look.yaml": "tool: look\nside_effect: read\n",
        "pay.yaml": "tool: pay\nside_effect: financial\npreconditions: [{requires_prior_tool: look}]\n\
                     argument_value_invariants: [{path: $.amount, lte: 100}]\n\
                     checkpoint: {when: [{path: $.amount, gte: 50}], timeout_seconds: 30}\n",
    })
}

fn opening() -> Value {
    json!({"files": files(), "mode": "govern", "principal": {"desk": "a", "secret": "of-the-principal"}})
}

struct Session<'a> {
    app: &'a TestApp,
    id: String,
    token: String,
}

impl TestApp {
    async fn session(&self) -> Session<'_> {
        let opened = self.post(ADA, SESSIONS, opening()).await.expect(201);
        let text = |key: &str| opened[key].as_str().expect("a text").to_owned();
        Session { app: self, id: text("id"), token: text("token") }
    }
}

impl Session<'_> {
    fn path(&self, end: &str) -> String {
        format!("{SESSIONS}/{}/{end}", self.id)
    }

    /// Asks with the session's own token.
    async fn ask(&self, end: &str, body: Value) -> Value {
        self.app.post(&self.token, &self.path(end), body).await.expect(200)
    }

    /// Looks and tells what came of it, with the owner's key.
    async fn look(&self) {
        let step = self.ask("executions", json!({"tool": "look", "arguments": {}})).await;
        assert_eq!(step["calls"][0]["released"], true);
        let done = json!({"call": step["calls"][0]["call"], "outcome": "ok", "output": {"found": 1}});
        self.app.post(ADA, &self.path("completions"), done).await.expect(204);
    }

    async fn held(&self) -> Value {
        self.look().await;
        let step = self.ask("executions", json!({"tool": "pay", "arguments": {"amount": 60}})).await;
        assert_eq!((&step["status"], &step["calls"][0]["released"]), (&json!("held"), &json!(false)));
        step["held"].clone()
    }

    async fn state(&self) -> Value {
        self.app.get(&self.token, &self.path("state")).await.expect(200)
    }
}

fn decision(held: &Value, word: &str) -> Value {
    json!({"decision": word, "args_hash": held["args_hash"]})
}

#[tokio::test]
async fn a_set_is_compiled_and_every_mistake_is_shown_at_its_place() {
    let app = TestApp::new().await;
    let good = app.post(ADA_READS, "/v1/tool-contracts/compile", json!({"files": files()})).await.expect(200);
    assert_eq!((&good["ok"], &good["tools"]), (&json!(true), &json!(["look", "pay"])));
    let mut broken = files();
    broken["pay.yaml"] = "tool: pay\nside_effect: finanical\n".into();
    let bad = app.post(ADA_READS, "/v1/tool-contracts/compile", json!({"files": broken})).await.expect(200);
    assert_eq!((&bad["ok"], &bad["hash"]), (&json!(false), &Value::Null));
    let error = &bad["errors"][0];
    assert_eq!(
        (&error["code"], &error["file"], &error["line"]),
        (&json!("INVALID_ENUM"), &json!("pay.yaml"), &json!(2))
    );
    app.post(ADA, "/v1/tool-contracts/compile", json!({"files": {}})).await.refused(400);
    let refused = app.post(ADA, SESSIONS, json!({"files": broken})).await;
    assert_eq!(refused.expect(422)["findings"][0]["code"], "INVALID_ENUM");
}

#[tokio::test]
async fn recorded_calls_are_judged_as_the_check_does() {
    let app = TestApp::new().await;
    let call = |seq: u64, tool: &str, arguments: Value| json!({"seq": seq, "at_ms": seq, "tool": tool, "source": "executed", "arguments": arguments, "result": "{}"});
    let body = |trace: Value| json!({"files": files(), "principal": {"desk": "a"}, "trace": trace});
    let path = "/v1/tool-contracts/evaluate";
    let good = json!([call(0, "look", json!({})), call(1, "pay", json!({"amount": 5}))]);
    let good = app.post(ADA_READS, path, body(good)).await.expect(200);
    assert_eq!((&good["passed"], &good["score"], &good["details"]["calls"]), (&json!(true), &json!(1.0), &json!(2)));
    let bad = app.post(ADA_READS, path, body(json!([call(0, "pay", json!({"amount": 500}))]))).await.expect(200);
    assert_eq!((&bad["passed"], &bad["details"]["first_violation_seq"]), (&json!(false), &json!(0)));
    assert_eq!(
        bad["details"]["by_code"],
        json!({"argument_invariant_failed": 1, "precondition_not_met": 1, "unproposed_call": 1})
    );
    let findings = bad["details"]["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["file"] == "pay.yaml"), "{findings:?}");
}

#[tokio::test]
async fn calls_are_decided_and_completed_and_the_log_has_every_decision() {
    let app = TestApp::new().await;
    let session = app.session().await;
    let asked = json!({"provider": "openai", "body": {"model": "m"}, "offered": [{"name": "look"}, {"name": "ghost"}]});
    let model = session.ask("requests", asked).await;
    assert_eq!((&model["allowed"], &model["removed"][0]["tool"]), (&json!(true), &json!("ghost")));
    let pay = json!({"calls": [{"id": "c1", "tool": "pay", "arguments": {"amount": 5}}]});
    let refused = session.ask("steps", pay.clone()).await;
    assert_eq!(
        (&refused["calls"][0]["released"], &refused["calls"][0]["reasons"][0]["code"]),
        (&json!(false), &json!("precondition_not_met"))
    );
    session.look().await;
    let released = session.ask("steps", pay).await;
    assert_eq!((&released["calls"][0]["released"], &released["step"]), (&json!(true), &json!(3)));
    assert_eq!(app.get(&session.token, &session.path("steps/3")).await.expect(200), released);
    app.get(ADA, &session.path("steps/9")).await.refused(404);
    app.post(&session.token, &session.path("completions"), json!({"call": "none", "outcome": "ok"})).await.refused(404);
    let state = session.state().await;
    assert_eq!((&state["state"]["released_calls"], &state["state"]["principal"]), (&json!(2), &Value::Null));
    app.post_empty(ADA, &session.path("close")).await.expect(204);
    let log = app.get(ADA_READS, &session.path("decisions")).await.text();
    let decisions = log.lines().filter(|line| line.contains("\"kind\":\"decision\"")).count();
    assert_eq!(decisions, 3);
    assert!(
        !log.contains("of-the-principal") && log.lines().last().is_some_and(|line| line.contains("session_closed"))
    );
}

#[tokio::test]
async fn a_restart_of_the_server_loses_no_session_and_changes_no_decision() {
    let app = TestApp::new().await;
    let session = app.session().await;
    let held = session.held().await;
    let log = app.get(ADA, &session.path("decisions")).await.text();
    let before = session.state().await;
    let Session { id, token, .. } = session;
    let app = app.restarted();
    let session = Session { app: &app, id, token };
    assert_eq!(session.state().await, before);
    assert_eq!(app.get(ADA, &session.path("decisions")).await.text(), log);
    let decided = app.post(ADA, &session.path("decision"), decision(&held, "approve")).await.expect(200);
    assert_eq!((&decided["status"], &decided["calls"][0]["released"]), (&json!("decided"), &json!(true)));
    // What is kept is sealed.
    for sealed in app.store.contract_session_requests(&session.id).await.expect("requests") {
        assert!(!String::from_utf8_lossy(&sealed).contains("amount"));
    }
}

#[tokio::test]
async fn a_session_that_was_changed_where_it_is_kept_is_refused() {
    let app = TestApp::new().await;
    let session = app.session().await;
    session.look().await;
    let count = app.store.contract_session(&session.id).await.expect("read").expect("a session").requests;
    let other = app.store.contract_session_requests(&session.id).await.expect("requests").remove(0);
    let (progress, limits) = (ContractSessionProgress::default(), SessionLimits { requests: 100, bytes: 1 << 20 });
    let kept = app.store.keep_contract_session_request(&session.id, count, &other, &progress, limits).await;
    assert!(kept.expect("kept"));
    assert_ne!(
        app.get(ADA, &session.path("state")).await.status.as_u16(),
        200,
        "its requests are sealed for their places"
    );
}

#[tokio::test]
async fn a_held_call_is_decided_on_by_a_key_for_its_arguments_in_time_and_once() {
    let app = TestApp::new().await;
    let session = app.session().await;
    let held = session.held().await;
    let path = session.path("decision");
    app.post(&session.token, &path, decision(&held, "approve")).await.refused(403);
    app.post(ADA_READS, &path, decision(&held, "approve")).await.refused(403);
    app.post(BOB, &path, decision(&held, "approve")).await.refused(403);
    let other = json!({"decision": "approve", "args_hash": "sha256:other"});
    app.post(ADA, &path, other).await.refused(412);
    let more = json!({"tool": "look", "arguments": {}});
    assert!(app.post(&session.token, &session.path("executions"), more).await.refused(409).contains("paused"));
    assert_eq!(session.state().await["held"]["args_hash"], held["args_hash"]);
    app.post(ADA, &path, decision(&held, "deny")).await.expect(200);
    app.post(ADA, &path, decision(&held, "approve")).await.refused(409);
    let step = app.get(ADA, &session.path(&format!("steps/{}", held["step"]))).await.expect(200);
    assert_eq!(step["calls"][0]["reasons"][0]["code"], "checkpoint_denied");
    let held = session.held().await;
    app.clock.pass(30);
    app.post(ADA, &path, decision(&held, "approve")).await.refused(410);
    assert_eq!(session.state().await["held"], Value::Null);
}

#[tokio::test]
async fn a_filter_a_label_and_a_kill_take_effect() {
    let app = TestApp::new().await;
    let session = app.session().await;
    let execution = json!({"tool": "look", "arguments": {}});
    app.post(&session.token, &session.path("filter"), json!({"tools": []})).await.refused(403);
    app.post(ADA, &session.path("filter"), json!({"tools": ["pay"]})).await.expect(204);
    let refused = session.ask("executions", execution.clone()).await;
    assert_eq!(refused["calls"][0]["reasons"][0]["code"], "manual_filter");
    assert_eq!(session.state().await["state"]["filter"], json!(["pay"]));
    app.post(ADA, &session.path("filter"), json!({"tools": null})).await.expect(204);
    app.post(&session.token, &session.path("labels"), json!({"label": "mnpi"})).await.expect(204);
    assert_eq!(session.state().await["state"]["labels"], json!(["mnpi"]));
    for (scope, status, code) in [("subtree", 409, "kill_scope_disabled"), ("workflow", 403, "kill_not_permitted")] {
        let refused = app.post(ADA, &session.path("kill"), json!({"scope": scope})).await.expect(status);
        assert_eq!(refused["code"], code);
    }
    app.post(ADA, &session.path("kill"), json!({"reason": "enough"})).await.expect(204);
    let refused = session.ask("executions", execution).await;
    assert_eq!(refused["calls"][0]["reasons"][0]["code"], "session_killed");
    app.post_empty(ADA, &session.path("close")).await.refused(409);
}

#[tokio::test]
async fn sessions_belong_to_their_owner_and_a_token_to_its_session() {
    let app = TestApp::new().await;
    let (session, other) = (app.session().await, app.session().await);
    for key in [BOB, SANDBOX, &other.token] {
        app.get(key, &session.path("state")).await.refused(403);
    }
    app.get(&session.token, SESSIONS).await.refused(403);
    app.get(&session.token, "/v1/approvals").await.refused(403);
    assert_eq!(app.get(ADA, SESSIONS).await.expect(200).as_array().map(Vec::len), Some(2));
    assert_eq!(app.get(BOB, SESSIONS).await.expect(200), json!([]));
    assert_eq!(app.get(ADMIN, SESSIONS).await.expect(200).as_array().map(Vec::len), Some(2));
    let path = format!("{SESSIONS}/{}", session.id);
    app.delete(&session.token, &path).await.refused(403);
    app.delete(ADA, &path).await.expect(204);
    app.get(ADA, &session.path("state")).await.refused(404);
}

/// The contracts of a governed session.
const RULES: &str = "schema_version: '1.0'\nagent: a\n";

/// A spec with a governed session.
fn governed() -> String {
    crate::test_app::HELLO.to_owned() + "tool_contracts: {dir: rules, mode: govern}\n"
}

#[tokio::test]
async fn an_operator_intervenes_in_a_scenario_that_is_run() {
    let app = TestApp::new().await;
    let bundle = Tar::new().file("spec.yaml", &governed()).file("rules/session.yaml", RULES).bytes();
    let tar = [("content-type", "application/x-tar")];
    let begun = app.call(http::Method::POST, ADA, "/v1/runs", &tar, bundle).await.expect(202);
    let id = begun["id"].as_str().expect("an id").to_owned();
    let held = app.claim().await.expect("a job");
    let path = |what: &str| format!("/v1/experiments/{id}/scenarios/{}/{what}", held.scenario.id);
    app.post(ADA_READS, &path("kill"), json!({})).await.refused(403);
    app.post(BOB, &path("kill"), json!({})).await.refused(403);
    app.post(ADA, &path("kill"), json!({"scope": "galaxy"})).await.refused(400);
    app.post(ADA, &path("filter"), json!({"tools": ["look"]})).await.expect(202);
    app.post(ADA, &path("kill"), json!({"scope": "subtree", "session": "s.1", "reason": "enough"})).await.expect(202);
    let next = |after| app.store.next_intervention(held.run, held.scenario.id.as_str(), after);
    let (first, filter) = next(0).await.expect("read").expect("one");
    assert_eq!(json!(filter), json!({"kind": "filter", "tools": ["look"], "by": "ada"}));
    let (_, kill) = next(first).await.expect("read").expect("one");
    assert_eq!(
        json!(kill),
        json!({"session": "s.1", "kind": "kill", "scope": "subtree", "reason": "enough", "by": "ada"})
    );
    app.complete(&held, scenario::result::RowStatus::Pass).await;
    assert!(app.post(ADA, &path("kill"), json!({})).await.refused(409).contains("has ended"));
    let other = app.running(crate::test_app::HELLO).await;
    let refused = app.post(ADA, &format!("/v1/experiments/{other}/scenarios/default-r0/kill"), json!({})).await;
    assert!(refused.refused(409).contains("no session"));
}
