//! Following a server's run to its end, with what a person sees meanwhile.

use std::collections::HashMap;

use scenario::report::Report;
use scenario::result::RowStatus;

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
    let (ended, total) = (report.rows.len(), report.score.total);
    output.note(format!("following {}: {ended} of {total} scenarios have ended", run.name()));
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
    spec: String,
    live: Option<LiveView>,
    /// How each scenario that has ended did.
    ended: HashMap<String, RowStatus>,
}

impl Shown {
    fn begin(report: &Report, output: &Output) -> Self {
        let total = u64::try_from(report.score.total).unwrap_or(u64::MAX);
        Self { spec: report.spec_id.clone(), live: output.live_view(total, 0), ended: HashMap::new() }
    }

    fn end(&mut self) {
        if let Some(live) = &mut self.live {
            live.end();
        }
    }

    fn tell(&mut self, happened: &Happened, output: &mut Output) {
        let scenario = happened.scenario();
        let name = format!("{}/{scenario}", self.spec);
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

    fn judged(&mut self, scenario: &str, name: &str, happened: &Happened, output: &mut Output) {
        let (word, status) = match happened.said("status").as_str() {
            "pass" => ("pass ", RowStatus::Pass),
            "fail" => ("FAIL ", RowStatus::Fail),
            _ => ("ERROR", RowStatus::Error),
        };
        let score = happened.data["body"]["composite"].as_f64().unwrap_or(0.0);
        if self.ended.insert(scenario.to_owned(), status).is_none() {
            if let Some(live) = &mut self.live {
                live.ended(name, Some(status));
            }
            output.note(format!("{word} {name} ({score:.3})"));
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
