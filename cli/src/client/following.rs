//! Follows a run on a server to its end, and displays its progress.

use std::collections::{HashMap, HashSet};

use scenario::count_noun_as;
use scenario::event::Event;
use scenario::format_duration;
use scenario::report::Report;
use scenario::result::RowStatus;
use scenario::score::Status;
use scenario::untrusted;
use scenario::verdict::ErrorKind;
use serde_json::{Value as Json, json};

use super::waiting::Waiting;
use super::{Happened, RemoteRun, RemoteStatus, Server, Stream, Streamed};
use crate::held_calls;
use crate::live_view::LiveView;
use crate::output::{CommandError, Output};
use crate::replicas::{Replicas, Standing};
use crate::signals::{Signals, StopRequest};

/// Maximum length of a reason that is shown.
const MOST_WHY: usize = 300;

/// The outcome of following a run.
#[derive(Debug)]
pub(crate) enum Followed {
    /// The run has ended: its report, and whether it was cancelled.
    Ended(Box<Report>, bool),
    /// The user asked to stop watching.
    Interrupted,
}

/// Follows a run until it has ended, or the user asks to stop.
pub(crate) async fn follow(
    server: &Server,
    run: &RemoteRun,
    signals: &mut Signals,
    output: &mut Output,
) -> Result<Followed, CommandError> {
    let (report, status) = server.report(run).await?;
    let mut shown = Shown::begin(&report, output);
    // Before the first run there are no numbers; the stream waits for it.
    if status != RemoteStatus::Open {
        shown.end();
        return Ok(Followed::Ended(Box::new(report), status == RemoteStatus::Cancelled));
    }
    let (ended, total) = (report.rows.len(), count_noun_as(report.score.total, "scenario has", "scenarios have"));
    output.note(format!("following {}: {ended} of {total} ended", run.name()));
    let mut stream = Stream::of(server, run.clone());
    let mut waiting = Waiting::of(server);
    let interrupted = loop {
        let happened = tokio::select! {
            biased;
            asked = signals.next() => match asked { StopRequest::Once | StopRequest::Again => break true },
            happened = stream.next() => happened,
            reason = waiting.new_reason(), if shown.running.is_empty() => {
                output.note(format!("waiting: {reason}"));
                continue;
            }
        };
        waiting.restart();
        match happened {
            Ok(Streamed::Done) => break false,
            Ok(Streamed::Happened(happened)) => shown.tell(&happened, output),
            Err(problem) => {
                shown.end();
                return Err(problem);
            }
        }
    };
    shown.end();
    if interrupted {
        return Ok(Followed::Interrupted);
    }
    let (report, status) = server.report(run).await?;
    shown.settle(&report, output);
    Ok(Followed::Ended(Box::new(report), status == RemoteStatus::Cancelled))
}

/// The state of the display.
struct Shown {
    experiment: String,
    run: u32,
    spec: String,
    live: Option<LiveView>,
    /// The scenarios that a worker has taken and not ended.
    running: HashSet<String>,
    /// The status of each scenario that has ended.
    ended: HashMap<String, RowStatus>,
    replicas: Replicas,
}

impl Shown {
    fn begin(report: &Report, output: &Output) -> Self {
        let total = u64::try_from(report.score.total).unwrap_or(u64::MAX);
        let mut replicas = Replicas::default();
        for cell in &report.score.cells {
            replicas.plan_cell(&report.header.experiment_id, cell.id.as_str(), cell.planned);
        }
        Self {
            experiment: report.header.experiment_id.clone(),
            run: report.header.run,
            spec: report.spec_id.clone(),
            live: output.live_view(total, 0),
            running: HashSet::new(),
            ended: HashMap::new(),
            replicas,
        }
    }

    fn end(&mut self) {
        if let Some(live) = &mut self.live {
            live.end();
        }
    }

