//! Kinds of scenarios, and how long each of their phases takes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::event::{Event, Events, Phase};
use tokio::time::Instant;

use crate::ours::{IMAGE, Ours, TRIVIAL};
use crate::table::Series;

/// The same with a mock that nobody calls.
const MOCK: &str = "
version: 1
id: mock
base: touchstone/busybox:1
task: {prompt: x}
agent: {type: cli, command: [touch, out.txt]}
resources: {memory: 256Mi, disk: 64Mi, pids: 128}
services: [{name: mail, type: http_mock, record: true, routes: [{path: /x}]}]
invariants: {there: {description: x, check: {type: file_exists, path: out.txt}}}
";

/// The same with a Postgres that is asked afterwards.
const POSTGRES: &str = "
version: 1
id: postgres
base: touchstone/busybox:1
task: {prompt: x}
agent: {type: cli, command: [touch, out.txt]}
resources: {memory: 256Mi, disk: 64Mi, pids: 128}
services: [{name: db, image: 'touchstone/postgres:15', env: {POSTGRES_PASSWORD: x}}]
invariants: {one: {description: x, check: {type: sql, service: db, query: SELECT 1, equals: 1}}}
";

/// Every kind of scenario that is measured.
pub(crate) const KINDS: [(&str, &str); 3] = [("trivial", TRIVIAL), ("with a mock", MOCK), ("with Postgres", POSTGRES)];

/// Number of probes of a kind in one sandbox.
const PROBES: usize = 40;

/// Durations of each phase of one cycle, and of the whole cycle.
#[derive(Debug, Clone)]
pub(crate) struct Cycle {
    phases: Vec<(Phase, Duration)>,
    total: Duration,
}

/// The times of one kind of scenario.
#[derive(Debug)]
pub(crate) struct Phases {
    pub(crate) name: String,
    pub(crate) total: Series,
    phases: Vec<(Phase, Series)>,
}

impl Phases {
    /// No times yet.
    pub(crate) fn new(name: &str) -> Self {
        let phases = [Phase::Prepare, Phase::Act, Phase::Probe, Phase::Destroy];
        Self {
            name: name.to_owned(),
            total: Series::new(&format!("{name}: all")),
            phases: phases.map(|phase| (phase, Series::new(&format!("{name}: {phase}")))).into(),
        }
    }

    /// Adds a cycle.
    pub(crate) fn add(&mut self, cycle: &Cycle) {
        self.total.add(cycle.total);
        for (phase, series) in &mut self.phases {
            let took = cycle.phases.iter().filter(|(of, _)| of == phase).map(|(_, took)| *took).sum();
            series.add(took);
        }
    }

    /// Returns all series, with the whole first.
    pub(crate) fn series(&self) -> impl Iterator<Item = &Series> {
        std::iter::once(&self.total).chain(self.phases.iter().map(|(_, series)| series))
    }
}

/// Runs one scenario, which must pass.
pub(crate) async fn cycle(ours: &Ours, yaml: &str) -> Cycle {
    let phases = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&phases);
    let events = Events::to(move |event| {
        if let Event::PhaseEnded(phase, took) = event {
            kept.lock().expect("phases").push((phase, took));
        }
    });
    let started = Instant::now();
    ours.run(yaml, &events).await;
    let total = started.elapsed();
    let phases = phases.lock().expect("phases").clone();
    Cycle { phases, total }
}

/// Measures each of many equal probes.
pub(crate) async fn probes(ours: &Ours, check: &str) -> Vec<Duration> {
    let invariants: String =
        (0..PROBES).map(|number| format!("  p{number}: {{description: x, check: {check}}}\n")).collect();
    let yaml = format!(
        "version: 1\nid: probes\nbase: {IMAGE}\ntask: {{prompt: x}}\n\
         agent: {{type: cli, command: echo x > out.txt}}\ninvariants:\n{invariants}"
    );
    let moments = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&moments);
    let events = Events::to(move |event| {
        if matches!(event, Event::Probed { .. }) {
            kept.lock().expect("moments").push(Instant::now());
        }
    });
    ours.run(&yaml, &events).await;
    let moments = moments.lock().expect("moments");
    moments.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
