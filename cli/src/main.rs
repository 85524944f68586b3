//! The `touchstone` command.

mod agent_override;
mod backend;
mod baselines;
mod bundle_files;
mod certified;
mod choices;
mod ci_commands;
mod client;
mod clock;
mod colors;
mod commands;
mod configuration;
mod data_dir;
mod documents;
mod drop_root;
mod evidence_of;
mod exit_code;
mod forecast_args;
mod gate_options;
mod held_calls;
mod help;
mod http_client;
mod json_text;
mod keys;
mod lane_lines;
mod live_view;
mod machine;
mod machine_id;
mod output;
mod quarantine;
mod reference;
mod remote_experiment;
mod replicas;
mod report_format;
mod run_status;
mod screen;
mod search;
mod secrets;
mod service;
mod session;
mod signals;
mod source;
mod submitting;
mod suggest_path;
mod suite_files;
mod table;
mod times;
mod verdict_lines;
mod whole_number;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use commands::{
    approvals, artifacts, baseline, cancel, certify, ci, compare, completions, config, confine, contract, doctor,
    explain, flaky, gc, health, images, import, init, judge, key, list, logs, man, plan, replay, rerun, rescore,
    results, run, schema, serve, shell, show, submit, sweep, tool_contracts, tools, trace, try_one, validate, watch,
    worker as worker_command,
};
use configuration::Unread;
use exit_code::Exit;
use output::{CommandError, Output};

/// Puts AI agents to the test: a world, a task, an agent, and what must be true afterwards.
#[derive(Debug, Parser)]
#[command(name = "touchstone", version, after_help = exit_code::HELP)]
struct Arguments {
    /// When to use colours.
    #[arg(long, value_enum, default_value_t = output::Colour::Auto, global = true)]
    color: output::Colour,
    /// A file with more options; docs/configuration.md has all of them.
    #[arg(long, env = "TOUCHSTONE_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Validate(validate::Validate),
    Plan(plan::Plan),
    Schema(schema::Schema),
    Explain(explain::Explain),
    Init(init::Init),
    Import(import::Import),
    Tools(tools::Tools),
    Try(try_one::Try),
    Run(Box<run::Run>),
    Ci(Box<ci::Ci>),
    Certify(Box<certify::Certify>),
    Contract(contract::Contract),
    ToolContracts(tool_contracts::ToolContracts),
    Replay(replay::Replay),
    Rerun(Box<rerun::Rerun>),
    List(list::List),
    Show(show::Show),
    Trace(trace::Trace),
    Shell(shell::Shell),
    Compare(compare::Compare),
    Baseline(baseline::Baseline),
    Flaky(flaky::Flaky),
    Rescore(rescore::Rescore),
    Judge(judge::Judge),
    Approvals(approvals::Approvals),
    Cancel(cancel::Cancel),
    Submit(Box<submit::Submit>),
    Watch(watch::Watch),
    Results(results::Results),
    Logs(logs::Logs),
    Artifacts(artifacts::Artifacts),
    Serve(Box<serve::Serve>),
    Worker(Box<worker_command::Worker>),
    Sweep(sweep::Sweep),
    Gc(gc::Gc),
    Images(images::Images),
    Key(key::Key),
    Config(config::Config),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
    Health(health::Health),
    Confine(confine::Confine),
}

fn main() -> ExitCode {
    // Before anything else is read, written or started.
    if let Err(error) = drop_root::drop_root() {
        return Output::new(output::Colour::Auto).finish(Err(error.into()));
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let columns = output::columns();
    let arguments = match configuration::read(help::grouped(Arguments::command(), columns), &words) {
        Ok(matches) => Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()),
        Err(Unread::Arguments(error)) => error.exit(),
        Err(Unread::File(error)) => return Output::new(output::Colour::Auto).finish(Err(error)),
    };
    let mut output = Output::new(arguments.color);
    let result = run(arguments.command, &mut output);
    output.finish(result)
}

fn run(command: Command, output: &mut Output) -> Result<Exit, CommandError> {
    match command {
        Command::Validate(command) => command.run(output),
        Command::Plan(command) => command.run(output),
        Command::Schema(command) => command.run(output),
        Command::Explain(command) => command.run(output),
        Command::Init(command) => command.run(output),
        Command::Import(command) => command.run(output),
        Command::Tools(command) => command.run(output),
        Command::Try(command) => command.run(output),
        Command::Run(command) => command.run(output),
        Command::Ci(command) => command.run(output),
        Command::Certify(command) => command.run(output),
        Command::Contract(command) => command.run(output),
        Command::ToolContracts(command) => command.run(output),
        Command::Replay(command) => command.run(output),
        Command::Rerun(command) => command.run(output),
        Command::List(command) => command.run(output),
        Command::Show(command) => command.run(output),
        Command::Trace(command) => command.run(output),
        Command::Shell(command) => command.run(output),
        Command::Compare(command) => command.run(output),
        Command::Baseline(command) => command.run(output),
        Command::Flaky(command) => command.run(output),
        Command::Rescore(command) => command.run(output),
        Command::Judge(command) => command.run(output),
        Command::Approvals(command) => command.run(output),
        Command::Cancel(command) => command.run(output),
        Command::Submit(command) => command.run(output),
        Command::Watch(command) => command.run(output),
        Command::Results(command) => command.run(output),
        Command::Logs(command) => command.run(output),
        Command::Artifacts(command) => command.run(output),
        Command::Serve(command) => command.run(output),
        Command::Worker(command) => command.run(output),
        Command::Sweep(command) => command.run(output),
        Command::Gc(command) => command.run(output),
        Command::Images(command) => command.run(output),
        Command::Key(command) => command.run(output),
        Command::Config(command) => command.run(output),
        Command::Doctor(command) => command.run(output),
        Command::Completions(command) => command.run(Arguments::command(), output),
        Command::Man(command) => command.run(Arguments::command(), output),
        Command::Health(command) => command.run(output),
        Command::Confine(command) => command.run(),
    }
}
