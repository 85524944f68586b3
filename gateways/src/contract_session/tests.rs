//! Sessions that wait for people.

use std::sync::Arc;
use std::time::Duration;

use scenario::intervention::{Intervention, KillReach, SessionChange};
use scenario::spec::sections::PauseScope;
use serde_json::{Value as Json, json};
use tokio::time::timeout;
use tool_contracts::{Outcome, ProposedCall, Via};

use super::testing::{Desk, Opening, record, records};
use super::{ContractSession, ExecutionRequest, Gated, OperatedSessions, Permit, Sessions};
use crate::Gateway as _;

/// Time limit for whatever a test waits for.
const DEADLINE: Duration = Duration::from_secs(20);

fn request(tool: &str, arguments: Json) -> ExecutionRequest {
    ExecutionRequest { via: Via::Mcp, tool: tool.to_owned(), arguments, model_id: None }
}

fn pay(amount: u64) -> ExecutionRequest {
    request("pay", json!({"amount": amount}))
}

async fn look(session: &ContractSession) {
    let Permit::Granted(call) = session.permit(request("look", json!({}))).await else { panic!("not granted") };
    session.complete(&call, &Outcome::Ok(json!({"ok": true})), 1);
}

/// Waits until a person is asked.
async fn until_asked(desk: &Desk, count: usize) {
    let asked = async {
        while desk.asked().len() < count {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, asked).await.expect("somebody is asked");
}

#[tokio::test]
async fn nothing_is_decided_before_the_agent_starts() {
    let session = Opening::default().open();
    assert_eq!(session.permit(pay(5)).await, Permit::NotJudged);
    session.begin().await;
    assert!(matches!(session.permit(pay(5)).await, Permit::Refused { .. }));
    assert_eq!(records(&session, "decision").len(), 1);
}

#[tokio::test]
async fn other_calls_wait_in_their_order_while_one_is_held() {
    let desk = Desk::open();
    let session = Opening { approver: desk.approver(), ..Opening::default() }.begin().await;
    look(&session).await;
    let held = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.permit(pay(60)).await }
    });
    until_asked(&desk, 1).await;
    let later = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.permit(request("look", json!({"again": true}))).await }
    });
    tokio::task::yield_now().await;
    assert!(!later.is_finished(), "the session is paused");
    assert_eq!(record(&session).status, "paused");
    desk.approve();
    let held = timeout(DEADLINE, held).await.expect("in time").expect("a permit");
    let later = timeout(DEADLINE, later).await.expect("in time").expect("a permit");
    assert!(matches!((held, later), (Permit::Granted(_), Permit::Granted(_))));
    let asked = &desk.asked()[0];
    assert_eq!((asked.context.as_slice(), asked.repetition), (&[("Amount".to_owned(), json!(60))][..], 0));
    let kinds: Vec<_> = record(&session).records.iter().map(|record| record["kind"].clone()).collect();
    let place = |kind: &str| kinds.iter().rposition(|one| one == kind).expect("a record");
    assert!(place("hold") < place("approval") && place("approval") < place("dispatched"));
    assert_eq!(records(&session, "approval")[0]["by"], "ada");
}

#[tokio::test]
async fn a_request_that_waited_long_enough_is_pending_and_the_same_call_waits_for_the_same_decision() {
    let desk = Desk::open();
    let hold_wait = Duration::from_millis(10);
    let session = Opening { approver: desk.approver(), hold_wait, ..Opening::default() }.begin().await;
    look(&session).await;
    assert_eq!(session.permit(pay(60)).await, Permit::Pending);
    assert_eq!(session.permit(pay(60)).await, Permit::Pending);
    desk.approve();
    let granted = async {
        loop {
            match session.permit(pay(60)).await {
                Permit::Pending => tokio::task::yield_now().await,
                permit => return permit,
            }
        }
    };
    let permit = timeout(DEADLINE, granted).await.expect("in time");
    assert!(matches!(permit, Permit::Granted(_)), "{permit:?}");
    assert_eq!(desk.asked().len(), 1, "asked once");
    assert!(matches!(session.permit(pay(60)).await, Permit::Granted(_)), "the next one is another call");
    assert_eq!(desk.asked().iter().map(|asked| asked.repetition).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn a_session_that_ends_denies_what_is_held_and_takes_it_back() {
    let desk = Desk::open();
    let session = Opening { approver: desk.approver(), ..Opening::default() }.begin().await;
    look(&session).await;
    let held = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.permit(pay(60)).await }
    });
    until_asked(&desk, 1).await;
    session.seal().await;
    let permit = timeout(DEADLINE, held).await.expect("in time").expect("a permit");
    assert!(matches!(permit, Permit::Refused { .. }), "{permit:?}");
    assert_eq!(desk.withdrawn(), ["approval-1"]);
    assert_eq!(record(&session).status, "closed");
    assert_eq!(session.failure(), None);
}

