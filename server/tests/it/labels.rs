//! Labelling outputs that judges rate: the API and the page.

use scenario::evidence::{AgentRecord, Answer, Captured, Evidence, JudgeAnswer, Usage};
use scenario::result::ScenarioResult;
use serde_json::json;
use store::{Clock as _, Completion, Numbers, spec_of};

use crate::test_app::{ADA, ADA_READS, BOB, TestApp};
use crate::web_session::{Browser, OWN};

const MAILS: &str = "\
version: 1
id: mails
base: debian:bookworm-slim
task: {prompt: Write a mail <b>}
agent: {type: noop}
invariants:
  polite: {description: It is polite, check: {type: llm_as_judge, criteria: Be kind., samples: 2}}
scoring: {pass_threshold: 0.5}
parallelism: {replicas: 2}
";

/// The evidence of an agent that printed this, judged twice with these scores.
fn evidence(text: &str, scores: [f64; 2]) -> Evidence {
    let reply = |score: f64| {
        let reply = Ok(json!({ "score": score, "reason": format!("a secret reason for {score}") }).to_string());
        let usage = Usage { calls: 1, input_tokens: 100, output_tokens: 10, cost_usd: Some(0.25), ..Usage::default() };
        Answer::Judge(JudgeAnswer { reply, usage, ..JudgeAnswer::default() })
    };
    let agent = AgentRecord { stdout: Captured::from(text), ..AgentRecord::default() };
    let answers = [("polite".to_owned(), scores.map(reply).to_vec())].into();
    Evidence { agent, answers, ..Evidence::default() }
}

/// An experiment of which one mail was judged well and the other badly; its id.
async fn judged(app: &TestApp) -> String {
    let id = app.running(MAILS).await;
    let outputs = [("Dear Ada <script>alert(1)</script>", [0.75, 1.0]), ("Hey you", [0.25, 0.25])];
    for (text, scores) in outputs {
        let held = app.claim().await.expect("a job");
        let evidence = evidence(text, scores);
        let run = app.store.run(held.run).await.expect("a run");
        let spec = spec_of(&app.store, &run).await.expect("a spec");
        let result = ScenarioResult::judge(&spec, &held.scenario, &evidence);
        let completion = Completion { evidence: Some(&evidence), result: &result, traces: &[], at: app.clock.now() };
        let numbers = Numbers::of(&app.store, held.run).await.expect("numbers");
        app.store.complete(&held.lease, held.run, completion, &numbers).await.expect("kept");
    }
    id
}

#[tokio::test]
async fn the_page_is_blind_until_an_output_is_labelled() {
    let app = TestApp::new().await;
    let id = judged(&app).await;
    let (browser, place) = (Browser::signed_in(&app, ADA).await, format!("/experiments/{id}/labels"));
    let page = browser.get(&place).await.text();
    for part in [
        "0 of 2 outputs labelled by ada",
        "Dear Ada &lt;script&gt;alert",
        "Write a mail &lt;b&gt;",
        "Be kind.",
        "data-key=\"p\"",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("a secret reason") && !page.contains("0.88") && !page.contains("<script>alert"), "{page}");
    let token = browser.token(&place).await;
    let label = async |scenario: &str, label: &str| {
        let fields = [
            ("token", token.as_str()),
            ("run", "1"),
            ("scenario", scenario),
            ("invariant", "polite"),
            ("label", label),
            ("by", "Ada L."),
            ("note", "so <i>"),
        ];
        browser.post(&place, &fields, &[OWN]).await
    };
    let answer = label("default-r0", "fail").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let next = answer.header("location").to_owned();
    assert_eq!(next, format!("{place}?run=1&by=Ada%20L.&scenario=default-r0&invariant=polite"));
    let page = browser.get(&next).await.text();
    for part in [
        "1 of 2 outputs labelled by Ada L.",
        "You said <strong>fail</strong>",
        "a secret reason for 0.75",
        "you disagree.",
        "Hey you",
        "so &lt;i&gt;",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("a secret reason for 0.25"), "the next one is blind: {page}");
    let next = label("default-r1", "fail").await.header("location").to_owned();
    let page = browser.get(&next).await.text();
    assert!(page.contains("Nothing is left to label for") && page.contains("you agree."), "{page}");
    let other = browser.get(&place).await.text();
    assert!(other.contains("0 of 2 outputs labelled by ada") && !other.contains("Judges and people"), "{other}");
}

#[tokio::test]
async fn the_page_of_a_run_shows_its_judges_and_leads_to_labelling() {
    let app = TestApp::new().await;
    let id = judged(&app).await;
    let page = Browser::signed_in(&app, ADA).await.get(&format!("/experiments/{id}")).await.text();
    assert!(
        page.contains("<h2 id=\"judges\">Judges</h2>") && page.contains(&format!("/experiments/{id}/labels?run=1")),
        "{page}"
    );
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    let judges = &results["judges"][0];
    assert_eq!(
        (&judges["invariant"], &judges["calls"], &judges["tokens"]),
        (&json!("polite"), &json!(4), &json!(440)),
        "{results}"
    );
    assert_eq!(
        (&judges["cost_usd"], &judges["spread"], &judges["agreement"]),
        (&json!(1.0), &json!(0.125), &json!(1.0))
    );
}

#[tokio::test]
async fn labels_are_given_listed_and_taken_back_by_who_owns_the_experiment() {
    let app = TestApp::new().await;
    let id = judged(&app).await;
    let body = |label: &str, invariant: &str| json!({"experiment_id": id, "scenario": "default-r0", "invariant": invariant, "label": label, "note": "why"});
    let made = app.post(ADA, "/v1/labels", body("0.25", "polite")).await.expect(201);
    assert_eq!((&made["by"], &made["label"], &made["experiment"]), (&json!("ada"), &json!("0.25"), &json!(id)));
    let again = app.post(ADA, "/v1/labels", body("pass", "polite")).await.expect(201);
    assert_eq!((&again["id"], &again["label"]), (&made["id"], &json!("pass")), "the last label counts");
    let listed = app.get(ADA_READS, &format!("/v1/labels?experiment_id={id}")).await.expect(200);
    assert_eq!((&listed["count"], &listed["items"][0]), (&json!(1), &again));
    let refused = app.post(ADA, "/v1/labels", body("maybe", "polite")).await.refused(400);
    assert!(refused.contains("`label` is `maybe`: write `pass`, `fail` or a score from 0 to 1"), "{refused}");
    let refused = app.post(ADA, "/v1/labels", body("pass", "rude")).await.refused(404);
    assert!(refused.contains("no invariant with a judge `rude`"), "{refused}");
    let place = format!("/v1/labels/{}", made["id"].as_str().expect("an id"));
    for key in [BOB, ADA_READS] {
        app.post(key, "/v1/labels", body("fail", "polite")).await.refused(403);
        app.delete(key, &place).await.refused(403);
    }
    assert_eq!(app.get(BOB, "/v1/labels").await.expect(200)["count"], 0);
    app.get(BOB, &format!("/v1/labels?experiment_id={id}")).await.refused(403);
    assert_eq!(app.delete(ADA, &place).await.status, 204);
    app.delete(ADA, &place).await.refused(404);
}
