//! The `touchstone` command.

mod acting;
mod backend;
mod beside;
mod chance;
mod clock;
mod commands;
mod configuration;
mod documents;
mod exit_code;
mod home;
mod http_client;
mod json_text;
mod keys;
mod machine;
mod output;
mod reference;
mod report_format;
mod search;
mod secrets;
mod service;
mod session;
mod signals;
mod source;
mod standing;
mod times;
mod verdict_lines;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use commands::{
    cancel, config, confine, explain, gc, health, images, init, key, list, plan, rerun, rescore, run, schema, serve,
    show, sweep, try_one, validate, worker as worker_command,
};
use configuration::Unread;
use output::Output;

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
    Try(try_one::Try),
    Run(run::Run),
    Rerun(rerun::Rerun),
    List(list::List),
    Show(show::Show),
    Rescore(rescore::Rescore),
    Cancel(cancel::Cancel),
    Serve(Box<serve::Serve>),
    Worker(Box<worker_command::Worker>),
    Sweep(sweep::Sweep),
    Gc(gc::Gc),
    Images(images::Images),
    Key(key::Key),
    Config(config::Config),
    Health(health::Health),
    Confine(confine::Confine),
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match configuration::read(Arguments::command(), &words) {
        Ok(matches) => Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()),
        Err(Unread::Arguments(error)) => error.exit(),
        Err(Unread::File(error)) => return Output::new(output::Colour::Auto).finish(Err(error)),
    };
    let mut output = Output::new(arguments.color);
    let result = match arguments.command {
        Command::Validate(command) => command.run(&mut output),
        Command::Plan(command) => command.run(&mut output),
        Command::Schema(command) => command.run(&mut output),
        Command::Explain(command) => command.run(&mut output),
        Command::Init(command) => command.run(&mut output),
        Command::Try(command) => command.run(&mut output),
        Command::Run(command) => command.run(&mut output),
        Command::Rerun(command) => command.run(&mut output),
        Command::List(command) => command.run(&mut output),
        Command::Show(command) => command.run(&mut output),
        Command::Rescore(command) => command.run(&mut output),
        Command::Cancel(command) => command.run(&mut output),
        Command::Serve(command) => command.run(&mut output),
        Command::Worker(command) => command.run(&mut output),
        Command::Sweep(command) => command.run(&mut output),
        Command::Gc(command) => command.run(&mut output),
        Command::Images(command) => command.run(&mut output),
        Command::Key(command) => command.run(&mut output),
        Command::Config(command) => command.run(&mut output),
        Command::Health(command) => command.run(&mut output),
        Command::Confine(command) => command.run(),
    };
    output.finish(result)
}
