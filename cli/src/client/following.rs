//! Following a server's run to its end, with what a person sees meanwhile.

use std::collections::HashMap;

use scenario::counted_as;
use scenario::report::Report;
use scenario::result::RowStatus;
use scenario::took;
use serde_json::{Value as Json, json};

use super::{Happened, RemoteRun, Server, Stream};
use crate::live_view::LiveView;
use crate::output::{CommandError, Output};
use crate::signals::{Asked, Signals};

/// How following ended.
#[derive(Debug)]
pub(crate) enum Followed {
    /// The run has ended: its report, and whether it was cancelled.
    Ended(Box<Report>, bool),
    /// Somebody asked to stop watching.
    Interrupted,
}

/// Follows a run until it has ended, or somebody asks to stop.
pub(crate) async fn follow(
    server: &Server,
    run: &RemoteRun,
    signals: &mut Signals,
    output: &mut Output,
) -> Result<Followed, CommandError> {
    let (report, status) = server.report(run).await?;
    let mut shown = Shown::begin(&report, output);
    // Before the first run there are no numbers; the stream waits for it.
    if status == "finished" || status == "cancelled" {
        shown.end();
        return Ok(Followed::Ended(Box::new(report), status == "cancelled"));
    }
    let (ended, total) = (report.rows.len(), counted_as(report.score.total, "scenario has", "scenarios have"));
    output.note(format!("following {}: {ended} of {total} ended", run.name()));
    let mut stream = Stream::of(server, run.clone());
    let interrupted = loop {
        let happened = tokio::select! {
            biased;
            asked = signals.next() => match asked { Asked::Once | Asked::Again => break true },
            happened = stream.next() => happened,
        };
        match happened {
            Ok(happened) if happened.is_done() => break false,
            Ok(happened) => shown.tell(&happened, output),
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
    Ok(Followed::Ended(Box::new(report), status == "cancelled"))
}

/// What a person sees.
struct Shown {
    experiment: String,
    run: u32,
    spec: String,
    live: Option<LiveView>,
    /// How each scenario that has ended did.
    ended: HashMap<String, RowStatus>,
}

impl Shown {
    fn begin(report: &Report, output: &Output) -> Self {
        let total = u64::try_from(report.score.total).unwrap_or(u64::MAX);
        Self {
            experiment: report.header.experiment_id.clone(),
            run: report.header.run,
            spec: report.spec_id.clone(),
            live: output.live_view(total, 0),
            ended: HashMap::new(),
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
        match happened.kind.as_str() {
            "claimed" => self.doing(&name, "starting"),
            "phase_started" => self.doing(&name, &happened.said("phase")),
            "retrying" => {
                self.forget(&name);
                output.note(format!("retry {name}: {}", happened.said("why")));
            }
            "lost" | "released" => self.forget(&name),
            "given_up" => {
                self.forget(&name);
                output.note(format!("ended {name}: {}", happened.said("why")));
            }
            "judged" => self.judged(&scenario, &name, happened, output),
            _ => {}
        }
    }

    /// Tells a program that reads along, in the words of a run on this machine.
    fn stream(&self, happened: &Happened, output: &mut Output) {
        let (data, body) = (&happened.data, &happened.data["body"]);
        let about = || {
            json!({
                "experiment_id": self.experiment,
                "run": self.run,
                "spec_id": self.spec,
                "scenario_id": data["scenario_id"],
                "attempt": data["attempt"],
            })
        };
        match happened.kind.as_str() {
            "claimed" => output.happened("began", about),
            "retrying" => output.happened("retrying", || with(about(), &[("why", &body["why"])])),
            "judged" => output.happened("ended", || {
                with(
                    about(),
                    &[
                        ("status", &body["status"]),
                        ("composite_score", &body["composite"]),
                        ("wall_ms", &body["wall_ms"]),
                    ],
                )
            }),
            _ => {}
        }
    }

    fn judged(&mut self, scenario: &str, name: &str, happened: &Happened, output: &mut Output) {
        let (word, status) = match happened.said("status").as_str() {
            "pass" => ("pass ", RowStatus::Pass),
            "fail" => ("FAIL ", RowStatus::Fail),
            _ => ("ERROR", RowStatus::Error),
        };
        let body = &happened.data["body"];
        let score = body["composite"].as_f64().unwrap_or(0.0);
        let time = body["wall_ms"].as_u64().map_or_else(String::new, |time| format!(", {}", took(time)));
        if self.ended.insert(scenario.to_owned(), status).is_none() {
            if let Some(live) = &mut self.live {
                live.ended(name, Some(status));
            }
            output.note(format!("{word} {name} ({score:.3}{time})"));
        }
    }

    fn doing(&mut self, name: &str, what: &str) {
        if let Some(live) = &mut self.live {
            live.doing(name, what);
        }
    }

    fn forget(&mut self, name: &str) {
        if let Some(live) = &mut self.live {
            live.forget(name);
        }
    }
}

fn with(mut about: Json, more: &[(&str, &Json)]) -> Json {
    for (name, value) in more {
        about[*name] = (*value).clone();
    }
    about
}
