//! `touchstone tool-contracts`: rules over an agent's tool calls, checked and tried without running anything.

mod check;
mod explain;
mod files;
mod graph;
mod init;
mod judge;
mod test;
mod trace;
mod vectors;

use clap::{Args, Subcommand};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Check rules over tool calls, test them, and judge recorded traces by them.
#[derive(Debug, Args)]
pub(crate) struct ToolContracts {
    #[command(subcommand)]
    command: ToolContractsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolContractsCommand {
    Init(init::Init),
    Check(check::Check),
    Test(test::Test),
    Graph(graph::Graph),
    Judge(judge::Judge),
    Explain(explain::Explain),
    Vectors(vectors::Vectors),
}

impl ToolContracts {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.command {
            ToolContractsCommand::Init(init) => init.run(output),
            ToolContractsCommand::Check(check) => check.run(output),
            ToolContractsCommand::Test(test) => test.run(output),
            ToolContractsCommand::Graph(graph) => graph.run(output),
            ToolContractsCommand::Judge(judge) => judge.run(output),
            ToolContractsCommand::Explain(explain) => explain.run(output),
            ToolContractsCommand::Vectors(vectors) => vectors.run(output),
        }
    }
}
