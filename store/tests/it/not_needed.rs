//! Cells that stop when their bar is decided.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use scenario::plan::{PlanOptions, expand};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::score::{CellVerdict, SequentialDecision};
use scenario::spec::{Spec, load};
use scenario::verdict::ErrorKind;
use store::{
    Completion, Demand, Failure, Held, Ids, JobTerms, Kept, Lane, NewExperiment, NewRun, Numbers, Rescored, RunId,
    RunState, SpecContent,
};
use uuid::Uuid;

use crate::harness::{World, at};

databases![
    the_rest_is_dropped_when_the_bar_is_decided,
    what_is_being_done_goes_on_and_has_no_say,
    a_replica_that_is_put_back_after_the_decision_is_not_done_again,
    workers_that_end_replicas_at_the_same_time_come_to_one_decision,
    replicas_of_several_cells_are_taken_in_turn,
    a_fixed_number_of_replicas_is_run_in_full,
    a_run_that_is_cancelled_stays_cancelled,
    judging_again_decides_over_what_ran,
];

const SPEC: &str = "
version: 1
id: ledger
base: debian
task: {prompt: x}
agent: {type: noop}
parallelism: {replicas: {until: decided, bar: 0.9, margin: 0.2, at_most: 30}MATRIX}
invariants:
  first: {description: x, check: {type: file_exists, path: out}}
";

/// Ids of jobs, each later than those before it.
#[derive(Debug, Default)]
struct InOrder(AtomicU64);

impl Ids for InOrder {
    fn id(&self) -> Uuid {
        Uuid::from_u128(1 << 64 | u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }

    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

fn text(matrix: &str) -> String {
    SPEC.replace("MATRIX", matrix)
}

fn spec(matrix: &str) -> Spec {
    load(&text(matrix), None).spec.expect("a spec")
}

async fn submit(world: &World, matrix: &str, replicas: Option<usize>) -> RunId {
    let content = SpecContent { text: text(matrix), files: Vec::new() };
    let version = world.store.keep_spec("", "ledger", &content, at(0)).await.expect("a spec");
    let spec = spec(matrix);
    let plan = expand(&spec, PlanOptions { replicas, ..PlanOptions::default() }).expect("a plan");
    let terms = JobTerms { lane: Lane::Shared, priority: 0, demand: Demand::default() };
    let run = NewRun::new(&spec, plan.scenarios, terms, &InOrder::default());
    let mut experiment = NewExperiment { spec: version, seed: plan.seed, ..world.experiment().await };
    experiment.settings.replicas = replicas;
    world.store.submit(&experiment, &run, at(0)).await.expect("submitted")
}

async fn end(world: &World, held: &Held, status: RowStatus) -> Kept {
    let result = ScenarioResult::failed_to_run(&held.scenario, ErrorKind::Infrastructure, "no engine");
    let error = result.error.clone().filter(|_| status == RowStatus::Error);
    let result = ScenarioResult { status, error, ..result };
    let numbers = Numbers::of(&world.store, held.run).await.expect("numbers");
    let completion = Completion { evidence: None, result: &result, traces: &[], at: at(1) };
    world.store.complete(&held.lease, held.run, completion, &numbers).await.expect("a completion")
}

async fn claim(world: &World) -> Held {
    world.claim(0).await.expect("a job")
}

async fn the_rest_is_dropped_when_the_bar_is_decided(world: World) {
    let run = submit(&world, "", None).await;
    for _ in 0..2 {
        assert_eq!(end(&world, &claim(&world).await, RowStatus::Fail).await, Kept::Kept);
    }
    assert_eq!(end(&world, &claim(&world).await, RowStatus::Fail).await, Kept::RunEnded);
    let kept = world.store.run(run).await.expect("the run");
    assert_eq!((kept.state, kept.total, kept.ended), (RunState::Finished, 30, 30), "it is not cancelled");
    let score = kept.score.expect("a score");
    let cell = score.cells[0].sequential.clone().expect("it stops early");
    assert_eq!((cell.stopped_after, cell.surplus, cell.not_needed), (3, 0, 27));
    assert_eq!((cell.decision, score.cells[0].verdict), (Some(SequentialDecision::Missed), CellVerdict::Fail));
    assert_eq!(world.store.not_needed(run).await.expect("a list").len(), 27);
    assert_eq!(world.claim(9).await, None);
    // What is told of a run that has ended is what was kept of it.
    let experiment = world.store.experiment(run.experiment).await.expect("the experiment");
    let run = world.store.run(run).await.expect("the run");
    let report = store::report(&world.store, &experiment, &run).await.expect("a report");
    assert_eq!((report.not_run(), report.score), (0, score));
}

async fn what_is_being_done_goes_on_and_has_no_say(world: World) {
    let run = submit(&world, "", None).await;
    let mut held = Vec::new();
    for _ in 0..6 {
        held.push(claim(&world).await);
    }
    for one in [5, 4, 1, 2] {
        assert_eq!(end(&world, &held[one], RowStatus::Fail).await, Kept::Kept);
    }
    // Replica 0 can pass, fail or not be judged: with the four that failed it is decided in any case.
    assert_eq!(world.claim(0).await, None, "no more can matter");
    assert_eq!(end(&world, &held[0], RowStatus::Fail).await, Kept::Kept);
    assert_eq!(end(&world, &held[3], RowStatus::Pass).await, Kept::RunEnded);
    let score = world.store.run(run).await.expect("the run").score.expect("a score");
    let cell = score.cells[0].sequential.clone().expect("it stops early");
    assert_eq!((cell.stopped_after, cell.surplus, cell.not_needed), (3, 3, 24));
    assert_eq!((score.cells[0].failed, score.cells[0].passed), (3, 0));
    assert_eq!((score.total, score.passed, score.flaky, score.not_needed), (6, 1, 5, 24));
}

async fn a_replica_that_is_put_back_after_the_decision_is_not_done_again(world: World) {
    let run = submit(&world, "", None).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(claim(&world).await);
    }
    for one in &held[..3] {
        end(&world, one, RowStatus::Fail).await;
    }
    let late = &held[3];
    let put_back = world.store.retry(&late.lease, Failure::Infrastructure, "no engine", at(2), at(2)).await;
    assert_eq!(put_back.expect("put back"), Kept::Kept);
    let numbers = Numbers::of(&world.store, run).await.expect("numbers");
    let dropped = world.store.drop_not_needed(run, &late.scenario, at(3), &numbers).await;
    assert_eq!(dropped.expect("dropped"), Kept::RunEnded);
    assert_eq!(world.claim(9).await, None);
    let again = world.store.drop_not_needed(run, &late.scenario, at(4), &numbers).await;
    assert_eq!(again.expect("nothing to do"), Kept::Kept);
    let kept = world.store.run(run).await.expect("the run");
    assert_eq!((kept.state, kept.ended, kept.score.expect("a score").not_needed), (RunState::Finished, 30, 27));
}

async fn workers_that_end_replicas_at_the_same_time_come_to_one_decision(world: World) {
    let run = submit(&world, "", None).await;
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(claim(&world).await);
    }
    let [a, b, c, d, e] = held.as_slice() else { panic!("five") };
    let fail = |held| end(&world, held, RowStatus::Fail);
    let (a, b, c, d, e) = tokio::join!(fail(a), fail(b), fail(c), fail(d), fail(e));
    let ended = [a, b, c, d, e].into_iter().filter(|kept| *kept == Kept::RunEnded).count();
    assert_eq!(ended, 1, "it ends once");
    let kept = world.store.run(run).await.expect("the run");
    let cell = kept.score.expect("a score").cells[0].sequential.clone().expect("it stops early");
    assert_eq!((kept.ended, cell.stopped_after, cell.surplus, cell.not_needed), (30, 3, 2, 25));
}

