//! Rules that are looked at when a run ends, and the messages that say that one fired.

use store::{Delivery, DeliveryState, NewAlert, NewDelivery, NewFiring, Page, RunId};

use crate::harness::{World, at};

databases![
    rules_are_kept_and_listed,
    a_rule_fires_once_for_a_run,
    a_message_is_tried_until_it_arrives,
    of_two_who_claim_a_message_one_gets_it,
    who_was_too_slow_changes_nothing,
];

fn alert(id: &str, owner: &str) -> NewAlert {
    NewAlert {
        id: id.to_owned(),
        owner: owner.to_owned(),
        name: format!("name of {id}"),
        eval_id: Some("ledger".to_owned()),
        condition: "pass_rate < 0.9".to_owned(),
        window: None,
        notify: "webhook".to_owned(),
        webhook_url: Some("https://example.com/hook".to_owned()),
        slack_channel: None,
        events: Vec::new(),
    }
}

fn delivery(id: &str) -> NewDelivery {
    NewDelivery { id: id.to_owned(), url: "https://example.com/hook".to_owned(), body: "{}".to_owned() }
}

fn firing(run: RunId) -> NewFiring {
    NewFiring { alert: "alert_1".to_owned(), run, reason: "pass_rate is 0.5".to_owned() }
}

/// A rule that fired, with a message.
async fn fired(world: &World, id: &str) -> RunId {
    if world.store.alert("alert_1").await.expect("read").is_none() {
        world.store.create_alert(&alert("alert_1", "ann"), at(0)).await.expect("made");
    }
    let run = world.submitted(1).await;
    assert!(world.store.fire_alert(&firing(run), Some(&delivery(id)), at(1)).await.expect("fired"));
    run
}

async fn claim(world: &World, now: i64) -> Option<Delivery> {
    world.store.claim_delivery(at(now), at(now + 10)).await.expect("a claim")
}

async fn rules_are_kept_and_listed(world: World) {
    let store = &world.store;
    for (id, owner, second) in [("alert_1", "ann", 1), ("alert_2", "bob", 2), ("alert_3", "ann", 3)] {
        store.create_alert(&alert(id, owner), at(second)).await.expect("made");
    }
    let found = store.alert("alert_1").await.expect("read").expect("a rule");
    assert_eq!((found.new, found.created_at), (alert("alert_1", "ann"), at(1)));
    let listed = store.alerts(Some("ann"), Page { after: None, most: 1 }).await.expect("rules");
    assert_eq!(listed.items[0].new.id, "alert_3");
    let rest = store.alerts(Some("ann"), Page { after: listed.next.as_deref(), most: 1 }).await.expect("rules");
    assert_eq!((rest.items[0].new.id.as_str(), rest.next), ("alert_1", None));
    assert_eq!(store.alerts(None, Page::ALL).await.expect("rules").items.len(), 3);
    assert!(store.remove_alert("alert_1").await.expect("removed"));
    assert!(!store.remove_alert("alert_1").await.expect("removed"));
    assert_eq!(store.alert("alert_1").await.expect("read"), None);
}

async fn a_rule_fires_once_for_a_run(world: World) {
    let run = fired(&world, "d1").await;
    assert!(!world.store.fire_alert(&firing(run), Some(&delivery("d2")), at(2)).await.expect("fired"));
    assert_eq!(world.store.delivery("d2").await.expect("read"), None, "no second message");
    let other = fired(&world, "d3").await;
    let firings = world.store.firings(Some("ann"), Some("alert_1"), Page::ALL).await.expect("firings").items;
    assert_eq!(firings.iter().map(|one| one.new.run).collect::<Vec<_>>(), [other, run], "newest first");
    assert_eq!((firings[1].name.as_str(), firings[1].fired_at), ("name of alert_1", at(1)));
    assert_eq!(world.store.firings(Some("bob"), None, Page::ALL).await.expect("firings").items, []);
    let one = world.store.firings(None, None, Page { after: None, most: 1 }).await.expect("firings");
    let rest = world.store.firings(None, None, Page { after: one.next.as_deref(), most: 1 }).await.expect("firings");
    assert_eq!((rest.items[0].new.run, rest.next), (run, None));
    let (first, second) = (world.submitted(1).await, world.other().await);
    let firing = firing(first);
    let twice = tokio::join!(world.store.fire_alert(&firing, None, at(3)), second.fire_alert(&firing, None, at(3)));
    assert_ne!(twice.0.expect("fired"), twice.1.expect("fired"), "one of them was first");
    world.store.remove_alert("alert_1").await.expect("removed");
    assert_eq!(world.store.firings(None, None, Page::ALL).await.expect("firings").items, []);
}

async fn a_message_is_tried_until_it_arrives(world: World) {
    fired(&world, "d1").await;
    assert_eq!(claim(&world, 0).await, None, "it is not due yet");
    let first = claim(&world, 1).await.expect("a message");
    assert_eq!((&first.new, first.alert.as_str(), first.attempts), (&delivery("d1"), "alert_1", 1));
    assert_eq!(claim(&world, 2).await, None, "somebody is trying it");
    assert!(world.store.retry_delivery(&first, "refused", at(5)).await.expect("put back"));
    assert_eq!(claim(&world, 4).await, None);
    let second = claim(&world, 5).await.expect("a message");
    assert_eq!((second.attempts, second.last_error.as_deref()), (2, Some("refused")));
    assert!(world.store.delivery_arrived(&second, at(6)).await.expect("written down"));
    assert_eq!(claim(&world, 100).await, None);
    let arrived = world.store.delivery("d1").await.expect("read").expect("a message");
    assert_eq!((arrived.state, arrived.last_error), (DeliveryState::Arrived, None));
    fired(&world, "d2").await;
    let third = claim(&world, 100).await.expect("a message");
    assert!(world.store.give_up_delivery(&third, "gone", at(101)).await.expect("written down"));
    let given_up = world.store.delivery("d2").await.expect("read").expect("a message");
    assert_eq!((given_up.state, given_up.last_error.as_deref()), (DeliveryState::GivenUp, Some("gone")));
}

async fn of_two_who_claim_a_message_one_gets_it(world: World) {
    let other = world.other().await;
    for number in 0..10 {
        fired(&world, &format!("d{number}")).await;
        let claims = tokio::join!(world.store.claim_delivery(at(1), at(9)), other.claim_delivery(at(1), at(9)));
        let (one, two) = (claims.0.expect("a claim"), claims.1.expect("a claim"));
        assert_eq!(one.iter().chain(&two).count(), 1, "{one:?} {two:?}");
    }
}

async fn who_was_too_slow_changes_nothing(world: World) {
    fired(&world, "d1").await;
    let slow = claim(&world, 1).await.expect("a message");
    let next = claim(&world, 11).await.expect("its lease is over");
    assert_eq!(next.attempts, 2);
    assert!(!world.store.delivery_arrived(&slow, at(12)).await.expect("too late"));
    assert!(!world.store.retry_delivery(&slow, "slow", at(12)).await.expect("too late"));
    assert!(!world.store.give_up_delivery(&slow, "slow", at(12)).await.expect("too late"));
    assert!(world.store.delivery_arrived(&next, at(13)).await.expect("written down"));
    assert!(!world.store.delivery_arrived(&next, at(14)).await.expect("it ended"));
}
