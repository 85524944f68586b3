//! Workers, and how much there is to do for them.

use std::time::Duration;

use store::{Demand, Lane, NewExperiment, NewRun, NewWorker, Pulse, QueueDepth, SpecDepth, WorkerId};
use uuid::Uuid;

use crate::harness::{World, at};

databases![workers_come_say_something_and_go, the_depth_of_the_queue_is_known];

fn worker(number: u128) -> NewWorker {
    NewWorker {
        id: WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(number) },
        host: "machine".to_owned(),
        control: "http://127.0.0.1:1".to_owned(),
        slots: 4,
        budget: Demand { cpu_milli: 4_000, memory: 1 << 33 },
        version: "0.1.0".to_owned(),
    }
}

async fn workers_come_say_something_and_go(world: World) {
    let store = &world.store;
    let busy =
        Pulse { running: 3, free_disk: 1 << 40, reason: Some("the disk is full".to_owned()), problems: Vec::new() };
    assert!(!store.worker_seen(worker(1).id, &busy, at(0)).await.expect("seen"), "nobody knows it");
    store.register_worker(&worker(1), &Pulse::default(), at(1)).await.expect("registered");
    store.register_worker(&worker(2), &Pulse::default(), at(5)).await.expect("registered");
    assert!(store.worker_seen(worker(1).id, &busy, at(8)).await.expect("seen"));
    let found = store.worker(worker(1).id).await.expect("read").expect("a worker");
    assert_eq!((found.new, found.pulse, found.started_at, found.seen_at), (worker(1), busy, at(1), at(8)));
    for reason in [None, Some("draining".to_owned())] {
        let problems = vec!["writing failed 3 times: full".to_owned(), "listening failed once: cut".to_owned()];
        let told = Pulse { reason, problems, ..Pulse::default() };
        assert!(store.worker_seen(worker(1).id, &told, at(8)).await.expect("seen"));
        assert_eq!(store.worker(worker(1).id).await.expect("read").expect("a worker").pulse, told);
    }
    let ids = |workers: Vec<store::Worker>| workers.into_iter().map(|one| one.new.id).collect::<Vec<_>>();
    let live = store.live_workers(at(20), Duration::from_secs(12)).await.expect("workers");
    assert_eq!(ids(live), [worker(1).id], "the other one was not heard of");
    assert_eq!(ids(store.workers().await.expect("workers")), [worker(1).id, worker(2).id]);
    let moved = NewWorker { control: String::new(), slots: 1, ..worker(1) };
    store.register_worker(&moved, &Pulse::default(), at(30)).await.expect("registered again");
    let found = store.worker(worker(1).id).await.expect("read").expect("a worker");
    assert_eq!((found.new, found.started_at, found.seen_at), (moved, at(1), at(30)));
    store.worker_left(worker(1).id).await.expect("gone");
    assert_eq!(ids(store.workers().await.expect("workers")), [worker(2).id]);
}

async fn the_depth_of_the_queue_is_known(world: World) {
    assert_eq!(world.store.queue_depth(Lane::Shared).await.expect("a depth"), QueueDepth::default());
    world.submit(&world.run(2), at(5)).await;
    let new = NewExperiment { owner: "ann".to_owned(), ..world.experiment().await };
    world.store.submit(&new, &world.run(3), at(2)).await.expect("submitted");
    let own = Lane::Own(world.uuid());
    world.submit(&NewRun { lane: own, ..world.run(4) }, at(1)).await;
    world.finish_one(6).await;
    world.claim(6).await.expect("a job");
    let spec = |owner: &str, queued, running| SpecDepth {
        owner: owner.to_owned(),
        spec_id: "ledger".to_owned(),
        queued,
        running,
    };
    let expected =
        QueueDepth { queued: 3, running: 1, oldest: Some(at(2)), specs: vec![spec("", 2, 0), spec("ann", 1, 1)] };
    assert_eq!(world.store.queue_depth(Lane::Shared).await.expect("a depth"), expected);
    let own = world.store.queue_depth(own).await.expect("a depth");
    assert_eq!((own.queued, own.running, own.oldest), (4, 0, Some(at(1))));
}
