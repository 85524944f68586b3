//! Options that change a spec when it is run: shared by `run`, `ci` and `submit`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scenario::plan::{AgentOverride, Filter, PlanError, PlanOptions, parameter};
use scenario::spec::Spec;
use scenario::spec::sections::chaos::{NO_CHAOS, Profile};
use serde_json::Value as Json;
use store::SpecContent;

use crate::agent_override::{add_files, agent};
use crate::output::CommandError;
use crate::source::{Source, content};
use crate::whole_number::whole_number;

/// What people change about a spec when they run it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Choices {
    /// Run each cell so often, instead of what the spec says.
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    pub(crate) replicas: Option<usize>,
    /// Use this value of a parameter instead of the matrix's: NAME=VALUE. Can be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) param: Vec<String>,
    /// Use this seed instead of the spec's own.
    #[arg(long, value_parser = whole_number::<u64>)]
    pub(crate) seed: Option<u64>,
    /// Run only scenarios whose id, cell, spec, suite, tag, parameter (NAME=VALUE) or chaos cell (chaos=NAME) matches; `*` and `?` stand for anything.
    /// Can be given several times.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) filter: Vec<String>,
    /// Run only these cells of the spec's `chaos_matrix`: NAME or NAME,NAME. Profiles and `no-chaos` can be named too.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) chaos: Vec<String>,
    /// Run the spec without faults and with those of this profile, in place of its own.
    #[arg(long, value_name = "NAME", conflicts_with = "chaos", value_parser = profile_parser())]
    pub(crate) chaos_profile: Option<Profile>,
    /// Who acts instead of the specs' own agents: `noop` (does nothing), `oracle` (solves the task with `task.solution`), or a
    /// command, run by `sh -c` in the workspace with the prompt on standard input; `cmd:NAME` for one without blank and slash.
    #[arg(long, value_name = "AGENT", value_parser = agent)]
    pub(crate) agent: Option<AgentOverride>,
    /// A folder with the files of the command that --agent names. They come to /opt/agent, which is in PATH, PYTHONPATH and
    /// `TOUCHSTONE_AGENT_DIR`.
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub(crate) agent_files: Option<PathBuf>,
    /// A pass rate that every cell must reach, besides what its spec asks for: from 0 to 1.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) min_pass_rate: Option<f64>,
}

impl Choices {
    /// The filters.
    pub(crate) fn filters(&self) -> Result<Vec<Filter>, CommandError> {
        self.filter.iter().map(|text| Filter::new(text).map_err(CommandError::usage)).collect()
    }

    /// Returns the error for filters that leave nothing to run.
    pub(crate) fn nothing_matches(&self) -> CommandError {
        let filters: Vec<_> = self.filter.iter().map(|filter| format!("`{filter}`")).collect();
        CommandError::Usage(format!(
            "no scenario matches {}; `touchstone plan` shows what there is",
            filters.join(" or ")
        ))
    }

    /// The values of parameters that were given.
    pub(crate) fn parameters(&self, spec: &Spec) -> Result<Vec<(String, Json)>, PlanError> {
        self.param.iter().map(|text| parameter(spec, text)).collect()
    }

    /// What a spec says, with the files of the agent that acts instead of its own.
    pub(crate) fn content(&self, source: &Source) -> Result<SpecContent, CommandError> {
        let mut content = content(source)?;
        match (&self.agent, &self.agent_files) {
            (_, None) => {}
            (Some(AgentOverride::Command(_)), Some(folder)) => add_files(folder, &mut content)?,
            (_, Some(_)) => {
                return Err(CommandError::Usage("--agent-files belongs to a command as --agent".to_owned()));
            }
        }
        Ok(content)
    }

    /// Returns the options for expanding a spec into scenarios.
    pub(crate) fn plan_options(&self, parameters: &[(String, Json)]) -> PlanOptions {
        let chaos = Some(self.chaos_cells()).filter(|cells| !cells.is_empty());
        PlanOptions {
            seed: self.seed,
            replicas: self.replicas,
            parameters: parameters.to_vec(),
            chaos,
            ..PlanOptions::default()
        }
    }

    /// The chaos cells that were chosen; none for all.
    pub(crate) fn chaos_cells(&self) -> Vec<String> {
        match self.chaos_profile {
            Some(profile) => vec![NO_CHAOS.to_owned(), profile.to_string()],
            None => self.chaos.clone(),
        }
    }
}

/// Reads the name of a profile.
fn profile_parser() -> impl TypedValueParser<Value = Profile> {
    let known = PossibleValuesParser::new(Profile::ALL.map(Profile::word));
    known.try_map(|name| Profile::named(&name).ok_or("there is no such profile"))
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate)).ok_or_else(|| "write a number from 0 to 1".to_owned())
}
