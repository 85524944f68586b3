//! Calls that wait for a person's decision.

use std::collections::BTreeSet;

use serde_json::json;
use store::{
    Approval, ApprovalFilter, ApprovalStatus, Decided, Decision, DecisionKind, Garbage, MadeDecision, NewApproval,
    NewDelivery, NewsKind, Page, RunId, Store, StoreError,
};
use tokio::task::JoinSet;

use crate::harness::{World, at, scenario};

databases![
    the_same_request_is_there_again_once,
    requests_that_differ_in_anything_are_others,
    a_decision_is_for_its_arguments_in_time_and_once,
    of_two_who_decide_at_once_one_does,
    nobody_decides_after_the_deadline,
    what_is_withdrawn_is_pending_again_when_it_is_asked_for,
    an_approval_is_used_by_one_call_of_an_attempt,
    approvals_are_listed_newest_first_by_where_they_stand,
    news_are_told_once_each,
    a_decision_before_the_request_was_told_is_told_after_it,
    a_run_that_ended_waits_for_nobody,
    approvals_go_with_their_experiment,
    nothing_is_asked_for_a_scenario_that_is_gone,
];

/// A request of a run's first scenario, with 300 s to decide.
fn request(world: &World, run: RunId, second: i64) -> NewApproval {
    NewApproval {
        id: format!("ap_{}", world.uuid().simple()),
        run,
        scenario: scenario(0).id.to_string(),
        session: "main".to_owned(),
        tool: "refund".to_owned(),
        arguments_hash: "sha256:a".to_owned(),
        contract: "sha256:c".to_owned(),
        repetition: 0,
        call: "call_1".to_owned(),
        state_version: 4,
        context: vec![("Amount".to_owned(), json!(120.5)), ("To".to_owned(), json!({"iban": ["x"]}))],
        checkpoints: vec!["large_refund".to_owned()],
        reason: "`amount` is above 100".to_owned(),
        deadline: at(second + 300),
        allows_on_timeout: false,
    }
}

async fn asked(world: &World, new: &NewApproval, second: i64) -> Approval {
    world.store.ask_for_approval(new, at(second)).await.expect("asked")
}

fn decision(kind: DecisionKind) -> Decision {
    let made = MadeDecision { by: "ada".to_owned(), key: "key_1".to_owned(), note: "fine".to_owned() };
    Decision { kind, arguments_hash: "sha256:a".to_owned(), made }
}

async fn decide(store: &Store, id: &str, kind: DecisionKind, second: i64) -> Decided {
    store.decide_approval(id, &decision(kind), at(second)).await.expect("an answer")
}

async fn find(world: &World, id: &str) -> Approval {
    world.store.approval(id).await.expect("read").expect("an approval")
}

async fn the_same_request_is_there_again_once(world: World) {
    let run = world.submitted(1).await;
    let new = request(&world, run, 1);
    let first = asked(&world, &new, 1).await;
    assert_eq!((&first.new, first.status, first.requested_at), (&new, ApprovalStatus::Pending, at(1)));
    assert_eq!((first.owner.as_str(), first.spec_id.as_str(), &first.decision), ("", "ledger", &None));
    // Another worker, later, with an id and a deadline of its own.
    let again = world.other().await.ask_for_approval(&request(&world, run, 90), at(90)).await.expect("asked");
    assert_eq!(again, first);
    assert!(matches!(decide(&world.store, &new.id, DecisionKind::Approve, 91).await, Decided::Decided(_)));
    let decided = asked(&world, &request(&world, run, 92), 92).await;
    assert_eq!((decided.new, decided.status, decided.decided_at), (new, ApprovalStatus::Approved, Some(at(91))));
    assert_eq!(decided.decision, Some(decision(DecisionKind::Approve).made));
    assert_eq!(world.number("SELECT count(*) FROM approvals").await, 1);
}

