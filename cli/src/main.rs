//! The `touchstone` command.

mod commands;
mod exit_code;
mod output;
mod secrets;
mod source;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{confine, explain, images, init, plan, schema, try_one, validate};
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
        Command::Images(command) => command.run(&mut output),
        Command::Confine(command) => command.run(),
    };
    output.finish(result)
}
