//! The world of one attempt while it lives: the sandbox and everything around it.

use std::borrow::Cow;
use std::sync::Arc;

use gateways::clock::Clock;
use gateways::redact::Redactor;

use crate::backend::{Limits, Sandbox};
use crate::command_log::CommandLog;
use crate::database::wire::Recorder;
use crate::environment::Environment;
use crate::gateway_list::GatewayList;
use crate::limits::Counters;
use crate::run::activity::KnownOfServices;
use crate::run::contracts::Contracts;
use crate::run::databases::TablesOfServices;
use crate::run::diffs::Texts;
use crate::run::image::ImageState;
use crate::run::tools::ToolServers;
use crate::run::world_faults::SandboxChanger;
use crate::services::{Baseline, Forwards, LiveServices};
use crate::snapshot::Snapshot;
use crate::uploaded::Installed;
use crate::users::User;

/// The world of one attempt while it lives.
#[derive(Debug)]
pub(crate) struct World {
    /// The box that the agent is in.
    pub(crate) sandbox: Arc<dyn Sandbox>,
    /// Resources that it may use.
    pub(crate) limits: Limits,
    /// The containers of its services.
    pub(crate) services: LiveServices,
    /// Its gateways: mocks, names, the way out, the model, the API of its own sandbox, recorded databases.
    pub(crate) gateways: GatewayList,
    /// The session under tool contracts, if the spec has any.
    pub(crate) contracts: Option<Contracts>,
    /// The MCP servers that run as commands in the sandbox.
    pub(crate) tool_servers: ToolServers,
    /// Writes to databases, where they are recorded.
    pub(crate) recorder: Arc<Recorder>,
    /// Changes the sandbox while the agent acts, where faults of it do that.
    pub(crate) changer: Option<Arc<SandboxChanger>>,
    /// Clock that starts with the agent.
    pub(crate) clock: Arc<Clock>,
    /// Connections that are passed on to services with networks of their own.
    pub(crate) _forwards: Forwards,
    /// Commands that were started, for the audit.
    pub(crate) commands: CommandLog,
    /// The environment of commands.
    pub(crate) environment: Environment,
    /// User of commands, which is also the agent's.
    pub(crate) user: User,
    /// Takes secrets out of what is kept.
    pub(crate) redactor: Redactor,
    /// The uploaded agent, when it is one.
    pub(crate) agent: Option<Installed>,
    /// State of the world before the agent started.
    pub(crate) before: Before,
}

impl World {
    /// The workspace and its texts before the agent, with what was changed since and is no work of the agent.
    pub(crate) fn before_agent(&self) -> (Cow<'_, Snapshot>, Cow<'_, Texts>) {
        let Before { workspace, texts, .. } = &self.before;
        let Some(changer) = &self.changer else { return (Cow::Borrowed(workspace), Cow::Borrowed(texts)) };
        let (workspace, replaced) = changer.before();
        let mut texts = texts.clone();
        texts.extend(replaced);
        (Cow::Owned(workspace), Cow::Owned(texts))
    }
}

/// State of the world before the agent started.
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
    /// Changes of the image by the setup; `None` when no check needs to know.
    pub(crate) image: Option<ImageState>,
    /// Activity in databases, and the settings of their sessions.
    pub(crate) activity: KnownOfServices,
    /// Contents of the tables of recorded databases.
    pub(crate) tables: TablesOfServices,
    /// Free space of the image's own file system.
    pub(crate) image_room: u64,
    /// Number of bytes that the setup had written over the image, where that can be told quickly.
    pub(crate) written_over_image: Option<u64>,
}
