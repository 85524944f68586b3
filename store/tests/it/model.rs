//! Whatever is done to the queue, in whatever order, it does what a simple model of it does.

use std::cmp::Reverse;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::{Beat, ClaimRequest, Failure, Held, JobId, Kept, Lane, Lease, NewRun, RunId, RunState};

use crate::harness::{Database, LARGE, World, at, complete, evidence, request, summary};

/// Something that is done to the queue. Leases and runs are chosen among all that there ever were.
#[derive(Debug, Clone)]
enum Step {
    Submit { jobs: u32, priority: i64 },
    Claim,
    Heartbeat { lease: usize },
    Complete { lease: usize, large: bool },
    Retry { lease: usize, wait: i64 },
    Release { lease: usize },
    GiveUp { lease: usize },
    Cancel { run: usize },
    Reap,
    Wait { seconds: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let lease = 0..1000_usize;
    prop_oneof![
        2 => (1..4_u32, 0..3_i64).prop_map(|(jobs, priority)| Step::Submit { jobs, priority }),
        8 => Just(Step::Claim),
        3 => lease.clone().prop_map(|lease| Step::Heartbeat { lease }),
        5 => (lease.clone(), any::<bool>()).prop_map(|(lease, large)| Step::Complete { lease, large }),
        3 => (lease.clone(), 0..15_i64).prop_map(|(lease, wait)| Step::Retry { lease, wait }),
        2 => lease.clone().prop_map(|lease| Step::Release { lease }),
        1 => lease.clone().prop_map(|lease| Step::GiveUp { lease }),
        1 => lease.prop_map(|run| Step::Cancel { run }),
        2 => Just(Step::Reap),
        3 => (1..12_i64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Queued,
    Running { until: i64 },
    Done,
    Cancelled,
}

#[derive(Debug)]
struct Job {
    id: JobId,
    run: RunId,
    priority: i64,
    ready: i64,
    state: State,
    epoch: u32,
    failures: u32,
    unwanted: bool,
}

/// A model of the queue.
#[derive(Default)]
struct Model {
    now: i64,
    runs: Vec<RunId>,
    jobs: Vec<Job>,
    leases: Vec<Held>,
}

impl Model {
    fn first_ready(&mut self) -> Option<&mut Job> {
        let now = self.now;
        let ready = self.jobs.iter_mut().filter(|job| job.state == State::Queued && job.ready <= now);
        ready.min_by_key(|job| (Reverse(job.priority), job.ready, job.id))
    }

    /// The job of a lease, if it still holds.
    fn held(&mut self, lease: &Lease) -> Option<&mut Job> {
        let same = |job: &&mut Job| job.id == lease.job && job.epoch == lease.epoch;
        self.jobs.iter_mut().find(same).filter(|job| matches!(job.state, State::Running { .. }))
    }

    fn has_ended(&self, run: RunId) -> bool {
        let mut jobs = self.jobs.iter().filter(|job| job.run == run);
        jobs.all(|job| matches!(job.state, State::Done | State::Cancelled))
    }

    fn end(&mut self, lease: &Lease, state: State) -> Kept {
        let Some(job) = self.held(lease) else { return Kept::Stale };
        job.state = state;
        let run = job.run;
        if self.has_ended(run) { Kept::RunEnded } else { Kept::Kept }
    }

    fn put_back(&mut self, lease: &Lease, ready: Option<i64>) -> Kept {
        let Some(job) = self.held(lease).filter(|job| !job.unwanted) else { return Kept::Stale };
        job.state = State::Queued;
        if let Some(ready) = ready {
            job.ready = ready;
            job.failures += 1;
        }
        Kept::Kept
    }

    fn cancel(&mut self, run: RunId) -> Kept {
        if self.has_ended(run) {
            return Kept::Stale;
        }
        for job in self.jobs.iter_mut().filter(|job| job.run == run) {
            match job.state {
                State::Queued => job.state = State::Cancelled,
                State::Running { .. } => job.unwanted = true,
                State::Done | State::Cancelled => {}
            }
        }
        if self.has_ended(run) { Kept::RunEnded } else { Kept::Kept }
    }
}

/// Does one step to both.
async fn take(world: &World, model: &mut Model, step: &Step) {
    let chosen = |index: usize| model.leases.get(index % model.leases.len().max(1)).cloned();
    match *step {
        Step::Submit { jobs, priority } => submit(world, model, jobs, priority).await,
        Step::Claim => claim(world, model).await,
        Step::Wait { seconds } => model.now += seconds,
        Step::Reap => reap(world, model).await,
        Step::Cancel { run } => {
            let Some(run) = model.runs.get(run % model.runs.len().max(1)).copied() else { return };
            let kept = world.store.cancel(run, "enough", at(model.now), &summary).await.expect("cancelled");
            assert_eq!(kept, model.cancel(run));
        }
        Step::Heartbeat { lease } => {
            let Some(held) = chosen(lease) else { return };
            let until = model.now + 10;
            let beat = world.store.heartbeat(&held.lease, at(until)).await.expect("a beat");
            let expected = match model.held(&held.lease) {
                None => Beat::Lost,
                Some(job) => {
                    job.state = State::Running { until };
                    if job.unwanted { Beat::Cancelled } else { Beat::Held }
                }
            };
            assert_eq!(beat, expected);
        }
        Step::Complete { lease, large } => {
            let Some(held) = chosen(lease) else { return };
            let evidence = evidence(if large { LARGE } else { 10 });
            let kept = complete(&world.store, &held, &evidence, model.now).await;
            assert_eq!(kept, model.end(&held.lease, State::Done));
        }
        Step::Retry { lease, wait } => {
            let Some(held) = chosen(lease) else { return };
            let (ready, failure) = (model.now + wait, Failure::Infrastructure);
            let kept = world.store.retry(&held.lease, failure, "", at(ready), at(model.now)).await.expect("a retry");
            assert_eq!(kept, model.put_back(&held.lease, Some(ready)));
        }
        Step::Release { lease } => {
            let Some(held) = chosen(lease) else { return };
            let kept = world.store.release(&held.lease, "", at(model.now)).await.expect("a release");
            assert_eq!(kept, model.put_back(&held.lease, None));
        }
        Step::GiveUp { lease } => {
            let Some(held) = chosen(lease) else { return };
            give_up(world, model, &held).await;
        }
    }
}

async fn submit(world: &World, model: &mut Model, jobs: u32, priority: i64) {
    let new = NewRun { priority, ..world.run(jobs) };
    let run = world.submit(&new, at(model.now)).await;
    model.runs.push(run);
    let job = |job: &store::NewJob| Job {
        id: job.id,
        run,
        priority,
        ready: model.now,
        state: State::Queued,
        epoch: 0,
        failures: 0,
        unwanted: false,
    };
    model.jobs.extend(new.jobs.iter().map(job));
}

async fn claim(world: &World, model: &mut Model) {
    let token = format!("token-{}", model.leases.len());
    let request = ClaimRequest { token, ..request(Lane::Shared, model.now) };
    let held = world.store.claim(&request).await.expect("a claim");
    let until = model.now + 10;
    let expected = model.first_ready().map(|job| {
        job.epoch += 1;
        job.state = State::Running { until };
        (job.id, job.epoch, job.failures, job.run)
    });
    assert_eq!(held.as_ref().map(|held| (held.lease.job, held.lease.epoch, held.failures, held.run)), expected);
    model.leases.extend(held);
}

async fn give_up(world: &World, model: &mut Model, held: &Held) {
    let kept = world.store.give_up(&held.lease, held.run, "", at(model.now), &summary).await.expect("given up");
    assert_eq!(kept, model.end(&held.lease, State::Cancelled));
}

/// Reaps jobs: those whose holders are gone are retried, or ended when nobody wants them.
async fn reap(world: &World, model: &mut Model) {
    let now = model.now;
    for held in world.store.expired(at(now)).await.expect("expired") {
        let job = model.held(&held.lease).expect("only what is held can expire");
        assert!(matches!(job.state, State::Running { until } if until < now));
        let kept = world.store.retry(&held.lease, Failure::Lost, "gone", at(now), at(now)).await.expect("a retry");
        assert_eq!(kept, model.put_back(&held.lease, Some(now)));
        if kept == Kept::Stale {
            give_up(world, model, &held).await;
        }
    }
    assert!(!model.jobs.iter().any(|job| matches!(job.state, State::Running { until } if until < now)));
}

/// Asserts what must be true after every step.
async fn check(world: &World, model: &Model) {
    let held = world.store.held().await.expect("held");
    let found: Vec<_> = held.iter().map(|held| (held.lease.job, held.lease.epoch)).collect();
    let running = model.jobs.iter().filter(|job| matches!(job.state, State::Running { .. }));
    assert_eq!(found, running.map(|job| (job.id, job.epoch)).collect::<Vec<_>>(), "one lease a job holds");
    for run in &model.runs {
        let jobs: Vec<_> = model.jobs.iter().filter(|job| job.run == *run).collect();
        let kept = world.store.run(*run).await.expect("the run");
        let ended = jobs.iter().filter(|job| matches!(job.state, State::Done | State::Cancelled)).count();
        let state = match (ended == jobs.len(), jobs.iter().any(|job| job.state == State::Cancelled)) {
            (false, _) => RunState::Open,
            (true, true) => RunState::Cancelled,
            (true, false) => RunState::Finished,
        };
        assert_eq!((kept.state, kept.ended, kept.score.is_some()), (state, ended as u64, state != RunState::Open));
        let scenarios = world.store.scenarios(*run).await.expect("scenarios");
        for (stored, job) in scenarios.iter().zip(&jobs) {
            let source = (job.state == State::Done).then_some((job.id, job.epoch));
            assert_eq!((stored.source, stored.result.is_some()), (source, source.is_some()), "one result a job");
            assert!(stored.result.as_ref().is_none_or(|result| result.invariants.len() == 2));
        }
    }
}

/// Every attempt was one of ours, and all but those that are held have ended.
async fn check_attempts(world: &World, model: &Model) {
    for run in &model.runs {
        let attempts = world.store.attempts(*run).await.expect("attempts");
        let leases = model.leases.iter().filter(|held| held.run == *run).count();
        assert_eq!(attempts.len(), leases);
        let running = model.jobs.iter().filter(|job| job.run == *run && matches!(job.state, State::Running { .. }));
        assert_eq!(attempts.iter().filter(|attempt| attempt.ended_at.is_none()).count(), running.count());
        for job in model.jobs.iter().filter(|job| job.run == *run && job.state == State::Done) {
            assert!(world.store.evidence(job.id, job.epoch).await.expect("readable").is_some());
        }
    }
    let has_no_name = |file: &&String| file.rsplit('/').next().is_some_and(|name| name.starts_with(".tmp"));
    let unfinished = world.files().iter().filter(has_no_name).count();
    assert_eq!(unfinished, 0, "nothing unfinished stays");
}

#[test]
fn the_queue_does_what_the_model_does() {
    the_queue_does_it(Database::Sqlite);
}

#[test]
fn the_queue_in_postgres_does_what_the_model_does() {
    the_queue_does_it(Database::Postgres);
}

fn the_queue_does_it(database: Database) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // A server takes longer for each step.
    let cases = Config::default().cases.div_ceil(if database == Database::Sqlite { 16 } else { 64 });
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let run = |steps: Vec<Step>| {
        runtime.block_on(async {
            let Some(world) = World::on(database).await else { return };
            let mut model = Model::default();
            for step in &steps {
                take(&world, &mut model, step).await;
                check(&world, &model).await;
            }
            check_attempts(&world, &model).await;
        });
        Ok(())
    };
    runner.run(&prop::collection::vec(step(), 1..200), run).expect("they agree");
}