    fn tell(&mut self, happened: &Happened, output: &mut Output) {
        let scenario = happened.scenario();
        let name = format!("{}/{scenario}", self.spec);
        self.stream(happened, output);
        match &happened.event {
            Event::Claimed { .. } => self.doing(&name, "starting"),
            Event::PhaseStarted(phase) => self.doing(&name, phase.word()),
            Event::Retrying { why, .. } => {
                self.forget(&name);
                output.note(format!("retry {name}: {}", untrusted::line(why, MOST_WHY)));
            }
            Event::Lost { .. } | Event::Released { .. } => self.forget(&name),
            Event::GivenUp { why } => {
                self.forget(&name);
                output.note(format!("ended {name}: {}", untrusted::line(why, MOST_WHY)));
            }
            Event::Judged { status, composite, wall_ms, error } => {
                let is_inconclusive = *error == Some(ErrorKind::Inconclusive);
                self.judged(&scenario, &name, (*status, *composite, *wall_ms, is_inconclusive), output);
            }
            event @ (Event::CallHeld { .. } | Event::CallDecided { .. }) => {
                let words = held_calls::words(event);
                words.into_iter().for_each(|words| output.note(format!("      {name}: {words}")));
            }
            _ => {}
        }
    }

    /// Writes the event for a program that reads along, in the words of a run on this machine.
    fn stream(&self, happened: &Happened, output: &mut Output) {
        let data = &happened.data;
        let about = || {
            json!({
                "experiment_id": self.experiment,
                "run": self.run,
                "spec_id": self.spec,
                "scenario_id": data["scenario_id"],
                "attempt": data["attempt"],
            })
        };
        match &happened.event {
            Event::Claimed { .. } => output.happened("began", about),
            Event::Retrying { why, .. } => output.happened("retrying", || with(about(), [("why", json!(why))])),
            Event::Judged { status, composite, wall_ms, .. } => output.happened("ended", || {
                let score = ("composite_score", json!(composite));
                with(about(), [("status", json!(status)), score, ("wall_ms", json!(wall_ms))])
            }),
            event => {
                if let Some((kind, more)) = held_calls::streamed(event) {
                    output.happened(kind, || held_calls::beside(about(), &more));
                }
            }
        }
    }

    fn judged(&mut self, scenario: &str, name: &str, judged: (RowStatus, f64, Option<u64>, bool), output: &mut Output) {
        self.running.remove(name);
        let (status, score, wall_ms, is_inconclusive) = judged;
        let time = wall_ms.map_or_else(String::new, |time| format!(", {}", format_duration(time)));
        if self.ended.insert(scenario.to_owned(), status).is_some() {
            return;
        }
        if let Some(live) = &mut self.live {
            live.ended(name, Some(status));
        }
        let (standing, settled) = self.replicas.ended(&self.experiment, scenario, status);
        let word = standing.word_or_inconclusive(is_inconclusive);
        output.note(format!("{word} {name} ({score:.3}{time}){}", standing.remark()));
        self.settled(settled, output);
    }

    /// Tells of failed replicas whose verdict waited for others that were not run.
    fn settle(&mut self, report: &Report, output: &mut Output) {
        let unrun = report.score.cells.iter().filter(|cell| cell.sequential.is_some());
        let ids: Vec<_> = unrun.map(|cell| cell.id.to_string()).collect();
        for id in ids {
            let settled = self.replicas.close(&self.experiment, &id);
            self.settled(settled, output);
        }
    }

    /// Tells of replicas whose verdict is known now.
    fn settled(&self, settled: Vec<(String, Status)>, output: &mut Output) {
        for (scenario, status) in settled {
            output.note(format!("{} {}/{scenario}", Standing::Settled(status).word(), self.spec));
            output.happened("settled", || {
                json!({
                    "experiment_id": self.experiment,
                    "run": self.run,
                    "spec_id": self.spec,
                    "scenario_id": scenario,
                    "status": status.word(),
                })
            });
        }
    }

    fn doing(&mut self, name: &str, what: &str) {
        self.running.insert(name.to_owned());
        if let Some(live) = &mut self.live {
            live.doing(name, what);
        }
    }

    fn forget(&mut self, name: &str) {
        self.running.remove(name);
        if let Some(live) = &mut self.live {
            live.forget(name);
        }
    }
}

fn with<const N: usize>(mut about: Json, more: [(&str, Json); N]) -> Json {
    for (name, value) in more {
        about[name] = value;
    }
    about
}
