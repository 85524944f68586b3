//! Measures the overhead of a worker and its store for each scenario: claiming, judging, keeping evidence and verdicts,
//! writing events down.
//!
//! `just bench-worker` runs it; `docs/benchmarks.md` has the figures. What would run scenarios answers at once, so all time
//! is the worker's and the store's. Beside Docker, whose own times vary by tens of milliseconds, this could not be seen.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::attempt::Attempt;
use engine::backend::{Space, Swept};
use engine::error::EngineError;
use engine::event::{Event, Events, Phase};
use jiff::Timestamp;
use scenario::evidence::{Answer, Evidence, Exit, FileEntry, FileKind, Files};
use scenario::plan::{PlanOptions, expand};
use scenario::spec::{Spec, load};
use store::{
    Clock, Demand, Experiment, ExperimentId, Ids as _, JobId, Lane, NewExperiment, NewJob, NewRun, RunId, RunState,
    Settings, SpecContent, Store, WorkerId,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use worker::{
    Config, LiveSandbox, NoSnapshots, Observer, Parts, Peers, RandomIds, Sandboxes, Secrets, Unavailable, Worker,
};

/// Numbers of scenarios in a run, one row each.
const COUNTS: [usize; 3] = [100, 1000, 10_000];
/// Numbers of scenarios done at once, one column each.
const WIDTHS: [usize; 2] = [1, 4];
/// Rounds of each measurement.
const ROUNDS: usize = 3;

const SPEC: &str = "
version: 1
id: trivial
base: touchstone/busybox:1
task: {prompt: x}
agent: {type: cli, command: [touch, out.txt]}
invariants: {there: {description: x, check: {type: file_exists, path: out.txt}}}
";

fn main() -> io::Result<()> {
    // Under `cargo test --benches` there is nothing to measure.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    say("| scenarios | 1 at once, ms each | 4 at once, ms each | submitting all, ms |\n|---|---|---|---|")?;
    let runtime = tokio::runtime::Runtime::new()?;
    for count in COUNTS {
        let mut cells = Vec::new();
        let mut submitting = Vec::new();
        for width in WIDTHS {
            let mut each = Vec::new();
            for _ in 0..ROUNDS {
                let (submitted, worked) = runtime.block_on(measure(count, width));
                submitting.push(submitted.as_secs_f64() * 1000.0);
                each.push(worked.as_secs_f64() * 1000.0 / count as f64);
            }
            cells.push(format!("{:.2} (from {:.2})", median(&mut each), each[0]));
        }
        say(&format!("| {count} | {} | {:.0} |", cells.join(" | "), median(&mut submitting)))?;
    }
    Ok(())
}

/// Measures the time of submitting that many scenarios, and of doing all of them.
async fn measure(count: usize, width: usize) -> (Duration, Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).await.expect("a store");
    let worker = WorkerId { data_dir: RandomIds.id(), owner: RandomIds.id() };
    let lane = Lane::Own(worker.owner);
    let started = Instant::now();
    let run = submit(&store, lane, count).await;
    let submitted = started.elapsed();
    let config = Config::new(lane, worker, folder.path().to_owned(), folder.path().join("scratch"));
    let mut worker = Worker::new(Parts {
        config: Config { slots: width, ..config },
        store: store.clone(),
        sandboxes: Arc::new(AtOnce),
        clock: Arc::new(Now),
        ids: Arc::new(RandomIds),
        peers: Arc::new(Nobody),
        secrets: Arc::new(NoSecrets),
        snapshots: Arc::new(NoSnapshots),
        observer: Observer::nobody(),
    });
    let started = Instant::now();
    worker.run_until_empty().await.expect("a store that works");
    worker.finish().await;
    let worked = started.elapsed();
    let run = store.run(run).await.expect("the run");
    assert_eq!((run.state, run.ended), (RunState::Finished, run.total));
    store.close().await;
    (submitted, worked)
}

async fn submit(store: &Store, lane: Lane, count: usize) -> RunId {
    let spec: Spec = load(SPEC, None).spec.expect("a spec");
    let plan = expand(&spec, PlanOptions { replicas: Some(count), ..PlanOptions::default() }).expect("a plan");
    let content = SpecContent { text: SPEC.to_owned(), files: Vec::new() };
    let version = store.keep_spec("", spec.id.as_str(), &content, Now.now()).await.expect("kept");
    let experiment = NewExperiment {
        id: ExperimentId(RandomIds.id()),
        spec: version,
        source: "spec.yaml".to_owned(),
        seed: plan.seed,
        settings: Settings { replicas: Some(count), ..Settings::default() },
        owner: String::new(),
        name: String::new(),
        secrets: None,
    };
    let job = |scenario| NewJob { id: JobId(RandomIds.id()), scenario, demand: Demand::default(), at_once: None };
    let run = NewRun { lane, priority: 0, jobs: plan.scenarios.into_iter().map(job).collect() };
    store.submit(&experiment, &run, Now.now()).await.expect("submitted")
}

/// Sandboxes that answer at once, with the events and evidence of a trivial scenario.
#[derive(Debug)]
struct AtOnce;

#[async_trait]
impl Sandboxes for AtOnce {
    async fn run(&self, _: &Attempt<'_>, events: &Events, _: &CancellationToken) -> Result<Evidence, EngineError> {
        let exit = Some(Exit::Code(0));
        for phase in [Phase::Prepare, Phase::Act, Phase::Probe, Phase::Destroy] {
            events.tell(Event::PhaseStarted(phase));
            match phase {
                Phase::Prepare => events.tell(Event::SandboxCreated { name: "ts".to_owned() }),
                Phase::Act => events.tell(Event::AgentEnded { exit, after: Duration::ZERO }),
                Phase::Probe => events.tell(Event::Probed { invariant: "there".to_owned() }),
                Phase::Destroy => events.tell(Event::SandboxDestroyed { name: "ts".to_owned() }),
            }
            events.tell(Event::PhaseEnded(phase, Duration::ZERO));
        }
        let file = FileEntry {
            path: "out.txt".to_owned(),
            kind: FileKind::File,
            size: 0,
            sha256: None,
            content: None,
            problem: None,
        };
        let files = Answer::Files(Files { entries: vec![file], incomplete: false });
        let mut evidence =
            Evidence { answers: BTreeMap::from([("there".to_owned(), vec![files])]), ..Evidence::default() };
        evidence.agent.exit = exit;
        Ok(evidence)
    }

    async fn open(
        &self,
        _: &Attempt<'_>,
        _: &Events,
        _: &CancellationToken,
    ) -> Result<Arc<dyn LiveSandbox>, EngineError> {
        Err(EngineError::Cancelled)
    }

    async fn sweep(&self) -> Result<Swept, EngineError> {
        Ok(Swept::default())
    }

    async fn make_room(&self, _: u64) -> Result<Space, EngineError> {
        Ok(Space { free: u64::MAX, evicted: Vec::new() })
    }

    async fn answers(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// The machine's clock.
#[derive(Debug)]
struct Now;

impl Clock for Now {
    #[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Peers without other processes.
#[derive(Debug)]
struct Nobody;

impl Peers for Nobody {
    fn is_gone(&self, _: Uuid) -> bool {
        false
    }
}

/// Secrets without values.
#[derive(Debug)]
struct NoSecrets;

#[async_trait]
impl Secrets for NoSecrets {
    async fn resolve(&self, _: &Experiment, _: &Spec) -> Result<BTreeMap<String, String>, Unavailable> {
        Ok(BTreeMap::new())
    }
}

/// Sorts values and returns the median.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
