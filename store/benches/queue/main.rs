//! The cost of a job in the queue, however many have been done before it.
//!
//! `just bench-store` runs it, on SQLite and on the Postgres of `scripts/test-postgres`. Each row is a database of its own,
//! filled with jobs that have ended; then jobs are claimed, renewed once and completed, one after the other, with 4 KB of
//! evidence and four verdicts each.

mod place;

use std::io::{self, Write as _};
use std::time::Duration;

use indexmap::IndexMap;
use jiff::Timestamp;
use scenario::evidence::Evidence;
use scenario::plan::{CellId, CellKey, Plan, Purpose, Scenario, ScenarioId, Seed};
use scenario::result::{InvariantResult, RowStatus, ScenarioResult};
use scenario::score::{ExperimentScore, ScoreOptions};
use scenario::spec::sections::{GateRule, Scoring};
use scenario::spec::types::Fraction;
use scenario::verdict::{ErrorKind, Verdict};
use store::{
    ClaimRequest, Completion, Demand, ExperimentId, JobId, Lane, Limits, NewExperiment, NewJob, NewRun, Settings,
    SpecContent, Store, WorkerId,
};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use place::{Database, Place};

/// The number of jobs that have ended before, one row each.
const ENDED: [u64; 4] = [0, 1000, 100_000, 1_000_000];
/// The number of jobs that are measured.
const JOBS: u32 = 1000;
/// The number of them in one run, whose last one also computes its score.
const IN_RUN: u32 = 100;
/// The number of jobs of a run at its limit that wait at the head of the queue.
const WAITING: u32 = 10_000;
/// The number of concurrent claimers.
const CLAIMERS: u32 = 16;

type Failed = Box<dyn std::error::Error>;

/// The duration of each step of a job.
#[derive(Default)]
struct Times {
    claim: Vec<Duration>,
    heartbeat: Vec<Duration>,
    complete: Vec<Duration>,
}

fn main() -> Result<(), Failed> {
    // Under `cargo test --benches` there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    tokio::runtime::Runtime::new()?.block_on(measure())
}

async fn measure() -> Result<(), Failed> {
    for database in [Database::Sqlite, Database::Postgres] {
        if Place::of(database).await?.is_none() {
            say("\nWithout TOUCHSTONE_TEST_DATABASE_URL there are no figures of Postgres.")?;
            continue;
        }
        say(&format!("\n{database:?}\n"))?;
        as_it_grows(database).await?;
        behind_a_busy_run(database).await?;
        at_once(database).await?;
    }
    Ok(())
}

/// Measures a job while more and more have been done before it.
async fn as_it_grows(database: Database) -> Result<(), Failed> {
    say(
        "| ended before | claim p50 | heartbeat p50 | complete p50 | a job p50 | ratio | mean |\n|---|---|---|---|---|---|---|",
    )?;
    let mut empty = None;
    for ended in ENDED {
        let mut queue = Queue::open(database).await?;
        queue.fill(ended).await?;
        // The first jobs pay for caches.
        queue.work(IN_RUN).await?;
        let times = queue.work(JOBS).await?;
        let (job, mean) = (p50(times.jobs()), times.mean());
        let ratio = job / *empty.get_or_insert(job);
        let [claim, heartbeat, complete] = [times.claim, times.heartbeat, times.complete].map(p50);
        let steps = format!("{claim:.0} µs | {heartbeat:.0} µs | {complete:.0} µs");
        say(&format!("| {ended} | {steps} | {job:.0} µs | {ratio:.2} | {mean:.0} µs |"))?;
    }
    Ok(())
}

/// The worst case of a claim: the head of the queue belongs to a run of which no more may be done at once.
async fn behind_a_busy_run(database: Database) -> Result<(), Failed> {
    let mut queue = Queue::open(database).await?;
    queue.submit(WAITING, Some(1)).await?;
    queue.store.claim(&request("busy")).await?.ok_or("no job")?;
    let times = queue.work(IN_RUN).await?;
    let begun = Instant::now();
    queue.store.next_ready(Lane::Shared).await?;
    let next = micros(begun.elapsed());
    let claim = p50(times.claim);
    say(&format!("\nBehind {WAITING} jobs of a busy run: claim p50 {claim:.0} µs, next_ready {next:.0} µs."))?;
    Ok(())
}

/// Many who claim at once: those of a lane go one after the other, so this is how many there can be in a second.
async fn at_once(database: Database) -> Result<(), Failed> {
    let mut queue = Queue::open(database).await?;
    queue.submit(JOBS, None).await?;
    let limits = Limits { global: Some(JOBS), per_spec: Some(JOBS) };
    let mut claiming = JoinSet::new();
    let begun = Instant::now();
    for number in 0..CLAIMERS {
        let (store, request) = (queue.store.clone(), ClaimRequest { limits, ..request(&number.to_string()) });
        claiming.spawn(async move { while store.claim(&request).await.is_ok_and(|held| held.is_some()) {} });
    }
    claiming.join_all().await;
    let second = f64::from(JOBS) / begun.elapsed().as_secs_f64();
    let held = queue.store.held().await?.len();
    say(&format!("{CLAIMERS} who claim at once, with limits: {second:.0} claims a second ({held} held)."))?;
    Ok(())
}

impl Times {
    /// The duration of each job.
    fn jobs(&self) -> Vec<Duration> {
        let steps = self.claim.iter().zip(&self.heartbeat).zip(&self.complete);
        steps.map(|((claim, heartbeat), complete)| *claim + *heartbeat + *complete).collect()
    }

