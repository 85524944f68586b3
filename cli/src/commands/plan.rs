//! `touchstone plan`: the scenarios of a spec.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scenario::count_noun;
use scenario::plan::{self, PlanError, PlanOptions, expand, parameter};
use scenario::spec::{Spec, render};
use scenario::untrusted;
use tokio::runtime::Runtime;

use super::plan_power::{self, PowerOptions};
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::source::{Source, has_error, sources};
use crate::table::table;
use crate::whole_number::whole_number;

/// Show the scenarios that specs expand to, with their ids and seeds; with --power, how many replicas tell a drop from chance.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Spec files, folders to search for specs, patterns such as `specs/check-*`, or `-` for standard input.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Use this seed instead of the specs' own.
    #[arg(long, value_parser = whole_number::<u64>)]
    seed: Option<u64>,
    /// Run each cell so often instead of `parallelism.replicas`.
    #[arg(long, value_parser = whole_number::<usize>)]
    replicas: Option<usize>,
    /// Give a parameter of the matrix this value in every cell; several times for several parameters or values.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Show only these cells of `chaos_matrix`: NAME or NAME,NAME.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    chaos: Vec<String>,
    /// How to show the plan.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    format: PlanFormat,
    #[command(flatten)]
    power: PowerOptions,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    /// A table.
    Text,
    /// One JSON array with a plan for each spec.
    Json,
}

impl Plan {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let (sources, readable) = sources(&self.paths);
        readable?;
        let mut plans = Vec::new();
        let mut exit = Exit::Passed;
        for source in &sources {
            match self.plan(source, output)? {
                Some(plan) => plans.push((source, plan)),
                None => exit = Exit::InvalidSpec,
            }
        }
        if self.power.power && exit == Exit::Passed {
            self.show_power(&plans, output)?;
            return Ok(exit);
        }
        match self.format {
            PlanFormat::Text => tables(&plans, output)?,
            PlanFormat::Json if exit == Exit::Passed => {
                let json: Vec<_> = plans.iter().map(|(_, plan)| plan).collect();
                output.json(&serde_json::json!(json))?;
            }
            PlanFormat::Json => {}
        }
        Ok(exit)
    }

    /// Shows how many replicas tell a drop from chance.
    fn show_power(&self, plans: &[(&Source, plan::Plan)], output: &mut Output) -> Result<(), CommandError> {
        let plans: Vec<_> = plans.iter().map(|(_, plan)| plan).collect();
        Runtime::new()?.block_on(async {
            let home = self.store.open().await?;
            plan_power::show(&self.power, &plans, &home.store, self.format == PlanFormat::Json, output).await
        })
    }

    /// The plan of one spec; shows what is wrong when there is none.
    fn plan(&self, source: &Source, output: &mut Output) -> Result<Option<plan::Plan>, CommandError> {
        let loaded = source.load();
        if has_error(&loaded.diagnostics) {
            for diagnostic in &loaded.diagnostics {
                let shown = render::text(diagnostic, &source.name, &source.text, output.style());
                output.line(format!("{shown}\n"))?;
            }
        }
        let Some(spec) = &loaded.spec else { return Ok(None) };
        let planned = self.options(spec).and_then(|options| expand(spec, options));
        planned.map(Some).map_err(|error| CommandError::Usage(format!("{}: {error}", source.name)))
    }

    fn options(&self, spec: &Spec) -> Result<PlanOptions, PlanError> {
        let parameters = self.parameters.iter().map(|text| parameter(spec, text)).collect::<Result<_, _>>()?;
        let chaos = (!self.chaos.is_empty()).then(|| self.chaos.clone());
        Ok(PlanOptions { seed: self.seed, replicas: self.replicas, parameters, chaos, ..PlanOptions::default() })
    }
}

fn tables(plans: &[(&Source, plan::Plan)], output: &mut Output) -> Result<(), CommandError> {
    for (source, plan) in plans {
        let name = source.shown();
        output.line(format!("{} ({name}), seed {}", plan.spec_id, plan.seed))?;
        let mut table = table(["scenario", "replica", "seed", "parameters"]);
        for scenario in &plan.scenarios {
            let parameters: Vec<_> =
                scenario.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let shown = untrusted::line(&parameters.join(" "), 100);
            table.add_row([scenario.id.to_string(), scenario.replica.to_string(), scenario.seed.to_string(), shown]);
        }
        output.line(format!("{table}\n"))?;
    }
    let scenarios: usize = plans.iter().map(|(_, plan)| plan.scenarios.len()).sum();
    output.line(format!("{}, {}", count_noun(plans.len(), "spec"), count_noun(scenarios, "scenario")))
}
