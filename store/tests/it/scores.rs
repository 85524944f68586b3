//! Scores that are given afterwards.

use serde_json::json;
use store::{NewExperiment, NewScore, NewScoreRule, Page, RunId, ScoreFilter, ScoreRequest, StoreError};

use crate::harness::{World, at, scenario};

databases![rules_are_kept_and_listed, what_a_rule_says_replaces_what_it_said, requests_are_done_one_after_the_other];

fn rule(id: &str, owner: &str) -> NewScoreRule {
    NewScoreRule {
        id: id.to_owned(),
        owner: owner.to_owned(),
        name: "polite".to_owned(),
        kind: "contains".to_owned(),
        config: json!({"text": "please"}),
    }
}

fn score(rule: &str, run: RunId, number: u32, score: f64) -> NewScore {
    NewScore {
        rule: rule.to_owned(),
        run,
        scenario: scenario(number).id.to_string(),
        trace: None,
        score,
        passed: score > 0.5,
        message: String::new(),
    }
}

async fn rules_are_kept_and_listed(world: World) {
    let store = &world.store;
    for (id, owner, second) in [("rule_1", "ann", 1), ("rule_2", "bob", 2), ("rule_3", "ann", 3)] {
        store.create_score_rule(&rule(id, owner), at(second)).await.expect("made");
    }
    let found = store.score_rule("rule_1").await.expect("read").expect("a rule");
    assert_eq!((found.new, found.created_at), (rule("rule_1", "ann"), at(1)));
    let first = store.score_rules(Some("ann"), Page { after: None, most: 1 }).await.expect("rules");
    let rest = store.score_rules(Some("ann"), Page { after: first.next.as_deref(), most: 1 }).await.expect("rules");
    assert_eq!((first.items[0].new.id.as_str(), rest.items[0].new.id.as_str(), rest.next), ("rule_3", "rule_1", None));
    assert!(store.remove_score_rule("rule_1").await.expect("removed"));
    assert!(!store.remove_score_rule("rule_1").await.expect("removed"));
}

async fn what_a_rule_says_replaces_what_it_said(world: World) {
    let store = &world.store;
    let new = NewExperiment { owner: "ann".to_owned(), ..world.experiment().await };
    let run = store.submit(&new, &world.run(2), at(0)).await.expect("submitted");
    for id in ["rule_1", "rule_2"] {
        store.create_score_rule(&rule(id, "ann"), at(0)).await.expect("made");
    }
    let said = [score("rule_1", run, 0, 0.2), score("rule_1", run, 1, 1.0), score("rule_2", run, 0, f64::NAN)];
    store.keep_scores(&said, at(1)).await.expect("kept");
    store.keep_scores(&[NewScore { trace: Some(7), ..score("rule_1", run, 0, 0.9) }], at(2)).await.expect("kept");
    let list = async |filter, page| store.scores(filter, page).await.expect("scores");
    let all = list(ScoreFilter { experiment: Some(run.experiment), ..ScoreFilter::default() }, Page::ALL).await.items;
    assert_eq!(all.iter().map(|one| one.new.score).collect::<Vec<_>>(), [0.9, 1.0, 0.0]);
    assert_eq!((all[0].new.trace, all[0].new.passed, all[0].created_at), (Some(7), true, at(2)));
    let of_rule = ScoreFilter { rule: Some("rule_2"), owner: Some("ann"), ..ScoreFilter::default() };
    assert_eq!(list(of_rule, Page::ALL).await.items, all[2..]);
    assert_eq!(list(ScoreFilter { owner: Some("bob"), ..ScoreFilter::default() }, Page::ALL).await.items, []);
    let first = list(ScoreFilter::default(), Page { after: None, most: 2 }).await;
    let rest = list(ScoreFilter::default(), Page { after: first.next.as_deref(), most: 2 }).await;
    assert_eq!((first.items.len(), rest.items.as_slice(), rest.next), (2, &all[2..], None));
    let nobody = store.keep_scores(&[score("rule_9", run, 0, 1.0)], at(3)).await;
    assert!(matches!(nobody, Err(StoreError::Database(_))), "there is no such rule: {nobody:?}");
    store.remove_score_rule("rule_1").await.expect("removed");
    assert_eq!(list(ScoreFilter::default(), Page::ALL).await.items.len(), 1);
}

async fn requests_are_done_one_after_the_other(world: World) {
    let store = &world.store;
    let run = world.submitted(1).await;
    let rules = ["rule_1".to_owned(), "rule_2".to_owned()];
    store.request_scores(run, &rules, at(1)).await.expect("asked");
    store.request_scores(run, &rules[..1], at(2)).await.expect("asked");
    let claim = async |now| store.claim_score_request(at(now), at(now + 10)).await.expect("a claim");
    let first: ScoreRequest = claim(2).await.expect("a request");
    assert_eq!((first.run, first.rules.as_slice(), first.attempts), (run, rules.as_slice(), 1));
    let second = claim(2).await.expect("another");
    assert_eq!((second.rules.as_slice(), claim(3).await), (&rules[..1], None));
    assert!(store.end_score_request(&second, None).await.expect("ended"));
    assert!(!store.end_score_request(&second, None).await.expect("it has ended"));
    assert!(store.retry_score_request(&first, "the judge was away", at(5)).await.expect("put back"));
    let again = claim(5).await.expect("again");
    assert_eq!((again.number, again.attempts), (first.number, 2));
    assert!(!store.end_score_request(&first, Some("late")).await.expect("somebody else has it"));
    assert!(store.end_score_request(&again, Some("no")).await.expect("ended"));
    assert_eq!(claim(100).await, None);
}
