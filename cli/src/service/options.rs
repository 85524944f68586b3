//! Options of a worker in a service: shared by `serve` and `worker`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use engine::attempt::Permissions;
use engine::backend::docker::DockerSettings;
use engine::providers::{ProviderAccess, ProviderHost};
use store::{Demand, Limits};
use worker::Config;

use super::admission::OfThisVersion;
use super::worker_service::Station;
use crate::agent_override::permissions;
use crate::backend::BackendOptions;
use crate::machine::ModelOptions;
use crate::output::CommandError;
use crate::session::Available;
use crate::times::{bytes_of, length};
use crate::whole_number::whole_number;

/// How a worker of a service works.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerOptions {
    /// How many sandboxes there are at once; without it two for each core, as far as memory and processors allow.
    #[arg(long, env = "TOUCHSTONE_MAX_CONCURRENT", value_name = "N", value_parser = whole_number::<NonZeroUsize>)]
    max_concurrent: Option<NonZeroUsize>,
    /// The memory that all sandboxes together may be promised, such as 12Gi; without it all that the machine has, or
    /// with the local backend what the worker's control groups leave.
    #[arg(long, env = "TOUCHSTONE_MEMORY", value_name = "SIZE", value_parser = bytes_of)]
    memory: Option<u64>,
    /// The cores that all sandboxes together may be promised; eight for each of the machine's without it.
    #[arg(long, env = "TOUCHSTONE_CPUS", value_name = "N", value_parser = whole_number::<NonZeroU32>)]
    cpus: Option<NonZeroU32>,
    /// How many sandboxes are made at once.
    #[arg(long, env = "TOUCHSTONE_CREATING", value_name = "N", default_value = "4", value_parser = whole_number::<NonZeroUsize>)]
    creating: NonZeroUsize,
    /// How many sandboxes are removed at once.
    #[arg(long, env = "TOUCHSTONE_DESTROYING", value_name = "N", default_value = "4", value_parser = whole_number::<NonZeroUsize>)]
    destroying: NonZeroUsize,
    /// How many scenarios all workers together run at once; tell every worker the same.
    #[arg(long, env = "TOUCHSTONE_GLOBAL_LIMIT", value_name = "N", value_parser = whole_number::<NonZeroU32>)]
    global_limit: Option<NonZeroU32>,
    /// How many scenarios of one spec all workers together run at once; tell every worker the same.
    #[arg(long, env = "TOUCHSTONE_PER_SPEC_LIMIT", value_name = "N", value_parser = whole_number::<NonZeroU32>)]
    per_spec_limit: Option<NonZeroU32>,
    /// How many of the sandboxes people may work in; all but one, or the only one, without it.
    #[arg(long, env = "TOUCHSTONE_INTERACTIVE", value_name = "N", value_parser = whole_number::<usize>)]
    pub(super) interactive: Option<usize>,
    /// How long a scenario is held by a worker that is not heard of; then another one runs it.
    #[arg(long, env = "TOUCHSTONE_LEASE", value_name = "TIME", default_value = "30s", value_parser = length)]
    lease: Duration,
    /// How often it looks for work when nobody tells of any.
    #[arg(long, env = "TOUCHSTONE_POLL", value_name = "TIME", default_value = "1s", value_parser = length)]
    poll: Duration,
    /// How often it removes what killed processes left.
    #[arg(long, env = "TOUCHSTONE_SWEEP_EVERY", value_name = "TIME", default_value = "5m", value_parser = length)]
    sweep_every: Duration,
    /// How often a scenario is tried when the machine fails, not the agent.
    #[arg(long, env = "TOUCHSTONE_ATTEMPTS", value_name = "N", default_value = "3", value_parser = whole_number::<NonZeroU32>)]
    attempts: NonZeroU32,
    /// How much disk must be free to start a scenario.
    #[arg(long, env = "TOUCHSTONE_FREE_DISK", value_name = "SIZE", default_value = "1Gi", value_parser = bytes_of)]
    free_disk: u64,
    /// Let `custom` checks with `runs_in: host` run on the worker's machine, confined.
    #[arg(long, env = "TOUCHSTONE_ALLOW_HOST_CHECKS", value_parser = BoolishValueParser::new())]
    allow_host_checks: bool,
    /// Let `git_repo` fixtures be cloned from the worker's machine, from networks near it, and with its ssh keys.
    #[arg(long, env = "TOUCHSTONE_ALLOW_PRIVATE_REPOSITORIES", value_parser = BoolishValueParser::new())]
    allow_private_repositories: bool,
    /// Providers on private networks that specs may name with `base_url`: `HOST` or `HOST:PORT`, separated by commas.
    #[arg(long, env = "TOUCHSTONE_ALLOW_PRIVATE_PROVIDERS", value_name = "HOSTS", value_delimiter = ',')]
    allow_private_providers: Vec<ProviderHost>,
    /// Let specs take secrets from the worker's environment, files and commands.
    #[arg(long, env = "TOUCHSTONE_ALLOW_SECRET_SOURCES", value_parser = BoolishValueParser::new())]
    pub(super) allow_secret_sources: bool,
    #[command(flatten)]
    pub(super) backend: BackendOptions,
    /// Never pull an image.
    #[arg(long, env = "TOUCHSTONE_NO_PULL", value_parser = BoolishValueParser::new())]
    no_pull: bool,
    /// What starts containers: `runc` or `crun`; the engine's own choice without it.
    #[arg(long, env = "TOUCHSTONE_RUNTIME", value_name = "NAME")]
    runtime: Option<String>,
    /// Log every step of every scenario.
    #[arg(long, short, env = "TOUCHSTONE_VERBOSE", value_parser = BoolishValueParser::new())]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) models: ModelOptions,
}

