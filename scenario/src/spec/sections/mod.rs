//! The sections of the language, one file each: the type, its defaults and its text in the reference.
//!
//! To add a section: write its file with `section!`, add its field to [`super::Spec`], its rules to
//! `validate/`, and run `scripts/generate`.

mod agent;
mod audit;
pub mod chaos;
mod contract;
mod determinism;
mod fixture;
mod forbidden;
mod invariant;
mod mock;
mod model;
mod mutations;
mod network;
mod parallelism;
mod replays;
mod replicas;
mod resources;
mod scoring;
mod secret;
mod service;
mod setup;
mod task;
mod tool_contracts;
mod tools;

pub use agent::{
    Agent, AgentCommon, AgentKind, BackendName, Cli, Http, Image, Noop, Oracle, Paragon, Reset, ResetBy, Snapshot,
    Stdin,
};
pub use audit::Audit;
pub use chaos::{
    ArgumentDamage, Chaos, ChaosCell, ChaosCellName, ClockFaultMode, Direction, DnsAnswer, DriftType, FileFaultMode,
    LlmFault, LlmMode, NetworkFault, NetworkMode, Profile, ServiceFault, ServiceMode, ServiceTarget, StatementKind,
    ToolFault, ToolMode, ToolTarget, Trigger, WrongData,
};
pub use contract::{Contract, ContractInvariant, ContractRule, Isolation, NestedCheck, When};
pub use determinism::{Clock, Determinism, Dns};
pub use fixture::{Directory, Drift, DriftMode, Fixture, GitRepo, SqlFixture};
pub use forbidden::{Deny, FileWrites, FileWritesOutside, Forbidden};
pub use invariant::{Guards, Invariant, Severity};
pub use mock::{BodyMatcher, HttpMock, MockResponse, Route, RoutePath, SequenceEnd};
pub use model::{
    Advance, Exhausted, Matching, Model, ModelLimits, ModelMode, Provider, ToolCall, Turn, TurnMatch, Upstream, Variant,
};
pub use mutations::{MutationKind, Mutations};
pub use network::{Egress, Ingress, IngressRule, IngressSource, Network, Policy};
pub(crate) use parallelism::MOST_CELLS;
pub use parallelism::{Matrix, Parallelism, Parameters};
pub use replays::{ReplayEntry, ReplayMatching, ReplayModel, session_name};
pub use replicas::{Replicas, StopWhen, UntilDecided};
pub use resources::Resources;
pub use scoring::{GateRule, MinPassRate, OverallWeights, ReplicaAggregation, Scoring, ShownPassRate};
pub use secret::{EnvScope, FileScope, Secret, SecretEntry, SecretFrom, SecretScope, SecretSource};
pub use service::{Container, Database, Service, ServiceCommon, ServiceKind};
pub use setup::{Setup, SetupFile};
pub use task::{SpecCheat, Task};
pub use tool_contracts::{
    ApprovalClock, ApprovalDecision, ApprovalRule, ApprovalSettings, Approver, ArgumentKind, BlockResponse,
    BodyArguments, CallWay, CompiledContracts, ContractsMode, GateMode, GovernedTool, NarrowingFeedback, PauseScope,
    RequestArguments, RequestMatch, StepSource, ToolContracts,
};
pub use tools::{
    ArgumentPlace, DeclaredTool, HttpTool, MockRule, PathPiece, ServerUrl, Tool, ToolAnnotations, ToolLimits, ToolMock,
    ToolPath, ToolServer, ToolSettings, Tools, UnknownCall,
};
