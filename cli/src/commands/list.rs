//! `touchstone list`: the experiments that are kept.

use clap::{Args, ValueEnum};
use comfy_table::Table;
use jiff::Timestamp;
use scenario::result::RowStatus;
use scenario::score::{ExperimentVerdict, Metrics};
use serde_json::{Value as Json, json};
use store::{Clock as _, Experiment, Numbers, Run};
use tokio::runtime::Runtime;

use crate::client::{Listed, MaybeServer, Server};
use crate::clock::SystemClock;
use crate::data_dir::{Home, StoreOption};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output, columns};
use crate::run_status::Standing;
use crate::table::table;
use crate::times::{age, second};
use crate::whole_number::whole_number;

/// List the experiments that are kept, newest first.
///
/// What is shown of an experiment is its newest run; `touchstone show ID` shows all of it. With a URL, the experiments of that
/// server are listed.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// How many experiments to show.
    #[arg(long, default_value_t = 20, value_parser = whole_number::<u32>)]
    limit: u32,
    /// Only experiments of the spec with this id.
    #[arg(long, value_name = "ID")]
    spec: Option<String>,
    /// How to show them.
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
    #[command(flatten)]
    server: MaybeServer,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// A table.
    Text,
    /// One JSON array.
    Json,
}

/// An experiment, and the numbers of its newest run.
struct Row {
    experiment: Experiment,
    run: Run,
    standing: Standing,
    passed: usize,
    /// `None` while nothing has been judged.
    pass_rate: Option<f64>,
}

impl List {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        if let Some(server) = self.server.named()? {
            return self.of_server(&server, output);
        }
        let rows = Runtime::new()?.block_on(self.rows())?;
        match self.format {
            ListFormat::Json => output.json(&rows.iter().map(object).collect())?,
            ListFormat::Text if rows.is_empty() => output.line(self.nothing())?,
            ListFormat::Text => output.line(listing(&rows, SystemClock.now(), columns()).to_string())?,
        }
        Ok(Exit::Passed)
    }

    fn of_server(&self, server: &Server, output: &mut Output) -> Result<Exit, CommandError> {
        let listed = Runtime::new()?.block_on(server.experiments(self.limit, self.spec.as_deref()))?;
        match self.format {
            ListFormat::Json => {
                output.json(&listed.into_iter().map(|one| one.0).collect())?;
            }
            ListFormat::Text if listed.is_empty() => {
                output.line(format!("no experiments at {}; `touchstone submit SPEC` makes one", server.place()))?;
            }
            ListFormat::Text => output.line(remote_listing(&listed).to_string())?,
        }
        Ok(Exit::Passed)
    }

    async fn rows(&self) -> Result<Vec<Row>, CommandError> {
        let home = self.store.open().await?;
        let mut rows = Vec::new();
        for experiment in home.store.experiments(self.limit.into(), self.spec.as_deref()).await? {
            let Some(run) = home.store.runs(experiment.id).await?.into_iter().next() else { continue };
            rows.push(row(&home, experiment, run).await?);
        }
        Ok(rows)
    }

    fn nothing(&self) -> String {
        match &self.spec {
            Some(spec) => format!("no experiments of `{spec}`; `touchstone list` without --spec shows all of them"),
            None => "no experiments yet; `touchstone run SPEC` makes one".to_owned(),
        }
    }
}

async fn row(home: &Home, experiment: Experiment, run: Run) -> Result<Row, CommandError> {
    let (passed, metrics) = match &run.score {
        Some(score) => (score.passed, score.metrics.clone()),
        None => so_far(home, &run).await?,
    };
    let pass_rate = metrics.pass_rate_interval.map(|_| metrics.pass_rate);
    let standing = Standing::of(&run, &home.data_dir);
    Ok(Row { experiment, run, standing, passed, pass_rate })
}

/// Returns the number of scenarios of an open run that have passed so far, and its other numbers.
async fn so_far(home: &Home, run: &Run) -> Result<(usize, Metrics), CommandError> {
    let stored = home.store.scenarios(run.id).await?;
    let results: Vec<_> = stored.into_iter().filter_map(|stored| stored.result).collect();
    let score = Numbers::of(&home.store, run.id).await?.score(&results);
    Ok((results.iter().filter(|result| result.status == RowStatus::Pass).count(), score.metrics))
}

/// A table of experiments. Where there is little room, it says when by the age alone, and has the end of each id, which is
/// enough to name it.
fn listing(rows: &[Row], now: Timestamp, columns: Option<u16>) -> Table {
    let whole = table_of(rows, now, true);
    let width = whole.lines().next().map_or(0, |line| line.chars().count());
    let is_wide = columns.is_some_and(|columns| width > usize::from(columns));
    if is_wide { table_of(rows, now, false) } else { whole }
}

fn table_of(rows: &[Row], now: Timestamp, is_whole: bool) -> Table {
    let heads = ["id", "spec", "started", "age", "state", "verdict", "passed", "rate"];
    let mut table = table(heads.into_iter().filter(|head| is_whole || *head != "started"));
    for row in rows {
        let Row { experiment, run, standing, passed, pass_rate } = row;
        let id = experiment.id.to_string();
        let id = if is_whole { id } else { id.rsplit('-').next().unwrap_or_default().to_owned() };
        let mut cells = vec![id, format!("{} v{}", experiment.spec.spec_id, experiment.spec.version)];
        cells.extend(is_whole.then(|| second(experiment.created_at)));
        cells.extend([
            age(experiment.created_at, now),
            standing.to_string(),
            run.verdict
                .filter(|verdict| *verdict != ExperimentVerdict::Pending)
                .map_or("-", ExperimentVerdict::word)
                .to_owned(),
            format!("{passed}/{}", run.score.as_ref().map_or(run.total, |score| score.total as u64)),
            pass_rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.2}")),
        ]);
        table.add_row(cells);
    }
    table
}

/// The experiments of a server.
fn remote_listing(listed: &[Listed]) -> Table {
    let mut table = table(["id", "name", "spec", "started", "state", "verdict", "ended"]);
    for one in listed {
        let started = one.text("created_at");
        table.add_row([
            one.text("id"),
            Some(one.text("name")).filter(|name| *name != one.text("spec_id")).unwrap_or_default(),
            format!("{} v{}", one.text("spec_id"), one.text("spec_version")),
            started.parse::<Timestamp>().map_or(started, second),
            one.text("status"),
            if one.text("verdict") == "pending" { "-".to_owned() } else { one.text("verdict") },
            ended(one),
        ]);
    }
    table
}

/// Formats the number of scenarios that have ended. Of a run that was ended early, a server counts all of them.
fn ended(one: &Listed) -> String {
    let total = one.text("total_scenarios");
    if one.text("status") == "cancelled" {
        format!("-/{total}")
    } else {
        format!("{}/{total}", one.text("ended_scenarios"))
    }
}

fn object(row: &Row) -> Json {
    let Row { experiment, run, standing, passed, pass_rate } = row;
    json!({
        "id": experiment.id.to_string(),
        "spec_id": experiment.spec.spec_id,
        "spec_version": experiment.spec.version,
        "source": experiment.source,
        "created_at": second(experiment.created_at),
        "run": run.id.number,
        "kind": run.kind.to_string(),
        "state": standing.to_string(),
        "verdict": run.verdict,
        "total": run.total,
        "ended": run.ended,
        "passed": passed,
        "pass_rate": pass_rate,
        "ended_at": run.ended_at.map(second),
    })
}