async fn requests_that_differ_in_anything_are_others(world: World) {
    let (run, other) = (world.submitted(2).await, world.submitted(1).await);
    let new = request(&world, run, 1);
    let changes: [fn(&mut NewApproval); 6] = [
        |new| new.scenario = scenario(1).id.to_string(),
        |new| new.session = "second".to_owned(),
        |new| new.tool = "transfer".to_owned(),
        |new| new.arguments_hash = "sha256:b".to_owned(),
        |new| new.contract = "sha256:d".to_owned(),
        |new| new.repetition = 1,
    ];
    let mut ids = BTreeSet::from([asked(&world, &new, 1).await.new.id]);
    ids.insert(asked(&world, &request(&world, other, 1), 1).await.new.id);
    for change in changes {
        let mut changed = request(&world, run, 1);
        change(&mut changed);
        ids.insert(asked(&world, &changed, 1).await.new.id);
    }
    assert_eq!(ids.len(), 8, "{ids:?}");
}

async fn a_decision_is_for_its_arguments_in_time_and_once(world: World) {
    let run = world.submitted(1).await;
    let id = asked(&world, &request(&world, run, 1), 1).await.new.id;
    assert_eq!(decide(&world.store, "ap_0", DecisionKind::Approve, 2).await, Decided::Unknown);
    let other = Decision { arguments_hash: "sha256:b".to_owned(), ..decision(DecisionKind::Approve) };
    let refused = world.store.decide_approval(&id, &other, at(2)).await.expect("an answer");
    assert!(matches!(refused, Decided::OtherArguments(approval) if approval.decision.is_none()));
    let Decided::Decided(denied) = decide(&world.store, &id, DecisionKind::Deny, 3).await else {
        panic!("it is in time")
    };
    assert_eq!((denied.status, denied.decided_at), (ApprovalStatus::Denied, Some(at(3))));
    let Decided::NotPending(left) = decide(&world.store, &id, DecisionKind::Approve, 4).await else {
        panic!("it is decided")
    };
    assert_eq!(left, denied);
}

async fn of_two_who_decide_at_once_one_does(world: World) {
    let run = world.submitted(1).await;
    let stores = [world.store.clone(), world.other().await];
    for repetition in 0..20 {
        let id = asked(&world, &NewApproval { repetition, ..request(&world, run, 1) }, 1).await.new.id;
        let mut deciding = JoinSet::new();
        for (store, kind) in stores.clone().into_iter().zip([DecisionKind::Approve, DecisionKind::Deny]) {
            let id = id.clone();
            deciding.spawn(async move { (kind, decide(&store, &id, kind, 2).await) });
        }
        let came = deciding.join_all().await;
        let won: Vec<_> = came.iter().filter(|(_, decided)| matches!(decided, Decided::Decided(_))).collect();
        assert_eq!(won.len(), 1, "{came:?}");
        assert_eq!(find(&world, &id).await.status, won[0].0.status());
        assert_eq!(came.iter().filter(|(_, decided)| matches!(decided, Decided::NotPending(_))).count(), 1);
    }
}

async fn nobody_decides_after_the_deadline(world: World) {
    let run = world.submitted(1).await;
    let id = asked(&world, &request(&world, run, 0), 0).await.new.id;
    assert!(!world.store.expire_approval(&id, at(299)).await.expect("an answer"), "it is too early");
    let Decided::Expired(left) = decide(&world.store, &id, DecisionKind::Approve, 300).await else {
        panic!("too late")
    };
    assert_eq!((left.status, left.status_at(at(300))), (ApprovalStatus::Pending, ApprovalStatus::Expired));
    assert!(world.store.expire_approval(&id, at(300)).await.expect("an answer"));
    assert!(!world.store.expire_approval(&id, at(300)).await.expect("an answer"), "once");
    assert_eq!(asked(&world, &request(&world, run, 400), 400).await.status, ApprovalStatus::Expired);
    assert!(matches!(decide(&world.store, &id, DecisionKind::Deny, 400).await, Decided::Expired(_)));
}