#[tokio::test]
async fn a_place_of_approvals_that_fails_is_our_failure() {
    let session = Opening { approver: Desk::closed().approver(), ..Opening::default() }.begin().await;
    look(&session).await;
    assert!(matches!(session.permit(pay(60)).await, Permit::Refused { .. }));
    assert!(session.failure().is_some_and(|reason| reason.contains("the desk is closed")));
}

#[tokio::test]
async fn an_agent_that_hangs_up_leaves_no_hold_behind() {
    let desk = Desk::open();
    let session = Opening { approver: desk.approver(), ..Opening::default() }.begin().await;
    look(&session).await;
    let proposed = vec![ProposedCall { id: "a".to_owned(), tool: "pay".to_owned(), arguments: json!({"amount": 60}) }];
    let asking = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.judge_response(proposed, None).await }
    });
    until_asked(&desk, 1).await;
    asking.abort();
    assert!(asking.await.is_err_and(|error| error.is_cancelled()));
    desk.approve();
    let after = timeout(DEADLINE, session.judge_response(Vec::new(), None)).await.expect("the session goes on");
    assert_eq!(after, Gated::Whole);
    assert_eq!(record(&session).status, "active");
}

#[tokio::test]
async fn without_anybody_to_ask_the_deadline_has_passed() {
    let approver = super::SessionApprover::Human(None);
    let session = Opening { approver, ..Opening::default() }.begin().await;
    look(&session).await;
    let Permit::Refused { reason, .. } = session.permit(pay(60)).await else { panic!("granted") };
    assert_eq!(reason.code.name(), "checkpoint_timeout");
    assert_eq!(session.failure(), None, "that is how the spec is run");
}

#[tokio::test]
async fn other_calls_go_on_where_only_the_held_one_pauses_and_it_is_judged_by_what_they_left() {
    let desk = Desk::open();
    let limits = "aggregates: [{name: total, metric: sum, tool: pay, path: $.amount, lte: 100, reason: too much}]\n";
    let opening = Opening { approver: desk.approver(), pause_scope: PauseScope::Call, limits, ..Opening::default() };
    let session = opening.begin().await;
    look(&session).await;
    let held = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.permit(pay(60)).await }
    });
    until_asked(&desk, 1).await;
    let passed = timeout(DEADLINE, session.permit(pay(45))).await.expect("it does not wait");
    let Permit::Granted(call) = passed else { panic!("{passed:?}") };
    session.complete(&call, &Outcome::Ok(json!({"ok": true})), 1);
    desk.approve();
    let Permit::Refused { reason, .. } = held.await.expect("decided") else { panic!("60 and 45 are too much") };
    assert_eq!(reason.code.name(), "aggregate_violated");
    let log = record(&session);
    let set = session.inner.live().set().clone();
    assert_eq!(tool_contracts::replay_log(&set, &log.records).divergences, []);
}

fn intervention(change: SessionChange) -> Intervention {
    Intervention { session: None, change, by: "ada".to_owned() }
}

#[tokio::test]
async fn an_operator_filters_tools_and_kills_the_session_while_a_call_is_held() {
    let desk = Desk::open();
    let session = Opening { approver: desk.approver(), ..Opening::default() }.open();
    let operated = OperatedSessions::new(Sessions::One(Arc::clone(&session)), Some(Arc::clone(&desk) as _));
    operated.begin().await;
    let tools = Some([String::from("pay")].into());
    desk.intervene(intervention(SessionChange::Filter { tools }));
    let filtered = async {
        while !matches!(session.permit(request("look", json!({}))).await, Permit::Refused { reason, .. } if reason.code.name() == "manual_filter")
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, filtered).await.expect("the filter takes effect");
    desk.intervene(intervention(SessionChange::Filter { tools: None }));
    let unfiltered = async {
        loop {
            match session.permit(request("look", json!({}))).await {
                Permit::Granted(call) => break session.complete(&call, &Outcome::Ok(json!({"ok": true})), 1),
                _ => tokio::task::yield_now().await,
            }
        }
    };
    timeout(DEADLINE, unfiltered).await.expect("the filter is gone");
    let held = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.permit(pay(60)).await }
    });
    until_asked(&desk, 1).await;
    desk.intervene(intervention(SessionChange::Kill { scope: KillReach::Session, reason: "enough".to_owned() }));
    let refused = timeout(DEADLINE, held).await.expect("denied").expect("denied");
    assert!(
        matches!(&refused, Permit::Refused { reason, .. } if reason.code.name() == "session_killed"),
        "{refused:?}"
    );
    operated.seal().await;
    assert_eq!(records(&session, "killed")[0]["cause"], "by an operator (ada): enough");
    assert_eq!(desk.withdrawn(), ["approval-1"]);
}
