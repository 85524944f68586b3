//! The display of progress while scenarios run: on a terminal a line for each running one, and everywhere a line for
//! each ended one.

use std::collections::{HashMap, HashSet};

use scenario::event::{Event, Phase};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::score::Status;
use scenario::untrusted;
use scenario::verdict::Outcome;
use scenario::{count_noun, format_duration};
use serde_json::{Value as Json, json};
use store::{ExperimentId, RunId};
use worker::{About, Notice};

use super::{Session, Teller};
use crate::held_calls;
use crate::live_view::LiveView;
use crate::output::{CommandError, Output};
use crate::replicas::{Replicas, Standing};

/// Maximum length of a line of untrusted text.
const MOST_LINE: usize = 300;

/// Reports progress.
pub(super) struct Progress {
    live: Option<LiveView>,
    verbose: bool,
    names: HashMap<ExperimentId, String>,
    replicas: Replicas,
    /// The scenarios that were not needed.
    not_needed: HashSet<String>,
    /// Notes that were told: most come from every scenario of a spec.
    noted: HashSet<String>,
}

impl Progress {
    /// Starts to report runs.
    pub(super) async fn begin(session: &Session, runs: &[RunId], output: &Output) -> Result<Self, CommandError> {
        let mut names = HashMap::new();
        let mut replicas = Replicas::default();
        let (mut total, mut ended) = (0, 0);
        for run in runs {
            names.insert(run.experiment, session.store.experiment(run.experiment).await?.spec.spec_id);
            let scenarios = session.store.scenarios(*run).await?;
            let key = run.experiment.to_string();
            scenarios.iter().for_each(|one| replicas.plan(&key, one.scenario.id.as_str()));
            for (id, result) in scenarios.iter().filter_map(|one| Some((&one.scenario.id, one.result.as_ref()?))) {
                replicas.ended(&key, id.as_str(), result.status);
            }
            let run = session.store.run(*run).await?;
            total += run.total;
            ended += run.ended;
        }
        let live = output.live_view(total, ended);
        Ok(Self {
            live,
            verbose: session.options.verbose,
            names,
            replicas,
            not_needed: HashSet::new(),
            noted: HashSet::new(),
        })
    }

    /// Reports that a scenario has ended, and those whose verdict waited for it.
    fn ended(&mut self, job: &About, result: &ScenarioResult, output: &mut Output) {
        let run = job.run.experiment.to_string();
        let (standing, settled) = self.replicas.ended(&run, &job.scenario, result.status);
        output.note(ended(&self.name(job), standing, result));
        self.settled(job, settled, output);
    }

    /// Tells of replicas that were not needed, and of those whose verdict waited for them.
    fn not_needed(&mut self, run: RunId, scenarios: &[String], output: &mut Output) {
        let key = run.experiment.to_string();
        let mut dropped = 0;
        for scenario in scenarios {
            if !self.not_needed.insert(format!("{run}/{scenario}")) {
                continue;
            }
            dropped += 1;
            let settled = self.replicas.dropped(&key, scenario);
            self.settled(&About { run, scenario: scenario.clone(), attempt: 1 }, settled, output);
            if let Some(live) = &mut self.live {
                live.gone(scenario);
            }
        }
        if dropped > 0 {
            let spec = self.names.get(&run.experiment).map_or("", String::as_str);
            output.note(format!("      {spec}: decided, {} not needed", count_noun(dropped, "replica")));
        }
    }

    /// Tells of replicas whose verdict is known now.
    fn settled(&mut self, job: &About, settled: Vec<(String, Status)>, output: &mut Output) {
        for (scenario, status) in settled {
            let other = About { scenario, ..job.clone() };
            output.note(format!("{} {}", Standing::Settled(status).word(), self.name(&other)));
            output.happened("settled", || {
                let mut about = self.about(&other);
                about["status"] = status.word().into();
                about
            });
        }
    }

