//! `chaos` and `chaos_matrix`: a world that breaks on purpose.

mod clock_fault;
mod context_attack;
mod file_fault;
mod llm_fault;
mod mcp_fault;
mod network_fault;
mod profile;
mod service_fault;
mod start;
mod tool_fault;
mod trigger;

use crate::spec::section::{Joined, section};
use crate::spec::sections::Model;
use crate::spec::types::ChaosName;

pub use clock_fault::{ClockFault, ClockFaultMode, ClockJump, ClockSkew};
pub(crate) use context_attack::mentions_canary;
pub use context_attack::{
    AttackCommon, AttackKind, AttackPlace, CANARY, ConflictingContext, ContextAttack, ContextAttacks,
    IndirectInjection, InjectionViaContext, MemoryPoisoning, Overflow, OverflowIn, PlantedIn, Strategy,
    WorkspacePoisoning,
};
pub use file_fault::{ChangedUnderneath, DeniedPath, DiskFull, FileFault, FileFaultMode, ReadOnlyPath};
pub use llm_fault::{
    ArgumentDamage, BackendDown, BrokenArguments, ContentFilter, ContextLengthExceeded, CutStream, Direction,
    DriftType, EmptyReply, Garbage, HangStream, LlmDelay, LlmError, LlmFault, LlmMode, LlmRateLimit, LlmTimeout,
    ResponseDrift, SlowFirstToken, SlowStream, TruncatedResponse,
};
pub use mcp_fault::{ListHang, RugPull, SessionLost, SlowProgress, ToolError, Vanish};
pub use network_fault::{Bandwidth, DnsAnswer, DnsFailure, Latency, NetworkFault, NetworkMode, Partition};
pub use profile::{NO_CHAOS, Profile};
pub use service_fault::{
    CallUnit, CommitUnknown, KillSession, ReadOnly, ServiceFault, ServiceHang, ServiceMode, ServicePause,
    ServiceRefuse, ServiceReset, ServiceRestart, ServiceSlow, ServiceTarget, SqlError, StatementKind,
};
pub use start::FaultStart;
pub use tool_fault::{
    ConnectionRefused, ConnectionReset, Dribble, DropFields, EmptyAnswer, ErrorAnswer, HtmlErrorPage, LargeResponse,
    LostResponse, Malformed, MaliciousResponse, SchemaViolation, Slow, ToolFault, ToolMode, ToolRateLimit, ToolTarget,
    ToolTimeout, Truncated, Unauthorized, WrongData, WrongEntity,
};
pub use trigger::{Burst, Trigger};

section! {
    /// Faults that are injected between the agent and its world. Each is decided by the scenario's seed and the number of the
    /// call, so that the same run again has the same faults; each that fired is in the evidence.
    ///
    /// ```yaml
    /// chaos:
    ///   tool_faults:
    ///     - { tool: shop, mode: error, error_code: 503, times: 2 }
    ///   llm_faults:
    ///     - { mode: rate_limit, on_calls: [1] }
    /// ```
    pub struct Chaos {
        /// A set of faults that comes with Touchstone. It stands after the faults of this cell.
        profile: Option<Profile>,
        /// Faults of the services that the agent calls over HTTP. The first rule that fires decides; `slow` adds its delay to
        /// whatever comes after it.
        tool_faults: Vec<ToolFault> = Vec::new(),
        /// Faults of the model.
        llm_faults: Vec<LlmFault> = Vec::new(),
        /// Faults of services that are containers: databases, and whatever else is reached over TCP. The first rule that fires
        /// decides; `slow` adds its delay to whatever comes after it.
        service_faults: Vec<ServiceFault> = Vec::new(),
        /// Faults of the files in the workspace.
        file_faults: Vec<FileFault> = Vec::new(),
        /// Faults of the clock that the agent sees.
        clock_faults: Vec<ClockFault> = Vec::new(),
        /// Faults of the network: connections to services and to the model, and names.
        network_faults: Vec<NetworkFault> = Vec::new(),
        /// Texts that try to mislead the agent: a list, or a map by their types.
        context_attacks: ContextAttacks = ContextAttacks::none(),
        /// Makes a pass in which no fault fired `inconclusive`: it put nothing to the test. A failure stays a failure.
        require_fired: bool = false,
    }
}

section! {
    /// A named set of faults. It replaces `chaos`, and never adds to it; an entry without faults is a calm world to compare with.
    ///
    /// ```yaml
    /// chaos_matrix:
    ///   - name: calm
    ///   - name: search-tool-down
    ///     tool_faults: [{ tool: search, mode: error, error_code: 503 }]
    /// ```
    pub struct ChaosCellName {
        /// The name, which ids of scenarios begin with.
        name: ChaosName,
        /// What breaks, for people.
        description: String = String::new(),
    }
}

/// One entry of `chaos_matrix`: a named set of faults.
pub type ChaosCell = Joined<ChaosCellName, Chaos>;

impl Chaos {
    /// A world in which nothing breaks.
    #[must_use]
    pub fn none() -> Self {
        Self {
            profile: None,
            tool_faults: Vec::new(),
            llm_faults: Vec::new(),
            service_faults: Vec::new(),
            file_faults: Vec::new(),
            clock_faults: Vec::new(),
            network_faults: Vec::new(),
            context_attacks: ContextAttacks::none(),
            require_fired: false,
        }
    }

    /// Returns true if the cell has no fault.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.profile.is_none()
            && self.tool_faults.is_empty()
            && self.llm_faults.is_empty()
            && self.service_faults.is_empty()
            && self.file_faults.is_empty()
            && self.clock_faults.is_empty()
            && self.network_faults.is_empty()
            && self.context_attacks.is_empty()
    }

    /// Returns true if there is a fault that could fire: one that is not switched off.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        let attacks = self.context_attacks.enabled().next().is_some();
        attacks || !Self { context_attacks: ContextAttacks::none(), ..self.clone() }.is_none()
    }

    /// The same faults, with those of the profile written out.
    #[must_use]
    pub fn expanded(&self, model: Option<&Model>) -> Self {
        let mut chaos = self.clone();
        if let Some(profile) = chaos.profile.take() {
            let faults = profile.faults(model);
            chaos.tool_faults.extend(faults.tool_faults);
            chaos.llm_faults.extend(faults.llm_faults);
            chaos.service_faults.extend(faults.service_faults);
            chaos.file_faults.extend(faults.file_faults);
            chaos.clock_faults.extend(faults.clock_faults);
            chaos.network_faults.extend(faults.network_faults);
            chaos.context_attacks.extend(faults.context_attacks);
        }
        chaos
    }
}
