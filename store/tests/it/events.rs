//! The event.

use std::time::Duration;

use scenario::event::{Event, Phase};
use scenario::evidence::{Exit, Fired, Limit};
use scenario::result::RowStatus;
use serde_json::json;
use store::{NewEvent, RunId};

use crate::harness::{World, at};

databases![
    events_come_back_in_the_order_in_which_they_were_written_down,
    pages_follow_each_other_without_gaps,
    events_are_noted_all_or_none,
    the_last_event_of_a_run_and_of_each_scenario_is_known,
    events_are_read_as_what_they_are,
];

fn event(run: RunId, number: u32) -> NewEvent {
    NewEvent {
        run,
        scenario: "default-r0".to_owned(),
        attempt: 1,
        at: at(5),
        happened: Event::read("phase", json!({"number": number, "share": 0.1})),
    }
}

async fn events_come_back_in_the_order_in_which_they_were_written_down(world: World) {
    let (run, other) = (world.submitted(1).await, world.submitted(1).await);
    let written: Vec<_> = (0..1200).map(|number| event(run, number)).collect();
    world.store.note(&written[..1100]).await.expect("noted");
    world.store.note(&[event(other, 7)]).await.expect("noted");
    world.store.note(&written[1100..]).await.expect("noted");
    world.store.note(&[]).await.expect("nothing to note");
    let all = world.store.events(run, 0, u64::MAX).await.expect("events");
    assert!(all.is_sorted_by_key(|stored| stored.number));
    assert_eq!(all.into_iter().map(|stored| stored.event).collect::<Vec<_>>(), written);
    assert_eq!(world.store.events(other, 0, 10).await.expect("events").len(), 1);
}

async fn pages_follow_each_other_without_gaps(world: World) {
    let run = world.submitted(1).await;
    let written: Vec<_> = (0..10).map(|number| event(run, number)).collect();
    world.store.note(&written).await.expect("noted");
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = world.store.events(run, after, 3).await.expect("a page");
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 3);
        after = last.number;
        seen.extend(page.into_iter().map(|stored| stored.event));
    }
    assert_eq!(seen, written);
    assert_eq!(world.store.events(run, u64::MAX, 3).await.expect("a page"), []);
}

async fn events_are_noted_all_or_none(world: World) {
    let run = world.submitted(1).await;
    let mut events: Vec<_> = (0..600).map(|number| event(run, number)).collect();
    events.push(event(RunId { number: 9, ..run }, 600));
    world.store.note(&events).await.expect_err("there is no such run");
    assert_eq!(world.store.events(run, 0, 10).await.expect("events"), []);
}

async fn the_last_event_of_a_run_and_of_each_scenario_is_known(world: World) {
    let (run, other) = (world.submitted(2).await, world.submitted(1).await);
    assert_eq!(world.store.last_event(run, None).await.expect("a number"), 0);
    let second = NewEvent { scenario: "default-r1".to_owned(), ..event(run, 2) };
    world.store.note(&[event(run, 1), second, event(other, 3)]).await.expect("noted");
    let numbers: Vec<_> = world.store.events(run, 0, 10).await.expect("events").iter().map(|one| one.number).collect();
    assert_eq!(world.store.last_event(run, None).await.expect("a number"), numbers[1]);
    assert_eq!(world.store.last_event(run, Some("default-r0")).await.expect("a number"), numbers[0]);
    assert_eq!(world.store.last_event(run, Some("default-r1")).await.expect("a number"), numbers[1]);
    assert_eq!(world.store.last_event(run, Some("none")).await.expect("a number"), 0);
}

async fn events_are_read_as_what_they_are(world: World) {
    let run = world.submitted(1).await;
    let (ms, why) = (Duration::from_millis(12), "no \u{0} engine".to_owned());
    let written = [
        Event::Claimed { worker: "a/b".to_owned() },
        Event::PhaseEnded(Phase::Act, ms),
        Event::AgentEnded { exit: Some(Exit::Signal(9)), after: ms },
        Event::LimitFired(Fired { limit: Limit::Memory, detail: "too much".to_owned() }),
        Event::Judged { status: RowStatus::Fail, composite: 0.1, wall_ms: Some(7), error: None },
        Event::Retrying { why, after: ms },
        Event::Unknown { kind: "levitated".to_owned(), body: json!({"height": 3}) },
    ];
    let noted = written.clone().map(|happened| NewEvent { happened, ..event(run, 0) });
    world.store.note(&noted).await.expect("noted");
    let read = world.store.events(run, 0, 100).await.expect("events");
    assert_eq!(read.into_iter().map(|stored| stored.event.happened).collect::<Vec<_>>(), written);
}