async fn replicas_of_several_cells_are_taken_in_turn(world: World) {
    submit(&world, ", matrix: {size: [1, 2, 3]}", None).await;
    let mut first = Vec::new();
    for _ in 0..6 {
        first.push(claim(&world).await.scenario);
    }
    assert_eq!(first.iter().map(|scenario| scenario.replica).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
    assert_eq!(first.iter().map(|scenario| &scenario.cell).collect::<BTreeSet<_>>().len(), 3);
}

async fn a_fixed_number_of_replicas_is_run_in_full(world: World) {
    let run = submit(&world, "", Some(5)).await;
    for _ in 0..4 {
        assert_eq!(end(&world, &claim(&world).await, RowStatus::Fail).await, Kept::Kept);
    }
    assert_eq!(end(&world, &claim(&world).await, RowStatus::Fail).await, Kept::RunEnded);
    let score = world.store.run(run).await.expect("the run").score.expect("a score");
    assert_eq!((score.cells[0].sequential.clone(), score.cells[0].verdict), (None, CellVerdict::Fail));
}

async fn a_run_that_is_cancelled_stays_cancelled(world: World) {
    let run = submit(&world, "", None).await;
    end(&world, &claim(&world).await, RowStatus::Pass).await;
    let numbers = Numbers::of(&world.store, run).await.expect("numbers");
    assert_eq!(world.store.cancel(run, "enough", at(2), &numbers).await.expect("cancelled"), Kept::RunEnded);
    let kept = world.store.run(run).await.expect("the run");
    let score = kept.score.expect("a score");
    assert_eq!((kept.state, score.cells[0].verdict), (RunState::Cancelled, CellVerdict::Pending));
    assert_eq!((score.not_needed, world.store.not_needed(run).await.expect("a list").len()), (0, 0));
}

async fn judging_again_decides_over_what_ran(world: World) {
    let run = submit(&world, "", None).await;
    for _ in 0..3 {
        end(&world, &claim(&world).await, RowStatus::Fail).await;
    }
    let stored = world.store.run(run).await.expect("the run");
    let mut rescored: Vec<_> = world
        .store
        .rescore(&stored, None)
        .await
        .expect("judged")
        .now
        .into_iter()
        .map(|one| Rescored { source: None, ..one })
        .collect();
    assert_eq!((rescored.len(), rescored.iter().filter(|one| one.result.is_some()).count()), (30, 3));
    // Another rule lets one of them pass: three are not enough any more.
    for result in rescored.iter_mut().take(1).filter_map(|one| one.result.as_mut()) {
        result.status = RowStatus::Pass;
    }
    let experiment = world.store.experiment(run.experiment).await.expect("the experiment");
    let score = Numbers::of(&world.store, run).await.expect("numbers");
    let results: Vec<_> = rescored.iter().filter_map(|one| one.result.clone()).collect();
    let score = score.score(&results);
    assert_eq!(score.cells[0].verdict, CellVerdict::Undecided);
    let again = world.store.keep_rescored(run, &stored.digest, &rescored, &score, at(9)).await.expect("kept");
    let again = world.store.run(again).await.expect("the run");
    assert_eq!(again.state, RunState::Finished, "nothing of it was cancelled");
    let report = store::report(&world.store, &experiment, &again).await.expect("a report");
    assert_eq!((report.score.cells[0].verdict, report.score.not_needed), (CellVerdict::Undecided, 27));
}
