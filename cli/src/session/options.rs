//! Options of a session: shared by `run` and `rerun`.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use engine::attempt::Permissions;
use scenario::spec::types::Timespan;
use worker::KeepSandbox;

use crate::agent_override::permissions;
use crate::backend::BackendOptions;
use crate::data_dir::StoreOption;
use crate::machine::ModelOptions;
use crate::output::CommandError;
use crate::secrets::SecretOptions;
use crate::whole_number::whole_number;

/// How runs are worked on.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkOptions {
    /// How many scenarios run at once; without it two for each core, as far as memory and processors allow.
    #[arg(long, value_name = "N", value_parser = whole_number::<NonZeroUsize>)]
    pub(crate) max_concurrent: Option<NonZeroUsize>,
    /// How long all of it may take, such as 10m; what has not ended then is cancelled.
    #[arg(long, value_name = "TIME", value_parser = timespan)]
    pub(crate) timeout: Option<Duration>,
    /// Cancel the rest once a scenario did not pass.
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Keep sandboxes, to look into them.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(crate) keep_sandbox: Option<Keep>,
    #[command(flatten)]
    pub(crate) backend: BackendOptions,
    /// Let `custom` checks with `runs_in: host` run on this machine.
    #[arg(long)]
    pub(crate) allow_host_checks: bool,
    /// Never pull an image.
    #[arg(long, env = "TOUCHSTONE_NO_PULL", value_parser = BoolishValueParser::new())]
    pub(crate) no_pull: bool,
    /// What starts containers: `runc` or `crun`; the engine's own choice without it.
    #[arg(long, env = "TOUCHSTONE_RUNTIME")]
    pub(crate) runtime: Option<String>,
    /// Tell of every step.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) models: ModelOptions,
    #[command(flatten)]
    pub(crate) secrets: SecretOptions,
    #[command(flatten)]
    pub(crate) store: StoreOption,
}

/// When a sandbox is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// When its scenario did not pass.
    OnFailure,
    /// Always.
    Always,
}

impl WorkOptions {
    /// Returns the rule for sandboxes to keep.
    pub(super) fn keep(&self) -> KeepSandbox {
        match self.keep_sandbox {
            None => KeepSandbox::Never,
            Some(Keep::OnFailure) => KeepSandbox::OnFailure,
            Some(Keep::Always) => KeepSandbox::Always,
        }
    }

    /// Returns the permissions that the machine's owner grants.
    pub(crate) fn permissions(&self) -> Result<Permissions, CommandError> {
        Ok(permissions(self.allow_host_checks)?)
    }
}

fn timespan(text: &str) -> Result<Duration, String> {
    Timespan::parse(text)
        .map(Timespan::get)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write a number and a unit, such as 90s, 10m or 1h".to_owned())
}