    /// Draws it, where there is a terminal.
    fn draw(&mut self, notice: &Notice) {
        let Some(mut live) = self.live.take() else { return };
        match notice {
            Notice::Claimed { job } => live.doing(&self.name(job), "starting"),
            Notice::Happened { job, event } => {
                if let Some(what) = doing(event) {
                    live.doing(&self.name(job), &what);
                }
            }
            Notice::Retrying { job, .. } => live.forget(&self.name(job)),
            Notice::Ended { job, result } => live.ended(&self.name(job), Some(result.status)),
            Notice::GivenUp { job, .. } => live.gone(&self.name(job)),
            Notice::NotNeeded { .. }
            | Notice::RunEnded { .. }
            | Notice::SandboxReady { .. }
            | Notice::SandboxEnded { .. }
            | Notice::Problem(_) => {}
        }
        self.live = Some(live);
    }

    /// Writes the event for a program that reads along.
    fn stream(&self, notice: &Notice, output: &mut Output) {
        match notice {
            Notice::Claimed { job } => output.happened("began", || self.about(job)),
            Notice::Retrying { job, message, .. } => output.happened("retrying", || {
                let mut about = self.about(job);
                about["why"] = message.as_str().into();
                about
            }),
            Notice::Ended { job, result } => output.happened("ended", || {
                let mut about = self.about(job);
                about["status"] = json!(result.status);
                about["composite_score"] = json!(result.composite);
                about["wall_ms"] = json!(result.wall_ms);
                about
            }),
            _ => {}
        }
    }

    fn about(&self, job: &About) -> Json {
        json!({
            "experiment_id": job.run.experiment.to_string(),
            "run": job.run.number,
            "spec_id": self.names.get(&job.run.experiment),
            "scenario_id": job.scenario,
            "attempt": job.attempt,
        })
    }

    fn happened(&mut self, job: &About, event: &Event, output: &mut Output) {
        let told = match event {
            Event::Pulling { image, status } => Some(format!("pulling {image}: {}", untrusted::line(status, 100))),
            Event::Baking { packages } => Some(format!("installing {}", packages.join(" "))),
            Event::SandboxKept { name } => Some(format!("kept its sandbox: enter it with `touchstone shell {name}`")),
            Event::CallHeld { approval, .. } if !self.noted.insert(approval.clone()) => return,
            Event::CallHeld { .. } | Event::CallDecided { .. } => held_calls::words(event),
            Event::Note(note) if !self.noted.insert(note.clone()) => return,
            Event::Note(note) => return output.note(format!("      {}", untrusted::line(note, MOST_LINE))),
            _ => None,
        };
        if let Some((kind, more)) = held_calls::streamed(event) {
            output.happened(kind, || held_calls::beside(self.about(job), &more));
        }
        if let Some(told) = told {
            output.note(format!("      {}: {told}", self.name(job)));
        } else if self.verbose {
            self.detail(job, &step(event), output);
        }
    }

    /// Prints a line in verbose mode only.
    fn detail(&self, job: &About, text: &str, output: &mut Output) {
        if self.verbose {
            output.note(format!("      {}: {text}", self.name(job)));
        }
    }

    fn name(&self, job: &About) -> String {
        let spec = self.names.get(&job.run.experiment).map_or("", String::as_str);
        format!("{spec}/{}", job.scenario)
    }
}

impl Teller for Progress {
    fn tell(&mut self, notice: &Notice, output: &mut Output) {
        self.draw(notice);
        self.stream(notice, output);
        match notice {
            Notice::Claimed { job } => self.detail(job, "started", output),
            Notice::Happened { job, event } => self.happened(job, event, output),
            Notice::Retrying { job, message, after } => {
                let (name, message) = (self.name(job), untrusted::line(message, MOST_LINE));
                let attempt = job.attempt;
                output.note(format!(
                    "retry {name}: attempt {attempt} failed, again in {:.0} s: {message}",
                    after.as_secs_f64()
                ));
            }
            Notice::Ended { job, result } => self.ended(job, result, output),
            Notice::GivenUp { job, message } => output.note(format!("ended {}: {message}", self.name(job))),
            Notice::NotNeeded { run, scenarios } => self.not_needed(*run, scenarios, output),
            Notice::RunEnded { .. } | Notice::SandboxReady { .. } | Notice::SandboxEnded { .. } => {}
            Notice::Problem(message) => output.note(format!("problem: {}", untrusted::line(message, MOST_LINE))),
        }
    }

