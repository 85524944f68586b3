//! Held calls, from the attempt that asks to the people who decide.

use std::time::Duration;

use engine::approvals::{ApprovalAnswer, ApprovalRequest};
use serde_json::json;
use store::{
    Approval, ApprovalFilter, ApprovalStatus, Clock as _, Decided, Decision, DecisionKind, MadeDecision, Page, RunId,
};

use crate::fake::Act;
use crate::harness::{World, scenario, start, until};

databases![
    a_held_call_waits_for_a_person_and_goes_on,
    a_call_that_is_denied_is_told_so,
    a_hold_outlives_its_worker_with_the_decision_that_was_made_meanwhile,
    nobody_decides_before_the_deadline,
    an_approval_is_for_one_call_of_an_attempt,
    what_a_session_took_back_waits_no_more,
];

/// A request to hold a refund, with 300 s to decide.
pub(crate) fn request() -> ApprovalRequest {
    ApprovalRequest {
        session: "main".to_owned(),
        call: "call_1".to_owned(),
        tool: "refund".to_owned(),
        arguments_hash: "sha256:a".to_owned(),
        contract: "sha256:c".to_owned(),
        state_version: 1,
        repetition: 0,
        context: vec![("Amount".to_owned(), json!(120))],
        checkpoints: vec!["large_refund".to_owned()],
        reason: "`amount` is above 100".to_owned(),
        timeout: Duration::from_secs(300),
        allows_on_timeout: false,
    }
}

impl World {
    async fn approvals(&self) -> Vec<Approval> {
        let filter = ApprovalFilter { now: self.clock.now(), ..ApprovalFilter::default() };
        self.store.approvals(filter, Page::ALL).await.unwrap().items
    }

    /// Waits until one call is held; its approval.
    async fn held(&self) -> Approval {
        until("a call is held", async || !self.approvals().await.is_empty()).await;
        self.approvals().await.remove(0)
    }

    async fn decide(&self, id: &str, kind: DecisionKind) {
        let made = MadeDecision { by: "ada".to_owned(), key: "key_1".to_owned(), note: "fine".to_owned() };
        let decision = Decision { kind, arguments_hash: "sha256:a".to_owned(), made };
        let decided = self.store.decide_approval(id, &decision, self.clock.now()).await.unwrap();
        assert!(matches!(decided, Decided::Decided(_)), "{decided:?}");
    }

    async fn holds(&self) -> RunId {
        self.fake.otherwise(Act::Hold);
        self.submit(1).await
    }

    /// Counts the events of a kind in a run.
    async fn happened(&self, run: RunId, kind: &str) -> usize {
        self.events(run).await.iter().filter(|word| *word == kind).count()
    }
}

fn approved() -> ApprovalAnswer {
    ApprovalAnswer::Approved { by: "ada".to_owned(), note: "fine".to_owned() }
}

async fn a_held_call_waits_for_a_person_and_goes_on(world: World) {
    let run = world.holds().await;
    let working = start(world.worker(1));
    let held = world.held().await;
    assert_eq!((held.new.run, held.new.scenario.as_str()), (run, scenario(0).as_str()));
    assert_eq!(
        (held.status, held.new.deadline),
        (ApprovalStatus::Pending, world.clock.now() + Duration::from_secs(300))
    );
    assert_eq!((held.new.context, held.new.reason), (request().context, request().reason));
    world.decide(&held.new.id, DecisionKind::Approve).await;
    working.ended().await;
    assert_eq!(world.fake.answers(), [Ok(approved())]);
    let used = world.held().await;
    assert_eq!((used.status, used.used_in), (ApprovalStatus::Used, Some(1)));
    assert_eq!((world.happened(run, "call_held").await, world.happened(run, "call_decided").await), (1, 1));
}

async fn a_call_that_is_denied_is_told_so(world: World) {
    world.holds().await;
    let working = start(world.worker(1));
    world.decide(&world.held().await.new.id, DecisionKind::Deny).await;
    working.ended().await;
    assert_eq!(world.fake.answers(), [Ok(ApprovalAnswer::Denied { by: "ada".to_owned(), note: "fine".to_owned() })]);
    assert_eq!(world.held().await.status, ApprovalStatus::Denied);
}

async fn a_hold_outlives_its_worker_with_the_decision_that_was_made_meanwhile(world: World) {
    let run = world.holds().await;
    let first = start(world.worker(1));
    let held = world.held().await;
    first.kill().await;
    world.decide(&held.new.id, DecisionKind::Approve).await;
    world.clock.advance(Duration::from_secs(60));
    world.work(world.worker(2)).await;
    assert_eq!(world.fake.answers(), [Ok(approved())], "the second attempt was told at once");
    let approvals = world.approvals().await;
    assert_eq!(approvals.len(), 1, "{approvals:?}");
    assert_eq!((&approvals[0].new, approvals[0].used_in), (&held.new, Some(2)), "with its first deadline");
    assert_eq!(world.happened(run, "call_held").await, 1);
}

async fn nobody_decides_before_the_deadline(world: World) {
    world.holds().await;
    let first = start(world.worker(1));
    world.held().await;
    first.kill().await;
    world.clock.advance(Duration::from_secs(299));
    let second = start(world.worker(2));
    until("the second attempt acts", async || world.fake.running() == 1).await;
    world.clock.advance(Duration::from_secs(1));
    second.ended().await;
    assert_eq!(world.fake.answers(), [Ok(ApprovalAnswer::DeadlinePassed)], "counted from the first attempt");
    assert_eq!(world.held().await.status, ApprovalStatus::Expired);
}

async fn an_approval_is_for_one_call_of_an_attempt(world: World) {
    world.fake.otherwise(Act::HoldTwice);
    world.submit(1).await;
    let working = start(world.worker(1));
    world.decide(&world.held().await.new.id, DecisionKind::Approve).await;
    working.ended().await;
    let answers = world.fake.answers();
    assert_eq!(answers[0], Ok(approved()));
    assert!(answers[1].as_ref().is_err_and(|reason| reason.contains("used by another call")), "{answers:?}");
}

async fn what_a_session_took_back_waits_no_more(world: World) {
    world.fake.otherwise(Act::HoldAndWithdraw);
    world.submit(1).await;
    world.work(world.worker(1)).await;
    let held = world.held().await;
    assert_eq!((held.status, held.decision), (ApprovalStatus::Withdrawn, None));
    let answers = world.fake.answers();
    assert!(answers[0].as_ref().is_err_and(|reason| reason.contains("was withdrawn")), "{answers:?}");
}
