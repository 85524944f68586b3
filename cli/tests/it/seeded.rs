//! A data directory with experiments that were never run: the evidence is made by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use engine::data_dir::DataDir;
use jiff::{SignedDuration, Timestamp};
use scenario::event::Event;
use scenario::evidence::{
    AgentRecord, Answer, Blob, Captured, ContractRecord, Evidence, Exit, FileEntry, FileKind, Files, ImageRecord,
    ProcessUse, WorkspaceChanges, World,
};
use scenario::plan::{Plan, PlanOptions, Scenario, expand};
use scenario::result::ScenarioResult;
use scenario::score::{ExperimentScore, ScoreOptions, score};
use scenario::spec::{Spec, load};
use store::{
    ClaimRequest, Completion, Demand, ExperimentId, Failure, Held, JobId, Lane, NewEvent, NewExperiment, NewJob,
    NewRun, RunId, Settings, SpecContent, SpecFile, Store, WorkerId,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

use crate::{read, touchstone};

/// The spec of all experiments: a file with a word in it, in each of two languages.
pub(crate) const SPEC: &str = "\
version: 1
id: greeting
base: debian
task: {prompt: write a greeting}
agent: {type: cli, command: 'true'}
parallelism: {matrix: {language: [english, german]}}
invariants:
  there: {description: the file is there, gate: true, check: {type: file_exists, path: out}}
  word: {description: it greets, weight: 2, check: {type: file_content, path: out, contains: hello}}
";

/// A data directory, and a folder for specs.
pub(crate) struct Seeded {
    folder: TempDir,
    runtime: Runtime,
    store: Store,
}

/// The progress of a seeded experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing was begun.
    Waiting,
    /// The first scenario has ended, and the second is being run.
    HalfWay,
    /// All scenarios have ended.
    Ended,
}

impl Seeded {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = Runtime::new().expect("a runtime");
        fs::create_dir(folder.path().join("data")).expect("a folder");
        let store = runtime.block_on(Store::open(&folder.path().join("data"))).expect("a store");
        Self { folder, runtime, store }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data_dir(&self) -> DataDir {
        DataDir::resolve(Some(self.path().join("data"))).expect("a data directory")
    }

    /// Runs a command on the data directory.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        read(self.command(arguments).output().expect("a run"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> assert_cmd::Command {
        let mut command = touchstone(arguments);
        command.arg("--data-dir").arg(self.path().join("data"));
        command
    }

    /// Returns the output of a command that succeeds.
    #[track_caller]
    pub(crate) fn printed(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(arguments);
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}: {stdout}");
        stdout
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.printed(arguments)).expect("JSON")
    }

    /// Writes a spec into a folder of its own.
    pub(crate) fn spec(&self, name: &str, text: &str) -> PathBuf {
        let folder = self.path().join(name);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("spec.yaml"), text).expect("a spec");
        folder
    }

    /// Stores an experiment whose agents greeted with these words; its id ends with `number`.
    pub(crate) fn experiment(&self, number: u32, greetings: [&str; 2], at: Timestamp) -> ExperimentId {
        self.experiment_in(Lane::Shared, number, greetings, at, Progress::Ended)
    }

    pub(crate) fn experiment_in(
        &self,
        lane: Lane,
        number: u32,
        greetings: [&str; 2],
        at: Timestamp,
        progress: Progress,
    ) -> ExperimentId {
        self.keep(lane, number, 1, &greetings, at, progress)
    }

    /// Stores an experiment with `replicas` replicas in each language, whose agents greeted with these words, in the
    /// order of its plan.
    pub(crate) fn replicated(&self, number: u32, replicas: usize, greetings: &[&str], at: Timestamp) -> ExperimentId {
        self.keep(Lane::Shared, number, replicas, greetings, at, Progress::Ended)
    }

    fn keep(
        &self,
        lane: Lane,
        number: u32,
        replicas: usize,
        greetings: &[&str],
        at: Timestamp,
        progress: Progress,
    ) -> ExperimentId {
        let spec = load(SPEC, None).spec.expect("a spec");
        let options = PlanOptions { seed: Some(7), replicas: Some(replicas), ..PlanOptions::default() };
        let plan = expand(&spec, options).expect("a plan");
        let id = ExperimentId(uuid(0xe, number));
        self.runtime.block_on(async {
            let content = SpecContent { text: SPEC.to_owned(), files: Vec::new() };
            let version = self.store.keep_spec("", "greeting", &content, at).await.expect("a version");
            let settings = Settings { replicas: Some(replicas), ..Settings::default() };
            let source = "specs/greeting".to_owned();
            let (owner, name, secrets) = (String::new(), String::new(), None);
            let experiment =
                NewExperiment { id, owner, name, spec: version, source, seed: plan.seed, settings, secrets };
            let jobs = plan.scenarios.iter().enumerate().map(|(index, scenario)| job(number, index, scenario));
            let run = NewRun { lane, priority: 0, jobs: jobs.collect() };
            self.store.submit(&experiment, &run, at).await.expect("kept");
            if progress == Progress::Waiting {
                return;
            }
            for (index, greeting) in greetings.iter().enumerate() {
                let held = self.claim(lane, at).await;
                if index == 0 || progress == Progress::Ended {
                    self.finish(&spec, &plan, &held, &evidence(greeting), at).await;
                }
            }
        });
        id
    }

    async fn claim(&self, lane: Lane, at: Timestamp) -> Held {
        let owner = if let Lane::Own(owner) = lane { owner } else { uuid(0xf, 1) };
        let request = ClaimRequest {
            lane,
            worker: WorkerId { data_dir: self.data_dir().id(), owner },
            token: "token".to_owned(),
            now: at,
            until: at + SignedDuration::from_mins(5),
            room: None,
            limits: store::Limits::default(),
        };
        self.store.claim(&request).await.expect("a claim").expect("a job")
    }

    /// Ends a job with what was observed.
    async fn finish(&self, spec: &Spec, plan: &Plan, held: &Held, evidence: &Evidence, at: Timestamp) {
        let event = |kind: &str, millis: i64| NewEvent {
            run: held.run,
            scenario: held.scenario.id.to_string(),
            attempt: held.lease.epoch,
            at: at + SignedDuration::from_millis(millis),
            happened: Event::read(kind, serde_json::json!({})),
        };
        self.store.note(&[event("claimed", 0), event("agent_started", 250)]).await.expect("noted");
        let summarise = |results: &[ScenarioResult]| summary(spec, plan, results);
        let result = ScenarioResult { wall_ms: 1500, ..ScenarioResult::judge(spec, &held.scenario, evidence) };
        let at = at + SignedDuration::from_millis(1500);
        let completion = Completion { evidence: Some(evidence), result: &result, traces: &[], at };
        self.store.complete(&held.lease, held.run, completion, &summarise).await.expect("completed");
    }

    /// The first attempt of an experiment's next job fails, and the job waits again.
    pub(crate) fn fail_once(&self, lane: Lane, at: Timestamp) {
        self.runtime.block_on(async {
            let held = self.claim(lane, at).await;
            let message = "the engine\u{1b}[2J went away";
            let retried = self.store.retry(&held.lease, Failure::Infrastructure, message, at, at).await;
            retried.expect("put back");
        });
    }

    /// Ends the next job of an experiment: its agent wrote a greeting.
    pub(crate) fn finish_next(&self, lane: Lane, greeting: &str, at: Timestamp) {
        self.finish_next_with(lane, &evidence(greeting), at);
    }

    /// Ends the next job of an experiment, whose agent greeted under tool contracts.
    pub(crate) fn finish_next_governed(&self, lane: Lane, record: ContractRecord, at: Timestamp) {
        self.finish_next_with(lane, &Evidence { tool_contracts: Some(record), ..evidence("hello") }, at);
    }

    fn finish_next_with(&self, lane: Lane, evidence: &Evidence, at: Timestamp) {
        let spec = load(SPEC, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions { seed: Some(7), ..PlanOptions::default() }).expect("a plan");
        self.runtime.block_on(async {
            let held = self.claim(lane, at).await;
            self.finish(&spec, &plan, &held, evidence, at).await;
        });
    }

    /// Stores a spec that no experiment uses, and unpacks its files.
    pub(crate) fn unused_bundle(&self, at: Timestamp) -> PathBuf {
        let file = SpecFile { path: "x".to_owned(), executable: false, content: b"12345".to_vec() };
        let content = SpecContent { text: "unused".to_owned(), files: vec![file] };
        let version = self.runtime.block_on(self.store.keep_spec("", "unused", &content, at)).expect("a version");
        let folder = worker::bundle_folder(&self.path().join("data/bundles"), &version.digest);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("x"), "12345").expect("a file");
        folder
    }

    /// The state of a run as the store tells it.
    pub(crate) fn stored(&self, experiment: ExperimentId, number: u32) -> store::Run {
        self.runtime.block_on(self.store.run(RunId { experiment, number })).expect("a run")
    }
}