async fn what_is_withdrawn_is_pending_again_when_it_is_asked_for(world: World) {
    let run = world.submitted(1).await;
    let first = asked(&world, &request(&world, run, 0), 0).await;
    assert!(world.store.withdraw_approval(&first.new.id, at(5)).await.expect("withdrawn"));
    assert_eq!(find(&world, &first.new.id).await.status, ApprovalStatus::Withdrawn);
    assert!(matches!(decide(&world.store, &first.new.id, DecisionKind::Approve, 6).await, Decided::NotPending(_)));
    assert_eq!(asked(&world, &request(&world, run, 7), 7).await, first, "with its deadline");
    assert!(matches!(decide(&world.store, &first.new.id, DecisionKind::Approve, 8).await, Decided::Decided(_)));
    assert!(!world.store.withdraw_approval(&first.new.id, at(9)).await.expect("an answer"), "what is decided stays");
}

async fn an_approval_is_used_by_one_call_of_an_attempt(world: World) {
    let run = world.submitted(1).await;
    let new = request(&world, run, 0);
    let id = asked(&world, &new, 0).await.new.id;
    let may = async |attempt| world.store.use_approval(&id, attempt).await.expect("an answer");
    assert!(!may(2).await, "nobody approved it");
    decide(&world.store, &id, DecisionKind::Approve, 1).await;
    assert!(may(2).await);
    let used = find(&world, &id).await;
    assert_eq!((used.status, used.used_in), (ApprovalStatus::Used, Some(2)));
    assert_eq!(used.decision, Some(decision(DecisionKind::Approve).made));
    assert!(may(2).await, "who was broken off before it knew asks again");
    assert!(!may(1).await, "a worker that was thought dead");
    assert!(may(3).await, "the same call, in a new sandbox");
    let later = asked(&world, &NewApproval { repetition: 1, ..request(&world, run, 2) }, 2).await;
    assert_eq!(later.status, ApprovalStatus::Pending, "a later call is another one");
    decide(&world.store, &later.new.id, DecisionKind::Deny, 3).await;
    assert!(!world.store.use_approval(&later.new.id, 3).await.expect("an answer"));
}

async fn ids(world: &World, filter: ApprovalFilter<'_>) -> Vec<String> {
    let listed = world.store.approvals(filter, Page::ALL).await.expect("approvals").items;
    assert_eq!(world.store.count_approvals(filter).await.expect("a number"), listed.len() as u64);
    listed.into_iter().map(|one| one.new.id).collect()
}

async fn approvals_are_listed_newest_first_by_where_they_stand(world: World) {
    let (run, other) = (world.submitted(1).await, world.submitted(1).await);
    let mut asked_ids = Vec::new();
    for (repetition, second) in [(0, 0), (1, 10), (2, 10), (3, 400)] {
        asked_ids.push(asked(&world, &NewApproval { repetition, ..request(&world, run, second) }, second).await.new.id);
    }
    decide(&world.store, &asked_ids[1], DecisionKind::Deny, 20).await;
    let elsewhere = asked(&world, &request(&world, other, 500), 500).await.new.id;
    let of =
        |status| ApprovalFilter { status: Some(status), run: Some(run), now: at(500), ..ApprovalFilter::default() };
    assert_eq!(ids(&world, of(ApprovalStatus::Pending)).await, [asked_ids[3].as_str()]);
    assert_eq!(ids(&world, of(ApprovalStatus::Denied)).await, [asked_ids[1].as_str()]);
    assert_eq!(ids(&world, of(ApprovalStatus::Expired)).await, [asked_ids[2].as_str(), asked_ids[0].as_str()]);
    assert_eq!(ids(&world, ApprovalFilter { owner: Some("ada"), ..ApprovalFilter::default() }).await, [""; 0]);
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = Page { after: after.as_deref(), most: 2 };
        let listed = world.store.approvals(ApprovalFilter::default(), page).await.expect("approvals");
        pages.extend(listed.items.into_iter().map(|one| one.new.id));
        after = listed.next;
        if after.is_none() {
            break;
        }
    }
    let newest_first = [&elsewhere, &asked_ids[3], &asked_ids[2], &asked_ids[1], &asked_ids[0]];
    assert_eq!(pages.iter().collect::<Vec<_>>(), newest_first);
}

