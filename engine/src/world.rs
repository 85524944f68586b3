//! The world of one attempt while it lives: the sandbox and everything around it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::{Limits, Sandbox};
use crate::command_log::CommandLog;
use crate::environment::Environment;
use crate::gateways::clock::Clock;
use crate::gateways::http_mock::HttpMocks;
use crate::limits::Counters;
use crate::redact::Redactor;
use crate::run::databases::TablesOfServices;
use crate::run::diffs::Texts;
use crate::run::gateways::Gateways;
use crate::run::network::Network;
use crate::services::{Baseline, Forwards, LiveServices};
use crate::snapshot::Snapshot;
use crate::uploaded::Installed;
use crate::users::User;

/// The world of one attempt while it lives.
#[derive(Debug)]
pub(crate) struct World {
    /// The box that the agent is in.
    pub(crate) sandbox: Arc<dyn Sandbox>,
    /// What it may use.
    pub(crate) limits: Limits,
    /// The containers of its services.
    pub(crate) services: LiveServices,
    /// Its mocks.
    pub(crate) mocks: HttpMocks,
    /// Its names, its way out and its HTTPS.
    pub(crate) network: Network,
    /// Its model, and the API of its own sandbox.
    pub(crate) gateways: Gateways,
    /// When the agent started.
    pub(crate) clock: Arc<Clock>,
    /// Connections that are passed on to services with networks of their own.
    pub(crate) forwards: Forwards,
    /// Commands that were started, for the audit.
    pub(crate) commands: CommandLog,
    /// The environment of commands.
    pub(crate) environment: Environment,
    /// Who runs commands, and who the agent is.
    pub(crate) user: User,
    /// Takes secrets out of what is kept.
    pub(crate) redactor: Redactor,
    /// The uploaded agent, when it is one.
    pub(crate) agent: Option<Installed>,
    /// What the world was like before the agent started.
    pub(crate) before: Before,
}

/// What the world was like before the agent started.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// The workspace.
    pub(crate) workspace: Snapshot,
    /// The texts of its small files.
    pub(crate) texts: Texts,
    /// The kernel's counters.
    pub(crate) counters: Counters,
    /// The programs of services.
    pub(crate) programs: Baseline,
    /// What setting up had changed in the image; `None` when no check needs to know.
    pub(crate) image_changes: Option<BTreeMap<String, i64>>,
    /// What the tables of recorded databases held.
    pub(crate) tables: TablesOfServices,
    /// How much room the image's own file system had.
    pub(crate) image_room: u64,
    /// How much setting up had written over the image, where that can be told quickly.
    pub(crate) written_over_image: Option<u64>,
}
