//! The `touchstone` command.

mod acting;
mod backend;
mod beside;
mod clock;
mod commands;
mod documents;
mod exit_code;
mod home;
mod json_text;
mod machine;
mod output;
mod reference;
mod report_format;
mod search;
mod secrets;
mod session;
mod signals;
mod source;
mod standing;
mod stored_report;
mod times;
mod verdict_lines;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{
    cancel, confine, explain, gc, images, init, list, plan, rerun, rescore, run, schema, show, sweep, try_one, validate,
};
use output::Output;

/// Puts AI agents to the test: a world, a task, an agent, and what must be true afterwards.
#[derive(Debug, Parser)]
#[command(name = "touchstone", version, after_help = exit_code::HELP)]
struct Arguments {
    /// When to use colours.
    #[arg(long, value_enum, default_value_t = output::Colour::Auto, global = true)]
    color: output::Colour,
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
    Sweep(sweep::Sweep),
    Gc(gc::Gc),
    Images(images::Images),
    Confine(confine::Confine),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
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
        Command::Sweep(command) => command.run(&mut output),
        Command::Gc(command) => command.run(&mut output),
        Command::Images(command) => command.run(&mut output),
        Command::Confine(command) => command.run(),
    };
    output.finish(result)
}