fn message(world: &World) -> (String, NewDelivery) {
    let id = format!("msg_{}", world.uuid().simple());
    ("alert_1".to_owned(), NewDelivery { id, url: "https://example.com".to_owned(), body: "{}".to_owned() })
}

async fn news_are_told_once_each(world: World) {
    let run = world.submitted(1).await;
    let claim = async |second| world.store.claim_approval_news(at(second), at(second + 60)).await.expect("a claim");
    assert_eq!(claim(0).await, None);
    let id = asked(&world, &request(&world, run, 0), 0).await.new.id;
    let news = claim(1).await.expect("news");
    assert_eq!((news.kind, news.approval.new.id.as_str()), (NewsKind::Requested, id.as_str()));
    assert_eq!(claim(2).await, None, "somebody else tells it");
    let late = claim(61).await.expect("its server was killed");
    let told =
        async |news, second| world.store.approval_told(news, &[message(&world)], at(second)).await.expect("told");
    assert!(told(&late, 62).await);
    assert!(!told(&news, 62).await, "it was told");
    assert_eq!(claim(1000).await, None);
    decide(&world.store, &id, DecisionKind::Deny, 70).await;
    let news = claim(71).await.expect("news");
    assert_eq!((news.kind, news.approval.status), (NewsKind::Decided, ApprovalStatus::Denied));
    assert!(told(&news, 72).await && !told(&news, 72).await);
    assert_eq!(claim(1000).await, None);
    assert_eq!(world.number("SELECT count(*) FROM deliveries").await, 2);
}

async fn a_decision_before_the_request_was_told_is_told_after_it(world: World) {
    let run = world.submitted(1).await;
    let id = asked(&world, &request(&world, run, 0), 0).await.new.id;
    let news = world.store.claim_approval_news(at(1), at(60)).await.expect("a claim").expect("news");
    decide(&world.store, &id, DecisionKind::Approve, 2).await;
    assert!(world.store.approval_told(&news, &[], at(3)).await.expect("told"));
    let next = world.store.claim_approval_news(at(3), at(60)).await.expect("a claim").expect("news");
    assert_eq!((next.kind, next.approval.status), (NewsKind::Decided, ApprovalStatus::Approved));
}

async fn a_run_that_ended_waits_for_nobody(world: World) {
    let (run, other) = (world.submitted(1).await, world.submitted(1).await);
    let left = asked(&world, &request(&world, run, 1), 1).await.new.id;
    let decided = asked(&world, &NewApproval { repetition: 1, ..request(&world, run, 1) }, 1).await.new.id;
    let elsewhere = asked(&world, &request(&world, other, 1), 1).await.new.id;
    decide(&world.store, &decided, DecisionKind::Approve, 2).await;
    world.finish_one(3).await;
    let status = async |id: &str| find(&world, id).await.status;
    assert_eq!((status(&left).await, status(&decided).await), (ApprovalStatus::Withdrawn, ApprovalStatus::Approved));
    assert_eq!(status(&elsewhere).await, ApprovalStatus::Pending);
}

async fn approvals_go_with_their_experiment(world: World) {
    let run = world.submitted(1).await;
    let id = asked(&world, &request(&world, run, 1), 1).await.new.id;
    world.finish_one(2).await;
    world.store.claim_artifacts().await.expect("its own place");
    let garbage = Garbage { before: at(9), keep: 0, most_bytes: None };
    let old = world.store.garbage(garbage).await.expect("garbage");
    assert_eq!(world.store.collect(&old).await.expect("collected").experiments, 1);
    assert_eq!(world.store.approval(&id).await.expect("read"), None);
    assert_eq!(world.number("SELECT count(*) FROM approvals").await, 0);
}

async fn nothing_is_asked_for_a_scenario_that_is_gone(world: World) {
    let run = world.submitted(1).await;
    let new = NewApproval { scenario: "nobody".to_owned(), ..request(&world, run, 1) };
    let refused = world.store.ask_for_approval(&new, at(1)).await;
    assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
}
