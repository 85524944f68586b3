//! The end of a job.

use scenario::result::ScenarioResult;
use scenario::verdict::ErrorKind;
use store::{AttemptOutcome, Completion, Failure, Kept, Lease, RunId, RunState, StoreError};

use crate::harness::{LARGE, World, at, complete, evidence, passed, summary};

databases![
    the_last_completion_ends_the_run,
    a_stale_completion_leaves_nothing,
    completing_twice_leaves_the_first_as_it_is,
    a_forged_lease_completes_nothing,
    a_result_belongs_to_its_own_job_and_run,
    what_could_not_be_run_has_a_result_without_evidence,
    a_score_that_is_no_number_keeps_no_job_from_ending,
];

async fn the_last_completion_ends_the_run(world: World) {
    let run = world.submitted(2).await;
    assert_eq!(world.finish_one(1).await, Kept::Kept);
    let open = world.store.run(run).await.expect("the run");
    assert_eq!((open.state, open.ended, open.score, open.verdict), (RunState::Open, 1, None, None));
    assert_eq!(world.finish_one(2).await, Kept::RunEnded);
    let ended = world.store.run(run).await.expect("the run");
    let results: Vec<_> =
        world.store.scenarios(run).await.expect("scenarios").into_iter().filter_map(|stored| stored.result).collect();
    let score = summary(&results);
    assert_eq!((ended.state, ended.ended, ended.ended_at), (RunState::Finished, 2, Some(at(2))));
    assert_eq!((ended.verdict, ended.score), (Some(score.verdict), Some(score)));
    assert_eq!(world.store.open_runs().await.expect("runs"), []);
}

async fn a_stale_completion_leaves_nothing(world: World) {
    let run = world.submitted(1).await;
    let old = world.claim(0).await.expect("a job");
    world.store.retry(&old.lease, Failure::Lost, "", at(1), at(1)).await.expect("reaped");
    assert_eq!(complete(&world.store, &old, &evidence(LARGE), 2).await, Kept::Stale);
    assert_eq!(world.files(), Vec::<String>::new());
    let new = world.claim(3).await.expect("a job");
    assert_eq!(complete(&world.store, &new, &evidence(LARGE), 4).await, Kept::RunEnded);
    let files = world.files();
    assert_eq!(complete(&world.store, &old, &evidence(LARGE), 5).await, Kept::Stale);
    assert_eq!(world.files(), files, "what its successor wrote stays");
    let stored = &world.store.scenarios(run).await.expect("scenarios")[0];
    assert_eq!(stored.source, Some((new.lease.job, 2)));
}

async fn completing_twice_leaves_the_first_as_it_is(world: World) {
    world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    complete(&world.store, &held, &evidence(LARGE), 1).await;
    assert_eq!(complete(&world.store, &held, &evidence(LARGE + 1), 2).await, Kept::Stale);
    let kept = world.store.evidence(held.lease.job, 1).await.expect("readable");
    assert_eq!(kept, Some(evidence(LARGE)));
}

async fn a_forged_lease_completes_nothing(world: World) {
    world.submitted(1).await;
    let mut held = world.claim(0).await.expect("a job");
    held.lease = Lease { token: "guessed".to_owned(), ..held.lease };
    assert_eq!(complete(&world.store, &held, &evidence(LARGE), 1).await, Kept::Stale);
    assert_eq!(world.files(), Vec::<String>::new());
}

async fn a_result_belongs_to_its_own_job_and_run(world: World) {
    let run = world.submitted(2).await;
    let other = world.submitted(2).await;
    let held = world.claim(0).await.expect("a job");
    let wrong_run = store::Held { run: RunId { experiment: other.experiment, number: 1 }, ..held.clone() };
    let wrong_scenario = store::Held { scenario: crate::harness::scenario(1), ..held.clone() };
    for wrong in [wrong_run, wrong_scenario] {
        let (result, evidence) = (passed(&wrong.scenario), evidence(1));
        let completion = Completion { evidence: Some(&evidence), result: &result, traces: &[], at: at(1) };
        let refused = world.store.complete(&wrong.lease, wrong.run, completion, &summary).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    assert_eq!(world.store.held().await.expect("held"), std::slice::from_ref(&held), "nothing was changed");
    assert_eq!(complete(&world.store, &held, &evidence(1), 2).await, Kept::Kept);
    assert_eq!(world.store.run(run).await.expect("the run").ended, 1);
}

async fn what_could_not_be_run_has_a_result_without_evidence(world: World) {
    let run = world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    let result = ScenarioResult::failed_to_run(&held.scenario, ErrorKind::Infrastructure, "no engine");
    let completion = Completion { evidence: None, result: &result, traces: &[], at: at(1) };
    let kept = world.store.complete(&held.lease, run, completion, &summary).await.expect("a completion");
    assert_eq!(kept, Kept::RunEnded);
    let stored = &world.store.scenarios(run).await.expect("scenarios")[0];
    assert_eq!((stored.result.as_ref(), stored.source), (Some(&result), None));
    let attempt = &world.store.attempts(run).await.expect("attempts")[0];
    assert_eq!((attempt.outcome, attempt.size), (AttemptOutcome::Infrastructure, None));
    assert!(attempt.message.as_deref().is_some_and(|message| message.contains("no engine")));
    assert_eq!(world.store.evidence(held.lease.job, 1).await.expect("readable"), None);
}

async fn a_score_that_is_no_number_keeps_no_job_from_ending(world: World) {
    let run = world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    let mut result = passed(&held.scenario);
    result.composite = f64::NAN;
    result.invariants[0].verdict.score = f64::NAN;
    result.invariants[1].weight = f64::NAN;
    let completion = Completion { evidence: None, result: &result, traces: &[], at: at(1) };
    world.store.complete(&held.lease, run, completion, &summary).await.expect("a completion");
    let stored = world.store.scenarios(run).await.expect("scenarios")[0].result.clone().expect("a result");
    let numbers = (stored.composite, stored.invariants[0].verdict.score, stored.invariants[1].weight);
    assert_eq!(numbers, (0.0, 0.0, 0.0));
}
