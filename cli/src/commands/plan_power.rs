//! `touchstone plan --power`: how many replicas tell a drop from chance, and what the suite costs at that number.

use std::collections::BTreeSet;

use clap::Args;
use scenario::format_duration;
use scenario::plan::Plan;
use scenario::regression::{SIGNIFICANT, level_of_cell};
use scenario::statistics::{MOST_REPLICAS, POWER, power, replicas_for_drop};
use serde_json::{Value as Json, json};
use store::{HistoryFilter, Page, PastStatus, Store};

use crate::output::{CommandError, Output};
use crate::table::table;

/// How many of the newest experiments of a spec say what a scenario costs.
const NEWEST: u64 = 5;
/// How long the longest bar of the chart is.
const BAR: usize = 40;
/// How many bars the chart has at most.
const BARS: usize = 10;

/// How large a drop is to be found.
#[derive(Debug, Clone, Args)]
pub(super) struct PowerOptions {
    /// Show how many replicas of each cell tell a drop of its pass rate from chance, in 80 of 100 comparisons with a baseline, and
    /// what that costs by the history.
    #[arg(long)]
    pub(super) power: bool,
    /// The pass rate before the drop, from 0 to 1.
    #[arg(long, value_name = "RATE", default_value_t = 0.9, requires = "power")]
    from: f64,
    /// The pass rate after it.
    #[arg(long, value_name = "RATE", default_value_t = 0.7, requires = "power")]
    to: f64,
}

/// What the scenarios of a spec cost, by the newest runs of its own agent.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    scenarios: f64,
    wall_ms: f64,
    tokens: f64,
    usd: f64,
}

/// A number of cells that are compared together.
struct Row {
    what: String,
    cells: usize,
    level: f64,
    replicas: Option<usize>,
    /// What all of its scenarios cost at that number; `None` where a spec has no history.
    cost: Option<Cost>,
}

/// Shows the power for these plans.
pub(super) async fn show(
    options: &PowerOptions,
    plans: &[&Plan],
    store: &Store,
    as_json: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (from, to) = options.rates()?;
    let specs = specs(plans, store).await?;
    let rows = rows(&specs, (from, to));
    if as_json {
        return output.json(&value((from, to), &rows));
    }
    let drop = format!("a drop from {} to {}", percent(from), percent(to));
    output.line(format!(
        "Replicas of each cell, on either side, that tell {drop} in {} of 100 comparisons:",
        (POWER * 100.0).round()
    ))?;
    output.line(format!("{}\n", text(&rows)))?;
    if let Some(last) = rows.last() {
        output.line(format!("How often {drop} of one cell is found, for {}:", last.what))?;
        output.line(chart((from, to), last))?;
    }
    Ok(())
}

impl PowerOptions {
    fn rates(&self) -> Result<(f64, f64), CommandError> {
        let Self { from, to, .. } = *self;
        let is_rate = |rate: f64| (0.0..=1.0).contains(&rate);
        if is_rate(from) && is_rate(to) && to < from {
            return Ok((from, to));
        }
        Err(CommandError::Usage(format!("`--from {from} --to {to}` is no drop between two rates from 0 to 1")))
    }
}

/// A planned spec: its name, its cells, and what a scenario of it costs.
struct PlannedSpec {
    name: String,
    cells: usize,
    scenario: Option<Cost>,
}

async fn specs(plans: &[&Plan], store: &Store) -> Result<Vec<PlannedSpec>, CommandError> {
    let mut specs = Vec::new();
    for plan in plans {
        let cells: BTreeSet<_> = plan.scenarios.iter().map(|scenario| &scenario.cell).collect();
        let scenario = cost_of_scenario(store, &plan.spec_id).await?;
        specs.push(PlannedSpec { name: plan.spec_id.clone(), cells: cells.len(), scenario });
    }
    Ok(specs)
}

/// What a scenario of a spec costs on average, by its newest runs; `None` without any.
async fn cost_of_scenario(store: &Store, spec_id: &str) -> Result<Option<Cost>, CommandError> {
    let filter = HistoryFilter { spec_id: Some(spec_id), status: Some(PastStatus::Ended), ..HistoryFilter::default() };
    let listed = store.history(filter, Page { after: None, most: NEWEST }).await?;
    let mut sum = Cost::default();
    for past in listed.items.into_iter().filter(|past| past.experiment.settings.agent.is_none()) {
        let Some(score) = (match past.run {
            Some(run) => store.run(run.id).await?.score,
            None => None,
        }) else {
            continue;
        };
        let scenarios = number(score.passed + score.failed + score.flaky);
        sum.scenarios += scenarios;
        sum.wall_ms += scenarios * number_of(score.metrics.mean_wall_ms);
        sum.tokens += number_of(score.metrics.total_tokens);
        sum.usd += score.metrics.total_cost_usd;
    }
    Ok((sum.scenarios > 0.0).then(|| sum.times(1.0 / sum.scenarios)))
}

