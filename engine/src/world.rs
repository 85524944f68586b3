//! The world of one attempt while it lives: the sandbox and everything around it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::{Limits, Sandbox};
use crate::environment::Environment;
use crate::gateways::clock::Clock;
use crate::gateways::http_mock::HttpMocks;
use crate::limits::Counters;
use crate::redact::Redactor;
use crate::services::{Baseline, Forwards, LiveServices};
use crate::snapshot::Snapshot;
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
    /// When the agent started.
    pub(crate) clock: Arc<Clock>,
    /// Connections that are passed on to services with networks of their own.
    #[expect(dead_code, reason = "it is held, not read")]
    pub(crate) forwards: Forwards,
    /// The environment of commands.
    pub(crate) environment: Environment,
    /// Who runs commands, and who the agent is.
    pub(crate) user: User,
    /// Takes secrets out of what is kept.
    pub(crate) redactor: Redactor,
    /// What the world was like before the agent started.
    pub(crate) before: Before,
}

/// What the world was like before the agent started.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// The workspace.
    pub(crate) workspace: Snapshot,
    /// The kernel's counters.
    pub(crate) counters: Counters,
    /// The programs of services.
    pub(crate) programs: Baseline,
    /// What setting up had changed in the image; `None` when no check needs to know.
    pub(crate) image_changes: Option<BTreeMap<String, i64>>,
    /// How much room the image's own file system had.
    pub(crate) image_room: u64,
    /// How much setting up had written over the image, where that can be told quickly.
    pub(crate) written_over_image: Option<u64>,
}
