//! Workers that come and go, clocks that jump, sandboxes that break: whatever happens, every scenario has one result.

use std::sync::Arc;
use std::time::Duration;

use scenario::plan::Seed;
use scenario::verdict::ErrorKind;
use store::{AttemptOutcome, RunId, RunState};

use crate::fake::Act;
use crate::harness::{Working, World, scenario, start, worker_id};

const ROUNDS: u64 = 60;
/// A server takes longer for each step.
const ROUNDS_IN_POSTGRES: u64 = 10;
const STEPS: usize = 14;
const REPLICAS: usize = 6;
const ATTEMPTS: u32 = 4;

/// Chance that is the same each time.
struct Chance(Seed, u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.1 += 1;
        self.0.derive(&["chance", &self.1.to_string()]).get() % most
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_every_scenario_has_one_result() {
    for round in 0..ROUNDS {
        play_a_round(World::sqlite().await, round).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_every_scenario_has_one_result_in_postgres() {
    for round in 0..ROUNDS_IN_POSTGRES {
        let Some(world) = World::postgres().await else { return };
        play_a_round(world, round).await;
    }
}

async fn play_a_round(world: World, round: u64) {
    let world = Arc::new(world);
    let run = play(&world, &mut Chance(Seed::new(round), 0)).await;
    finish(&world).await;
    check(&world, run, round).await;
}

/// Runs several workers, and disturbs them.
async fn play(world: &Arc<World>, chance: &mut Chance) -> RunId {
    let acts =
        [Act::Pass, Act::Pass, Act::Fail, Act::Break, Act::Panic, Act::BreakForGood, Act::Wait, Act::WaitStubbornly];
    for replica in 0..REPLICAS {
        world.fake.script(&scenario(replica), (0..3).map(|_| chance.pick(&acts)).collect::<Vec<_>>());
    }
    let run = world.submit(REPLICAS).await;
    let mut workers: Vec<(u128, Working)> = Vec::new();
    let mut number = 0;
    for _ in 0..STEPS {
        match chance.below(6) {
            0 | 1 => {
                number += 1;
                workers.push((number, start(worker(world, number))));
            }
            2 if !workers.is_empty() => {
                let index = usize::try_from(chance.below(workers.len() as u64)).unwrap();
                let (number, working) = workers.swap_remove(index);
                working.kill().await;
                if chance.below(2) == 0 {
                    world.peers.gone(worker_id(number).owner);
                }
            }
            3 if !workers.is_empty() => {
                let index = usize::try_from(chance.below(workers.len() as u64)).unwrap();
                workers[index].1.control.release();
            }
            4 => world.clock.advance(Duration::from_secs(chance.below(40))),
            _ => world.clock.set_back(Duration::from_secs(chance.below(5))),
        }
        for _ in 0..chance.below(60) {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(chance.below(6))).await;
    }
    world.fake.open_gate();
    for (_, working) in workers {
        working.kill().await;
    }
    run
}

fn worker(world: &World, number: u128) -> worker::Worker {
    world.worker_with(number, |config| {
        config.slots = 2;
        config.attempts = ATTEMPTS;
        config.backoff = Duration::from_secs(1);
        config.lease = Duration::from_secs(20);
    })
}

/// Runs one worker that does the remaining jobs, while time passes.
async fn finish(world: &Arc<World>) {
    let passing = Arc::clone(world);
    let time = tokio::spawn(async move {
        loop {
            passing.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    start(worker(world, 1000)).ended().await;
    time.abort();
}

async fn check(world: &World, run: RunId, round: u64) {
    let kept = world.run(run).await;
    assert_eq!((kept.state, kept.ended), (RunState::Finished, REPLICAS as u64), "round {round}");
    assert!(world.store.held().await.unwrap().is_empty(), "round {round}");
    let attempts = world.attempts(run).await;
    for stored in world.store.scenarios(run).await.unwrap() {
        let id = stored.scenario.id.to_string();
        let of_scenario: Vec<_> = attempts.iter().filter(|attempt| attempt.scenario == id).collect();
        let context = format!("round {round}, {id}: {of_scenario:?}");
        let numbers: Vec<_> = of_scenario.iter().map(|attempt| attempt.number).collect();
        assert_eq!(numbers, (1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>(), "{context}");
        let count = |outcome| of_scenario.iter().filter(|attempt| attempt.outcome == outcome).count();
        assert_eq!(count(AttemptOutcome::Running) + count(AttemptOutcome::Cancelled), 0, "{context}");
        assert!(of_scenario.iter().all(|attempt| attempt.ended_at.is_some()), "{context}");
        let failures = count(AttemptOutcome::Infrastructure) + count(AttemptOutcome::Lost);
        assert!(failures <= ATTEMPTS as usize, "{context}");
        let result = stored.result.expect(&context);
        let last = of_scenario.last().expect(&context);
        match result.error {
            None => {
                assert_eq!(count(AttemptOutcome::Judged), 1, "{context}");
                assert_eq!(last.outcome, AttemptOutcome::Judged, "{context}");
                assert_eq!(stored.source, Some((last.job, last.number)), "{context}");
            }
            Some(error) => {
                assert_eq!(error.kind, ErrorKind::Infrastructure, "{context}");
                assert_eq!((count(AttemptOutcome::Judged), stored.source), (0, None), "{context}");
            }
        }
    }
}
