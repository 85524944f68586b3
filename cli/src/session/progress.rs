//! What a person sees while scenarios run: a bar on a terminal, and a line for each that ended.

use std::collections::{BTreeSet, HashMap, HashSet};

use engine::event::{Event, Phase};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::untrusted;
use scenario::verdict::Outcome;
use store::{ExperimentId, RunId};
use worker::{About, Notice};

use super::Session;
use crate::output::{Bar, CommandError, Output};

/// How long a line of foreign text may be.
const MOST_LINE: usize = 300;
/// How many scenarios a bar names.
const NAMED: usize = 4;

/// Tells of progress.
pub(super) struct Progress {
    bar: Option<Bar>,
    verbose: bool,
    names: HashMap<ExperimentId, String>,
    running: BTreeSet<String>,
    /// Notes that were told: most come from every scenario of a spec.
    noted: HashSet<String>,
}

impl Progress {
    /// Begins to tell of runs.
    pub(super) async fn begin(session: &Session, runs: &[RunId], output: &Output) -> Result<Self, CommandError> {
        let mut names = HashMap::new();
        let (mut total, mut ended) = (0, 0);
        for run in runs {
            names.insert(run.experiment, session.store.experiment(run.experiment).await?.spec.spec_id);
            let run = session.store.run(*run).await?;
            total += run.total;
            ended += run.ended;
        }
        let bar = output.bar(total);
        if let Some(bar) = &bar {
            bar.set(ended);
        }
        Ok(Self { bar, verbose: session.options.verbose, names, running: BTreeSet::new(), noted: HashSet::new() })
    }

    /// Tells of something.
    pub(super) fn tell(&mut self, notice: &Notice, output: &mut Output) {
        match notice {
            Notice::Claimed { job } => {
                self.running.insert(self.name(job));
                self.detail(job, "started", output);
            }
            Notice::Happened { job, event } => self.happened(job, event, output),
            Notice::Retrying { job, message, after } => {
                self.running.remove(&self.name(job));
                let (name, message) = (self.name(job), untrusted::line(message, MOST_LINE));
                let attempt = job.attempt;
                self.line(
                    output,
                    format!("retry {name}: attempt {attempt} failed, again in {:.0} s: {message}", after.as_secs_f64()),
                );
            }
            Notice::Ended { job, result } => {
                self.running.remove(&self.name(job));
                self.line(output, ended(&self.name(job), result));
                self.advance();
            }
            Notice::GivenUp { job, message } => {
                self.running.remove(&self.name(job));
                self.line(output, format!("ended {}: {message}", self.name(job)));
                self.advance();
            }
            Notice::RunEnded { .. } | Notice::SandboxReady { .. } | Notice::SandboxEnded { .. } => {}
            Notice::Problem(message) => self.line(output, format!("problem: {}", untrusted::line(message, MOST_LINE))),
        }
        self.name_running();
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.end();
        }
    }

    fn happened(&mut self, job: &About, event: &Event, output: &mut Output) {
        let told = match event {
            Event::Pulling { image, status } => Some(format!("pulling {image}: {}", untrusted::line(status, 100))),
            Event::Baking { packages } => Some(format!("installing {}", packages.join(" "))),
            Event::SandboxKept { name } => Some(format!("kept its sandbox `{name}`: docker exec -it {name} sh")),
            Event::Note(note) if !self.noted.insert(note.clone()) => return,
            Event::Note(note) => return self.line(output, format!("      {}", untrusted::line(note, MOST_LINE))),
            _ => None,
        };
        if let Some(told) = told {
            self.line(output, format!("      {}: {told}", self.name(job)));
        } else if self.verbose {
            self.detail(job, &step(event), output);
        }
    }

    /// A line that only those see who want to see everything.
    fn detail(&self, job: &About, text: &str, output: &mut Output) {
        if self.verbose {
            self.line(output, format!("      {}: {text}", self.name(job)));
        }
    }

    fn line(&self, output: &mut Output, text: String) {
        match &self.bar {
            Some(bar) => bar.line(&text),
            None => output.note(text),
        }
    }

    fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.advance();
        }
    }

    fn name_running(&self) {
        if let Some(bar) = &self.bar {
            let named: Vec<_> = self.running.iter().take(NAMED).map(String::as_str).collect();
            let more = if self.running.len() > NAMED { ", …" } else { "" };
            bar.message(&format!("{}{more}", named.join(", ")));
        }
    }

    fn name(&self, job: &About) -> String {
        let spec = self.names.get(&job.run.experiment).map_or("", String::as_str);
        format!("{spec}/{}", job.scenario)
    }
}

/// One step, for those who want to see everything.
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
    }
}

/// One line about a scenario that ended, with the first thing that kept it from passing.
fn ended(name: &str, result: &ScenarioResult) -> String {
    let seconds = std::time::Duration::from_millis(result.wall_ms).as_secs_f64();
    let (word, why) = match result.status {
        RowStatus::Pass => ("pass ", None),
        RowStatus::Fail => ("FAIL ", failure(result)),
        RowStatus::Error => ("ERROR", result.error.as_ref().map(ToString::to_string)),
    };
    let why = why.map_or_else(String::new, |why| format!(": {}", untrusted::line(&why, MOST_LINE)));
    format!("{word} {name} ({:.3}, {seconds:.1} s){why}", result.composite)
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
    limit.or_else(|| result.offences.first().cloned()).or_else(rule).or_else(invariant)
}
