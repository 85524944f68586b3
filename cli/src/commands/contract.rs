//! `touchstone contract`: the contracts of specs, run, checked, or as one number.

use clap::{Args, Subcommand};
use scenario::count_noun;
use scenario::plan::{Plan, PlanOptions, PlanScope, expand};
use scenario::report::Reports;
use scenario::score::{CellStatus, ContractCell, ScoreOptions, score};
use scenario::spec::Spec;

use super::run::{Run, excuse, exit};
use super::validate::Validate;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::source::{Source, sources};

/// Run contracts: rules that must hold in every chaos cell, whatever breaks.
#[derive(Debug, Args)]
pub(crate) struct Contract {
    #[command(subcommand)]
    command: ContractCommand,
}

#[derive(Debug, Subcommand)]
enum ContractCommand {
    /// Run specs that have a contract, and show its matrix, what the faults came to, and the resilience score.
    ///
    /// The scenarios of the spec's own invariants are run too; its mutations and replays are not. The exit code is 1 when a contract fails: a critical rule
    /// failed in some chaos cell, or `min_score` was missed.
    Run(Box<Run>),
    /// Check specs that have a contract, and show how many cells and runs it has, without running anything.
    Validate(Validate),
    /// Run one spec, and print the resilience score of its contract and nothing else, such as 72.73.
    ///
    /// The exit code is that of `contract run`. Files of -o are written as there.
    Score(Box<Run>),
}

impl Contract {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.command {
            ContractCommand::Run(run) => run.of_contracts().run(output),
            ContractCommand::Validate(validate) => check(&validate, output),
            ContractCommand::Score(run) => print_score(run.of_contracts(), output),
        }
    }
}

/// Runs one spec, and prints its resilience score.
fn print_score(run: Run, output: &mut Output) -> Result<Exit, CommandError> {
    require_one_contract(&run)?;
    let documents = run.documents.check(output)?;
    let worked = run.reports(output);
    if let Some(excuse) = excuse(&worked) {
        documents.excuse(&excuse, output);
    }
    let Some((finish, reports)) = worked? else { return Ok(Exit::InvalidSpec) };
    documents.write_quietly(&reports)?;
    output.line(only_score(&reports)?)?;
    Ok(exit(finish, &reports))
}

/// Refuses several contracts before anything is run. Standard input is one spec at most, and can be read only once.
fn require_one_contract(run: &Run) -> Result<(), CommandError> {
    if run.paths.iter().any(|path| path.as_os_str() == "-") {
        return Ok(());
    }
    let sources = sources(&run.paths).0;
    let has_contract = |source: &&Source| source.load().spec.is_some_and(|spec| spec.contract.is_some());
    if sources.iter().filter(has_contract).count() > 1 { Err(not_one()) } else { Ok(()) }
}

fn not_one() -> CommandError {
    CommandError::Usage("`contract score` prints one number: name one spec, or use `contract run`".to_owned())
}

/// The resilience score of the only report.
fn only_score(reports: &Reports) -> Result<String, CommandError> {
    let [report] = reports.reports.as_slice() else { return Err(not_one()) };
    let score = report.score.contract.as_ref().and_then(|contract| contract.resilience_score);
    let nothing = || CommandError::Infrastructure("no cell of the contract could be judged".to_owned());
    score.map(|score| format!("{score:.2}")).ok_or_else(nothing)
}

/// Checks specs, and tells what their contracts are made of.
fn check(validate: &Validate, output: &mut Output) -> Result<Exit, CommandError> {
    // Read once: standard input can be read no second time.
    let (sources, readable) = sources(&validate.paths);
    let exit = validate.check(&sources, readable, output)?;
    if exit != Exit::Passed {
        return Ok(exit);
    }
    let mut found = 0;
    for source in &sources {
        let Some(spec) = source.load().spec else { continue };
        let Some(contract) = &spec.contract else { continue };
        found += 1;
        if validate.is_text() {
            let made_of =
                made_of(&spec).map_err(|error| CommandError::Usage(format!("{}: {error}", source.shown())))?;
            let name = scenario::untrusted::line(contract.name.source(), 200);
            output.line(format!("{}: contract {name}: {made_of}", source.shown()))?;
        }
    }
    match found {
        0 => Err(CommandError::Usage("none of these specs has a `contract`".to_owned())),
        _ => Ok(exit),
    }
}

/// The cells of a contract, and its runs.
fn made_of(spec: &Spec) -> Result<String, scenario::plan::PlanError> {
    let plan = expand(spec, PlanOptions { scope: PlanScope::Worlds, ..PlanOptions::default() })?;
    let cells = cells(spec, &plan);
    let skipped = cells.iter().filter(|cell| cell.status == CellStatus::Skipped).count();
    let mut runs: Vec<_> = cells.iter().flat_map(|cell| &cell.scenarios).collect();
    runs.sort();
    runs.dedup();
    let judged = count_noun(cells.len() - skipped, "cell");
    Ok(format!("{judged} to judge, {skipped} skipped, {}", count_noun(runs.len(), "run")))
}

/// The cells of a contract before anything was run.
fn cells(spec: &Spec, plan: &Plan) -> Vec<ContractCell> {
    score(plan, spec, &[], ScoreOptions::default()).contract.map(|contract| contract.cells).unwrap_or_default()
}
