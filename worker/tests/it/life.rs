//! The whole life of jobs that go well.

use std::sync::atomic::Ordering;

use scenario::result::RowStatus;
use store::{AttemptOutcome, RunState};
use worker::{KeepSandbox, Notice};

use crate::fake::{Act, Kept};
use crate::harness::{World, scenario};

#[tokio::test]
async fn a_job_is_claimed_run_judged_and_kept_and_all_of_it_is_written_down() {
    let world = World::sqlite().await;
    let run = world.submit(1).await;
    world.work(world.worker(1)).await;

    let kept = world.run(run).await;
    assert_eq!((kept.state, kept.total, kept.ended), (RunState::Finished, 1, 1));
    assert!(kept.score.is_some() && kept.ended_at.is_some());
    let [result] = &world.results(run).await[..] else { panic!("there is one result") };
    assert_eq!(result.status, RowStatus::Pass);
    let [attempt] = &world.attempts(run).await[..] else { panic!("there is one attempt") };
    assert_eq!((attempt.number, attempt.outcome), (1, AttemptOutcome::Judged));
    let evidence = world.store.evidence(attempt.job, 1).await.unwrap().expect("there is evidence");
    assert!(evidence.answers.contains_key("fine"));
    let expected = [
        "claimed",
        "phase_started prepare",
        "sandbox_created",
        "phase_ended prepare",
        "phase_started act",
        "phase_ended act",
        "phase_started probe",
        "phase_ended probe",
        "phase_started destroy",
        "sandbox_destroyed",
        "phase_ended destroy",
        "judged",
    ];
    assert_eq!(world.events(run).await, expected);
    let notices = world.notices();
    assert!(matches!(notices.first(), Some(Notice::Claimed { job }) if job.attempt == 1));
    assert!(
        matches!(&notices[notices.len() - 2..], [Notice::Ended { .. }, Notice::RunEnded { run: ended }] if *ended == run)
    );
    assert_eq!(world.fake.sweeps.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_sandbox_gets_its_secrets_and_its_names() {
    let world = World::sqlite().await;
    let run = world.submit(1).await;
    world.work(world.worker(1)).await;
    let [seen] = &world.fake.seen()[..] else { panic!("there is one attempt") };
    assert_eq!(seen.secrets.get("KEY").map(String::as_str), Some("value"));
    assert_eq!(seen.identity.experiment, run.experiment.to_string());
    assert_eq!((seen.identity.scenario.as_str(), seen.identity.attempt), ("default-r0", 1));
    assert_eq!(seen.kept, Kept::Never);
}

#[tokio::test]
async fn a_run_that_has_ended_has_all_its_events() {
    let world = World::sqlite().await;
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::PassEventfully]);
    let mut worker = world.worker(1);
    worker.tick().await.unwrap();
    crate::harness::until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    assert_eq!(world.events(run).await.last().map(String::as_str), Some("judged"));
    worker.finish().await;
}

#[tokio::test]
async fn an_agent_that_fails_is_never_tried_again() {
    let world = World::sqlite().await;
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Fail, Act::Pass]);
    world.work(world.worker(1)).await;
    assert_eq!(world.results(run).await[0].status, RowStatus::Fail);
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
}

#[tokio::test]
async fn sandboxes_are_kept_when_they_should_be() {
    for (keep, expected) in [
        (KeepSandbox::Never, Kept::Never),
        (KeepSandbox::Always, Kept::Always),
        (KeepSandbox::OnFailure, Kept::When { passed: false, failed: true }),
    ] {
        let world = World::sqlite().await;
        world.submit(1).await;
        world.work(world.worker_with(1, |config| config.keep = keep)).await;
        assert_eq!(world.fake.seen()[0].kept, expected, "{keep:?}");
    }
}
