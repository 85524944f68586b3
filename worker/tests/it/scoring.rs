//! Tests of scores that are requested after a run.

use serde_json::{Value as Json, json};
use store::{Clock as _, NewScoreRule, Page, RunId, RunState, ScoreFilter};

use crate::fake::Act;
use crate::harness::{World, scenario, serve, until};

databases![rules_are_applied_to_what_was_kept, a_request_that_cannot_be_answered_ends];

async fn rule(world: &World, id: &str, kind: &str, config: Json) {
    let new = NewScoreRule {
        id: id.to_owned(),
        owner: "anna".to_owned(),
        name: id.to_owned(),
        kind: kind.to_owned(),
        config,
    };
    world.store.create_score_rule(&new, world.clock.now()).await.unwrap();
}

async fn scores(world: &World, run: RunId) -> Vec<(String, String, bool, String)> {
    let filter = ScoreFilter { experiment: Some(run.experiment), ..ScoreFilter::default() };
    let listed = world.store.scores(filter, Page::ALL).await.unwrap();
    let mut scores: Vec<_> =
        listed.items.into_iter().map(|one| (one.new.rule, one.new.scenario, one.new.passed, one.new.message)).collect();
    scores.sort();
    scores
}

async fn rules_are_applied_to_what_was_kept(world: World) {
    let run = world.submit(3).await;
    world.fake.script(&scenario(0), [Act::PassLoudly]);
    world.fake.script(&scenario(2), [Act::BreakForGood]);
    let serving = serve(world.service_with(1, |_| ()));
    until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    rule(&world, "rule_1", "contains", json!({ "text": "xxx" })).await;
    rule(&world, "rule_2", "command_exit", json!({ "command": "true" })).await;
    let rules = ["rule_1", "rule_2", "rule_gone"].map(str::to_owned);
    world.store.request_scores(run, &rules, world.clock.now()).await.unwrap();
    until("it is scored", async || scores(&world, run).await.len() == 6).await;
    let found = scores(&world, run).await;
    let passed: Vec<_> =
        found.iter().map(|(rule, scenario, passed, _)| (rule.as_str(), scenario.as_str(), *passed)).collect();
    let expected = [
        ("rule_1", "default-r0", true),
        ("rule_1", "default-r1", false),
        ("rule_1", "default-r2", false),
        ("rule_2", "default-r0", true),
        ("rule_2", "default-r1", true),
        ("rule_2", "default-r2", false),
    ];
    assert_eq!(passed, expected);
    assert_eq!(found[1].3, "the output does not contain `xxx`");
    assert_eq!(found[2].3, "there is no evidence of this scenario");
    serving.control.drain();
    serving.ended().await;
}

async fn a_request_that_cannot_be_answered_ends(world: World) {
    let run = world.submit_with(crate::harness::Submission { text: Some("no spec"), ..Default::default() }).await;
    let serving = serve(world.service_with(1, |_| ()));
    until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    world.store.request_scores(run, &["rule_1".to_owned()], world.clock.now()).await.unwrap();
    until("it was given up", async || {
        world.clock.advance(std::time::Duration::from_secs(11));
        world.has_problem("could not be scored")
    })
    .await;
    serving.control.drain();
    serving.ended().await;
    let later = world.clock.now() + std::time::Duration::from_secs(7200);
    assert!(world.store.claim_score_request(later, later).await.unwrap().is_none(), "it has ended");
}