impl WorkerOptions {
    /// Returns the settings of the Docker backend.
    pub(super) fn docker(&self) -> DockerSettings {
        DockerSettings {
            runtime: self.runtime.clone(),
            pull: !self.no_pull,
            creating: self.creating.get(),
            destroying: self.destroying.get(),
            ..DockerSettings::default()
        }
    }

    /// Returns the permissions that the machine's owner grants.
    pub(super) fn permissions(&self) -> Result<Permissions, CommandError> {
        let public_repositories_only = !self.allow_private_repositories;
        let providers = ProviderAccess::Public { except: self.allow_private_providers.clone() };
        Ok(Permissions { public_repositories_only, providers, ..permissions(self.allow_host_checks)? })
    }

    /// Returns the admission rules of workers of this version, with the models of this process's worker, if it has one.
    pub(crate) fn admission(&self, here: Option<&Station>) -> Result<OfThisVersion, CommandError> {
        let providers = here.map(|station| Arc::clone(&station.providers));
        Ok(OfThisVersion { permissions: self.permissions()?, providers })
    }

    /// Returns the maximum number of concurrent sandboxes.
    pub(super) fn slots(&self, available: Available) -> usize {
        self.max_concurrent.map_or_else(|| available.usual_slots(), NonZeroUsize::get)
    }

    /// Returns the worker's configuration with these options applied.
    pub(super) fn configure(&self, config: Config, available: Available) -> Config {
        Config {
            slots: self.slots(available),
            budget: self.budget(available),
            limits: Limits {
                global: self.global_limit.map(NonZeroU32::get),
                per_spec: self.per_spec_limit.map(NonZeroU32::get),
            },
            attempts: self.attempts.get(),
            lease: self.lease,
            poll: self.poll,
            sweep: self.sweep_every,
            watermark: self.free_disk,
            ..config
        }
    }

    fn budget(&self, available: Available) -> Demand {
        let usual = available.budget(self.max_concurrent.is_some());
        Demand {
            cpu_milli: self.cpus.map_or(usual.cpu_milli, |cores| u64::from(cores.get()) * 1000),
            memory: self.memory.unwrap_or(usual.memory),
        }
    }
}