    fn end(&mut self) {
        if let Some(live) = &mut self.live {
            live.end();
        }
    }
}

/// Describes the current activity of a scenario in a few words.
fn doing(event: &Event) -> Option<String> {
    match event {
        Event::PhaseStarted(phase) => Some(phase.to_string()),
        Event::Pulling { image, .. } => Some(format!("prepare: pulling {image}")),
        Event::Baking { .. } => Some("prepare: installing packages".to_owned()),
        Event::ServiceReady { service, .. } => Some(format!("prepare: {service} is ready")),
        Event::Probed { invariant } => Some(format!("probe: {}", untrusted::line(invariant, 60))),
        Event::CallHeld { tool, .. } => Some(format!("act: {} waits for a person", untrusted::line(tool, 60))),
        Event::CallDecided { .. } => Some(Phase::Act.to_string()),
        _ => None,
    }
}

/// Formats a step for verbose mode.
pub(crate) fn step(event: &Event) -> String {
    match event {
        Event::PhaseStarted(phase) => format!("{phase} …"),
        Event::PhaseEnded(phase @ Phase::Act, after) | Event::PhaseEnded(phase, after) => {
            format!("{phase} took {:.2} s", after.as_secs_f64())
        }
        Event::SandboxCreated { name } => format!("sandbox {name} is there"),
        Event::ServiceReady { service, after } => format!("service {service} ready after {:.2} s", after.as_secs_f64()),
        Event::FixtureApplied { index } => format!("fixtures[{index}] is in place"),
        Event::AgentStarted => "the agent acts".to_owned(),
        Event::AgentEnded { exit, .. } => {
            format!("the agent ended: {}", exit.map_or_else(|| "stopped".to_owned(), |exit| exit.to_string()))
        }
        Event::LimitFired(fired) => format!("limit {}: {}", fired.limit, fired.detail),
        Event::Probed { invariant } => format!("looked at `{invariant}`"),
        Event::SandboxDestroyed { name } => format!("sandbox {name} is gone"),
        Event::Pulling { .. } | Event::Baking { .. } | Event::SandboxKept { .. } | Event::Note(_) => String::new(),
        // A worker tells of these in notices of its own, and everybody sees held calls.
        Event::CallHeld { .. }
        | Event::CallDecided { .. }
        | Event::Claimed { .. }
        | Event::Judged { .. }
        | Event::Retrying { .. }
        | Event::Released { .. }
        | Event::GivenUp { .. }
        | Event::Lost { .. }
        | Event::Unknown { .. } => String::new(),
    }
}

/// One line about a scenario that ended, with the first thing that kept it from passing.
fn ended(name: &str, standing: Standing, result: &ScenarioResult) -> String {
    let time = format_duration(result.wall_ms);
    let why = match result.status {
        RowStatus::Pass => None,
        RowStatus::Fail => failure(result),
        RowStatus::Error if result.is_inconclusive() => result.error.as_ref().map(|error| error.message.clone()),
        RowStatus::Error => result.error.as_ref().map(ToString::to_string),
    };
    let why = why.map_or_else(String::new, |why| format!(": {}", untrusted::line(&why, MOST_LINE)));
    let word = standing.word_or_inconclusive(result.is_inconclusive());
    format!("{word} {name} ({:.3}, {time}){why}{}", result.composite, standing.remark())
}

fn failure(result: &ScenarioResult) -> Option<String> {
    let limit = result.limits.first().map(|fired| format!("limit {}: {}", fired.limit, fired.detail));
    let rule = || {
        let broken = result.forbidden.iter().find(|rule| rule.violated)?;
        Some(format!("forbidden {}: {}", broken.rule, broken.details))
    };
    let invariant = || {
        let missed = result.invariants.iter().find(|invariant| invariant.verdict.outcome != Outcome::Passed)?;
        Some(format!("{}: {}", missed.name, missed.verdict.message))
    };
    limit.or_else(|| result.offences.first().cloned()).or_else(rule).or_else(invariant).or_else(|| result.shortfall())
}