    /// Like the median, but with all that is slow now and then: scores of runs, and the file system.
    fn mean(&self) -> f64 {
        micros(self.jobs().iter().sum()) / f64::from(u32::try_from(self.claim.len()).unwrap_or(u32::MAX))
    }
}

/// A store, and ids that grow.
struct Queue {
    store: Store,
    place: Place,
    last: u128,
}

impl Queue {
    async fn open(database: Database) -> Result<Self, Failed> {
        let place = Place::of(database).await?.ok_or("no such database")?;
        // Later than the ids of all jobs that the table is filled with.
        Ok(Self { store: place.open().await?, place, last: 0xffff << 112 })
    }

    fn uuid(&mut self) -> Uuid {
        self.last += 1;
        Uuid::from_u128(self.last)
    }

    async fn submit(&mut self, jobs: u32, at_once: Option<u32>) -> Result<(), Failed> {
        let spec = SpecContent { text: "id: ledger".to_owned(), files: Vec::new() };
        let spec = self.store.keep_spec("", "ledger", &spec, Timestamp::UNIX_EPOCH).await?;
        let (source, seed, settings) = ("ledger.yaml".to_owned(), Seed::new(7), Settings::default());
        let (id, owner, name) = (ExperimentId(self.uuid()), String::new(), String::new());
        let experiment = NewExperiment { id, owner, name, spec, source, seed, settings, secrets: None };
        let job = |number| NewJob {
            id: JobId(self.uuid()),
            scenario: planned(number),
            demand: Demand { cpu_milli: 500, memory: 1 << 28 },
            at_once,
        };
        let run = NewRun { lane: Lane::Shared, priority: 0, jobs: (0..jobs).map(job).collect() };
        self.store.submit(&experiment, &run, Timestamp::UNIX_EPOCH).await?;
        Ok(())
    }

    /// Submits and does so many jobs.
    async fn work(&mut self, jobs: u32) -> Result<Times, Failed> {
        let evidence = Evidence { notes: vec!["x".repeat(4000)], ..Evidence::default() };
        let mut times = Times::default();
        for _ in 0..jobs / IN_RUN {
            self.submit(IN_RUN, None).await?;
            for number in 0..IN_RUN {
                let begun = Instant::now();
                let held = self.store.claim(&request(&number.to_string())).await?.ok_or("no job")?;
                times.claim.push(begun.elapsed());
                let begun = Instant::now();
                self.store.heartbeat(&held.lease, Timestamp::MAX).await?;
                times.heartbeat.push(begun.elapsed());
                let result = passed(&held.scenario);
                let completion =
                    Completion { evidence: Some(&evidence), result: &result, traces: &[], at: Timestamp::UNIX_EPOCH };
                let begun = Instant::now();
                self.store.complete(&held.lease, held.run, completion, &summary).await?;
                times.complete.push(begun.elapsed());
            }
        }
        Ok(times)
    }

    /// Writes jobs that have ended, a thousand in each experiment.
    async fn fill(&mut self, jobs: u64) -> Result<(), Failed> {
        self.submit(IN_RUN, None).await?;
        self.place.fill(jobs).await?;
        // What was submitted to have something to copy is done now.
        while let Some(held) = self.store.claim(&request("fill")).await? {
            let result = passed(&held.scenario);
            let completion = Completion { evidence: None, result: &result, traces: &[], at: Timestamp::UNIX_EPOCH };
            self.store.complete(&held.lease, held.run, completion, &summary).await?;
        }
        Ok(())
    }
}

fn planned(number: u32) -> Scenario {
    let parameters: IndexMap<_, _> = [("number".to_owned(), number.into())].into_iter().collect();
    let cell = CellId::of(&CellKey::from(parameters.clone()));
    Scenario {
        id: ScenarioId::of(&cell, 0),
        cell,
        replica: 0,
        seed: Seed::new(7),
        parameters,
        chaos: String::new(),
        purpose: Purpose::default(),
        prompt: None,
        variants: Vec::new(),
        snapshot: None,
        breakage: None,
    }
}

fn request(token: &str) -> ClaimRequest {
    ClaimRequest {
        lane: Lane::Shared,
        worker: WorkerId { data_dir: Uuid::nil(), owner: Uuid::nil() },
        token: token.to_owned(),
        now: Timestamp::UNIX_EPOCH,
        until: Timestamp::UNIX_EPOCH,
        room: Some(Demand { cpu_milli: 4000, memory: 1 << 34 }),
        limits: Limits::default(),
    }
}

fn passed(scenario: &Scenario) -> ScenarioResult {
    let invariant = |name: &str| InvariantResult {
        name: name.to_owned(),
        description: "what it means".to_owned(),
        weight: 1.0,
        gate: true,
        verdict: Verdict::passed(),
    };
    let invariants = ["first", "second", "third", "fourth"].map(invariant).to_vec();
    let result = ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "");
    ScenarioResult { status: RowStatus::Pass, composite: 1.0, invariants, error: None, ..result }
}

fn summary(results: &[ScenarioResult]) -> ExperimentScore {
    let scenarios = results.iter().map(|result| result.scenario.clone()).collect();
    let plan = Plan { spec_id: "ledger".to_owned(), seed: Seed::new(7), scenarios };
    let (pass_threshold, gate) = (Fraction::ONE, GateRule::Score);
    let scoring = Scoring { pass_threshold, gate, ..Scoring::default() };
    scenario::score::score(&plan, &scoring, results, ScoreOptions::default())
}

/// The time that half of them took at most, in microseconds.
fn p50(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).copied().map_or(0.0, micros)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn say(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}
