//! Sandboxes that people work in.

use std::sync::atomic::Ordering;
use std::time::Duration;

use scenario::interactive::{Ask, Refusal, RefusalKind, Reply};
use store::{Clock as _, RunState, SandboxClaim, SandboxState};
use worker::{Interactive, Notice};

use crate::fake::Act;
use crate::harness::{World, scenario, serve, until, worker_id};

databases![
    a_sandbox_is_made_asked_and_removed_when_nobody_wants_it_any_more,
    a_sandbox_that_is_asked_to_end_is_gone_before_the_answer,
    a_sandbox_whose_time_is_over_ends,
    a_sandbox_that_cannot_be_made_or_breaks_says_why,
    a_drained_worker_ends_its_sandboxes_and_finishes_its_jobs,
    a_sandbox_that_is_being_made_is_given_back_when_its_worker_ends,
    sandboxes_of_a_dead_worker_are_lost_at_once_or_when_their_lease_is_over,
    a_sandbox_whose_lease_is_lost_is_removed,
    sandboxes_leave_a_slot_for_jobs_and_share_the_budget,
];

const ID: &str = "sb-0123456789ab";
/// Long enough for a busy machine, and short enough to wait for.
const LEASE: Duration = Duration::from_millis(900);

fn command(line: &str) -> Ask {
    Ask::Command { sandbox: ID.to_owned(), command: line.to_owned(), timeout_ms: None, background: false }
}

async fn said(interactive: &Interactive, line: &str) -> String {
    match interactive.ask(command(line)).await.expect("a reply") {
        Reply::Command(reply) => reply.stdout,
        other => panic!("no reply of a command: {other:?}"),
    }
}

fn kind(result: Result<Reply, Refusal>) -> RefusalKind {
    result.expect_err("a refusal").kind
}

async fn a_sandbox_is_made_asked_and_removed_when_nobody_wants_it_any_more(world: World) {
    world.want_sandbox(ID).await;
    world.fake.script(ID, [Act::Wait]);
    let serving = serve(world.service_with(1, |config| config.lease = LEASE));
    until("it is being made", async || serving.interactive.sandboxes() == [ID]).await;
    assert_eq!(kind(serving.interactive.ask(command("x")).await), RefusalKind::NotReady);
    world.fake.open_gate();
    world.until_sandbox(ID, SandboxState::Ready).await;
    let row = world.sandbox(ID).await;
    assert_eq!((row.worker, row.services["mail"]["port"].as_u64()), (Some(worker_id(1)), Some(80)));
    assert_eq!(said(&serving.interactive, "hello").await, "hello");
    assert_eq!(world.fake.sandbox(ID).secrets["KEY"], "sealed");
    let other = Ask::State { sandbox: "sb-other".to_owned() };
    assert_eq!(kind(serving.interactive.ask(other).await), RefusalKind::NotFound);
    assert!(world.store.unwant_sandbox(ID, world.clock.now()).await.unwrap());
    world.until_sandbox(ID, SandboxState::Stopped).await;
    assert_eq!(world.fake.sandbox(ID).destroyed(), 1);
    assert_eq!(kind(serving.interactive.ask(command("x")).await), RefusalKind::NotFound);
    serving.control.drain();
    serving.ended().await;
    let ended = Notice::SandboxEnded { sandbox: ID.to_owned(), error: None };
    assert!(world.notices().contains(&ended));
}

async fn a_sandbox_that_is_asked_to_end_is_gone_before_the_answer(world: World) {
    world.want_sandbox(ID).await;
    world.fake.stuck.store(2, Ordering::SeqCst);
    let serving = serve(world.service_with(1, |_| ()));
    world.until_sandbox(ID, SandboxState::Ready).await;
    let destroy = || serving.interactive.ask(Ask::Destroy { sandbox: ID.to_owned() });
    assert_eq!(destroy().await, Ok(Reply::Done));
    assert_eq!((world.fake.live(), world.sandbox(ID).await.state), (0, SandboxState::Stopped));
    assert_eq!(destroy().await, Ok(Reply::Done), "once more is no mistake");
    serving.control.drain();
    serving.ended().await;
}

async fn a_sandbox_whose_time_is_over_ends(world: World) {
    world.want_sandbox_for(ID, Duration::from_secs(3)).await;
    let serving = serve(world.service_with(1, |_| ()));
    world.until_sandbox(ID, SandboxState::Ready).await;
    assert_eq!(said(&serving.interactive, "still").await, "still");
    world.until_sandbox(ID, SandboxState::Stopped).await;
    assert_eq!(world.fake.live(), 0);
    serving.control.drain();
    serving.ended().await;
}

async fn a_sandbox_that_cannot_be_made_or_breaks_says_why(world: World) {
    world.want_sandbox(ID).await;
    world.want_sandbox("sb-2").await;
    world.want_sandbox("sb-3").await;
    world.fake.script(ID, [Act::BreakForGood]);
    world.fake.script("sb-2", [Act::Panic]);
    let serving = serve(world.service_with(1, |_| ()));
    world.until_sandbox(ID, SandboxState::Error).await;
    assert_eq!(world.sandbox(ID).await.error.as_deref(), Some("the engine is unfit"));
    world.until_sandbox("sb-2", SandboxState::Error).await;
    assert!(world.sandbox("sb-2").await.error.unwrap().contains("panicked"));
    world.until_sandbox("sb-3", SandboxState::Ready).await;
    world.fake.sandbox("sb-3").break_it("it wrote too much");
    world.until_sandbox("sb-3", SandboxState::Error).await;
    assert_eq!(world.sandbox("sb-3").await.error.as_deref(), Some("it wrote too much"));
    assert_eq!(world.fake.sandbox("sb-3").destroyed(), 1);
    serving.control.drain();
    serving.ended().await;
}