/// Returns the time this number of minutes after the beginning of 2026.
pub(crate) fn minute(minutes: i64) -> Timestamp {
    let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    beginning + SignedDuration::from_mins(minutes)
}

/// An id that is the same every time.
pub(crate) fn uuid(kind: u128, number: u32) -> Uuid {
    Uuid::from_u128(kind << 120 | 7 << 76 | 8 << 60 | u128::from(number))
}

fn job(experiment: u32, index: usize, scenario: &Scenario) -> NewJob {
    let number = experiment * 100 + u32::try_from(index).expect("a number");
    NewJob {
        id: JobId(uuid(0xa, number)),
        scenario: scenario.clone(),
        demand: Demand { cpu_milli: 1000, memory: 1 << 20 },
        at_once: None,
    }
}

/// Returns the evidence of an agent that wrote a greeting.
fn evidence(greeting: &str) -> Evidence {
    let entry = FileEntry {
        path: "out".to_owned(),
        kind: FileKind::File,
        size: greeting.len() as u64,
        sha256: None,
        content: Some(Blob::from(greeting)),
        problem: None,
    };
    let answer = || vec![Answer::Files(Files { entries: vec![entry.clone()], incomplete: false })];
    let image = ImageRecord {
        reference: "debian".to_owned(),
        name: "touchstone/debian:bookworm".to_owned(),
        digest: "sha256:0123".to_owned(),
    };
    Evidence {
        world: World {
            sandbox: "ts-1".to_owned(),
            backend: "docker".to_owned(),
            runtime: "runc".to_owned(),
            images: vec![image],
            snapshot: None,
        },
        agent: AgentRecord {
            started_at: None,
            exit: Some(Exit::Code(0)),
            stdout: Captured::from("greeting \u{1b}[31mred\n"),
            stderr: Captured::from("a warning\n"),
            wall_ms: 1000,
            used: Some(ProcessUse { user_us: 400_000, system_us: 50_000, most_memory: 12 << 20 }),
        },
        answers: BTreeMap::from([("there".to_owned(), answer()), ("word".to_owned(), answer())]),
        workspace: WorkspaceChanges { added: vec!["out".to_owned()], ..WorkspaceChanges::default() },
        ..Evidence::default()
    }
}

fn summary(spec: &Spec, plan: &Plan, results: &[ScenarioResult]) -> ExperimentScore {
    score(plan, spec, results, ScoreOptions::default())
}
