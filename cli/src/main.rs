//! The `touchstone` command.

mod commands;
mod exit_code;
mod output;
mod source;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{explain, init, plan, schema, validate};
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
    };
    output.finish(result)
}