async fn a_drained_worker_ends_its_sandboxes_and_finishes_its_jobs(world: World) {
    let run = world.submit(1).await;
    world.want_sandbox(ID).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let serving = serve(world.service_with(1, |_| ()));
    world.until_sandbox(ID, SandboxState::Ready).await;
    until("the job runs", async || world.fake.running() == 1).await;
    serving.control.drain();
    world.until_sandbox(ID, SandboxState::Stopped).await;
    assert_eq!(world.fake.live(), 0);
    let later = world.submit(1).await;
    assert!(!serving.has_ended(), "the job goes on");
    world.fake.open_gate();
    serving.ended().await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
    assert_eq!(world.run(later).await.ended, 0, "nothing new was taken");
}

async fn a_sandbox_that_is_being_made_is_given_back_when_its_worker_ends(world: World) {
    world.want_sandbox(ID).await;
    world.fake.script(ID, [Act::Wait, Act::Pass]);
    let first = serve(world.service_with(1, |_| ()));
    until("it is being made", async || world.sandbox(ID).await.worker.is_some()).await;
    until("it is known", async || first.interactive.sandboxes() == [ID]).await;
    first.control.drain();
    first.ended().await;
    let row = world.sandbox(ID).await;
    assert_eq!((row.state, row.worker), (SandboxState::Creating, None));
    let second = serve(world.service_with(2, |_| ()));
    world.until_sandbox(ID, SandboxState::Ready).await;
    assert_eq!(world.sandbox(ID).await.worker, Some(worker_id(2)));
    second.control.release();
    second.ended().await;
    assert_eq!(world.sandbox(ID).await.state, SandboxState::Stopped);
}

async fn sandboxes_of_a_dead_worker_are_lost_at_once_or_when_their_lease_is_over(world: World) {
    world.want_sandbox(ID).await;
    let first = serve(world.service_with(1, |_| ()));
    world.until_sandbox(ID, SandboxState::Ready).await;
    first.kill().await;
    let mut second = world.service_with(2, |_| ());
    second.tick().await.unwrap();
    assert_eq!(world.sandbox(ID).await.state, SandboxState::Ready, "nobody knows that it is dead");
    world.peers.gone(worker_id(1).owner);
    world.clock.advance(Duration::from_secs(6));
    second.tick().await.unwrap();
    let row = world.sandbox(ID).await;
    assert_eq!((row.state, row.error.as_deref()), (SandboxState::Error, Some("its worker was lost")));
    // That of a worker elsewhere, of which nothing is known but its silence.
    world.want_sandbox("sb-2").await;
    let now = world.clock.now();
    let mut elsewhere = worker_id(3);
    elsewhere.data_dir = uuid::Uuid::from_u128(99);
    let claim = SandboxClaim {
        worker: elsewhere,
        token: "t".to_owned(),
        now,
        until: now + Duration::from_secs(30),
        room: None,
    };
    assert!(world.store.claim_sandbox(&claim).await.unwrap().is_some());
    world.clock.advance(Duration::from_secs(20));
    second.tick().await.unwrap();
    assert!(world.sandbox("sb-2").await.state.is_active());
    world.clock.advance(Duration::from_secs(11));
    second.tick().await.unwrap();
    assert_eq!(world.sandbox("sb-2").await.state, SandboxState::Error);
    second.finish().await;
}

async fn a_sandbox_whose_lease_is_lost_is_removed(world: World) {
    world.want_sandbox(ID).await;
    let serving = serve(world.service_with(1, |config| config.lease = LEASE));
    world.until_sandbox(ID, SandboxState::Ready).await;
    world.store.lose_sandboxes_of(worker_id(1), world.clock.now()).await.unwrap();
    until("it is removed", async || world.fake.live() == 0).await;
    assert_eq!(world.sandbox(ID).await.error.as_deref(), Some("its worker was lost"));
    serving.control.drain();
    serving.ended().await;
}

async fn sandboxes_leave_a_slot_for_jobs_and_share_the_budget(world: World) {
    for number in 1..=3 {
        world.want_sandbox(&format!("sb-{number}")).await;
    }
    let mut worker = world.service_with(1, |config| config.slots = 3);
    assert_eq!(worker.tick().await.unwrap().running, 2, "one slot is for jobs");
    let run = world.submit(1).await;
    worker.tick().await.unwrap();
    until("the job ends", async || world.run(run).await.state == RunState::Finished).await;
    worker.control().drain();
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
    // In memory there is room for one of a GiB, and no more.
    world.want_sandbox("sb-4").await;
    let mut narrow = world.service_with(2, |config| {
        config.slots = 9;
        config.budget.memory = 3 << 29;
    });
    assert_eq!(narrow.tick().await.unwrap().running, 1);
    narrow.control().drain();
    narrow.run_until_empty().await.unwrap();
    narrow.finish().await;
}