impl Cost {
    fn times(self, factor: f64) -> Self {
        Self {
            scenarios: self.scenarios * factor,
            wall_ms: self.wall_ms * factor,
            tokens: self.tokens * factor,
            usd: self.usd * factor,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            scenarios: self.scenarios + other.scenarios,
            wall_ms: self.wall_ms + other.wall_ms,
            tokens: self.tokens + other.tokens,
            usd: self.usd + other.usd,
        }
    }
}

/// One cell alone, each spec alone, and all specs together.
fn rows(specs: &[PlannedSpec], rates: (f64, f64)) -> Vec<Row> {
    let mut rows = vec![row("one cell alone".to_owned(), 1, rates, |_| None)];
    for spec in specs {
        let cost = |replicas| Some(spec.scenario?.times(number(spec.cells * replicas)));
        rows.push(row(spec.name.clone(), spec.cells, rates, cost));
    }
    if specs.len() > 1 {
        let cost = |replicas| {
            let of_spec = |spec: &PlannedSpec| Some(spec.scenario?.times(number(spec.cells * replicas)));
            specs.iter().map(of_spec).try_fold(Cost::default(), |sum, cost| Some(sum.and(cost?)))
        };
        rows.push(row("all specs together".to_owned(), specs.iter().map(|spec| spec.cells).sum(), rates, cost));
    }
    rows
}

fn row(what: String, cells: usize, (from, to): (f64, f64), cost: impl Fn(usize) -> Option<Cost>) -> Row {
    let level = level_of_cell(cells);
    let replicas = replicas_for_drop(from, to, level);
    Row { what, cells, level, replicas, cost: replicas.and_then(cost) }
}

fn text(rows: &[Row]) -> String {
    let mut table = table(["for", "cells", "level", "replicas", "scenarios", "time", "tokens", "cost"]);
    for row in rows {
        let replicas =
            row.replicas.map_or_else(|| format!("more than {MOST_REPLICAS}"), |replicas| replicas.to_string());
        let scenarios = row.replicas.map_or_else(|| "-".to_owned(), |replicas| (replicas * row.cells).to_string());
        let [time, tokens, cost] = match row.cost {
            Some(cost) => {
                [format_duration(whole(cost.wall_ms)), whole(cost.tokens).to_string(), format!("${:.4}", cost.usd)]
            }
            None if row.what == "one cell alone" => ["-", "-", "-"].map(str::to_owned),
            None => ["no history yet", "-", "-"].map(str::to_owned),
        };
        table.add_row([
            row.what.clone(),
            row.cells.to_string(),
            format!("{:.4}", row.level),
            replicas,
            scenarios,
            time,
            tokens,
            cost,
        ]);
    }
    table.to_string()
}

/// The power for some numbers of replicas up to twice as many as are needed.
fn curve(rates: (f64, f64), row: &Row) -> Vec<(usize, f64)> {
    let most = row.replicas.map_or(MOST_REPLICAS, |needed| (needed * 2).clamp(BARS, MOST_REPLICAS));
    let step = most.div_ceil(BARS);
    (1..=BARS)
        .map(|bar| (bar * step).min(MOST_REPLICAS))
        .map(|replicas| (replicas, power(replicas, rates, row.level)))
        .collect()
}

fn chart(rates: (f64, f64), row: &Row) -> String {
    let bar = |power: f64| "█".repeat(usize::try_from(whole(power * number(BAR))).unwrap_or_default());
    let line = |(replicas, power): (usize, f64)| {
        let enough = if power >= POWER { " enough" } else { "" };
        format!("{replicas:>5} {:<BAR$} {:>3.0} %{enough}", bar(power), power * 100.0)
    };
    curve(rates, row).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn value((from, to): (f64, f64), rows: &[Row]) -> Json {
    let cost = |cost: Cost| json!({ "wall_ms": whole(cost.wall_ms), "tokens": whole(cost.tokens), "usd": cost.usd });
    let rows = rows.iter().map(|row| {
        let curve = curve((from, to), row).into_iter();
        json!({
            "for": row.what,
            "cells": row.cells,
            "level": row.level,
            "replicas": row.replicas,
            "scenarios": row.replicas.map(|replicas| replicas * row.cells),
            "cost": row.cost.map(cost),
            "curve": curve.map(|(replicas, power)| json!({ "replicas": replicas, "power": power })).collect::<Vec<_>>(),
        })
    });
    json!({ "from": from, "to": to, "power": POWER, "alpha": SIGNIFICANT, "rows": rows.collect::<Vec<_>>() })
}

fn percent(rate: f64) -> String {
    format!("{} %", (rate * 1000.0).round() / 10.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn number(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "times and tokens are far below 2^53")]
fn number_of(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is not negative")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
