//! `touchstone replay run`: sessions, run again.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scenario::spec::sections::{ReplayMatching, ReplayModel};

use super::session_files;
use crate::choices::Choices;
use crate::commands::run::{Replayed, Run};
use crate::documents::DocumentOptions;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::session::WorkOptions;

/// Let the agent of a spec go through recorded sessions: it gets the prompt of the session, and its HTTP mocks answer as recorded.
///
/// All rules of the spec's contract must hold; without a contract, all its invariants. The exit code is 1 when a session fails.
#[derive(Debug, Args)]
pub(super) struct ReplayRun {
    /// Files of sessions, or folders of them.
    #[arg(required = true)]
    sessions: Vec<PathBuf>,
    /// The spec, in place of the one that the sessions name.
    #[arg(long, value_name = "SPEC")]
    spec: Option<PathBuf>,
    /// The way to find the recorded answer to a call.
    #[arg(long, value_enum, default_value_t = MatchingOption::Fifo)]
    matching: MatchingOption,
    /// Where the model's answers come from.
    #[arg(long, value_enum, default_value_t = ModelOption::Live)]
    model: ModelOption,
    #[command(flatten)]
    choices: Choices,
    /// Keep nothing: no history, no evidence.
    #[arg(long)]
    ephemeral: bool,
    #[command(flatten)]
    documents: DocumentOptions,
    #[command(flatten)]
    work: WorkOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MatchingOption {
    /// The next answer to the same method and path; differences are reported.
    Fifo,
    /// The next answer to the same method, path, query and body; differences fail.
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelOption {
    /// From the model as the spec has it.
    Live,
    /// From the session.
    Recorded,
}

impl ReplayRun {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let sessions = session_files::read(&self.sessions, self.spec.as_deref())?;
        let mut specs: Vec<_> = sessions.iter().map(|session| session.spec.clone()).collect();
        specs.sort();
        specs.dedup();
        let replayed = Replayed {
            sessions,
            matching: match self.matching {
                MatchingOption::Fifo => ReplayMatching::Fifo,
                MatchingOption::Strict => ReplayMatching::Strict,
            },
            model: match self.model {
                ModelOption::Live => ReplayModel::Live,
                ModelOption::Recorded => ReplayModel::Recorded,
            },
        };
        let Self { choices, ephemeral, documents, work, .. } = self;
        Run::of_sessions(specs, replayed, (choices, ephemeral, documents, work)).run(output)
    }
}
