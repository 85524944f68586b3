//! Jobs for scenarios.

use scenario::plan::Scenario;
use scenario::spec::Spec;
use store::{Demand, JobId, Lane, NewJob, NewRun};
use worker::{Ids as _, RandomIds};

/// A run with a job for each scenario.
pub(crate) fn new_run(lane: Lane, spec: &Spec, scenarios: Vec<Scenario>) -> NewRun {
    let demand = demand(spec);
    let at_once = spec.at_once();
    let job = |scenario| NewJob { id: JobId(RandomIds.id()), scenario, demand, at_once };
    NewRun { lane, priority: 0, jobs: scenarios.into_iter().map(job).collect() }
}

/// What one sandbox of a spec takes from the machine at most.
pub(crate) fn demand(spec: &Spec) -> Demand {
    let needed = engine::needs(spec);
    Demand { cpu_milli: thousandths(needed.cpus), memory: needed.memory }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of cores is small and positive")]
fn thousandths(cores: f64) -> u64 {
    (cores * 1000.0).round() as u64
}
