//! Rules over an agent's tool calls, pure: no clock, no I/O, no chance, and one mutation.
//!
//! [`compile`](fn@compile) reads the files of a set, or returns everything that is wrong with them. [`precheck`](fn@precheck), [`narrow`](fn@narrow) and
//! [`decide`](fn@decide) look at a [`SessionState`] and change nothing; [`apply`](fn@apply) is the only thing that does, one [`Event`] after
//! the other. The same functions judge a recorded trace afterwards and govern a live session.
//!
//! Two principles settle almost every question. Inside a batch restrictions accumulate and permissions do not. And a
//! call that may or may not have happened counts against later calls, never for them.

mod apply;
mod call;
pub mod canonical;
pub mod code;
mod compile;
mod correlate;
mod decide;
mod diagnostic;
mod finding;
pub mod golden;
mod hold;
mod invariant;
pub mod json_path;
mod live;
mod narrow;
mod offline;
pub mod options;
mod picture;
mod precheck;
mod provider;
mod read;
mod reader;
mod reason;
pub mod record;
pub mod redaction;
pub mod remote;
mod retries;
mod rule_place;
pub mod scaffold;
mod script;
mod state;
mod state_question;
mod step;
mod template;
pub mod value;
mod vectors;
mod workflow;

pub use apply::{Event, StepCall, apply};
pub use call::{Batch, Call, Exchange, ModelRequest, Outcome, Provenance};
pub use code::{Class, Code};
pub use compile::workflow::{CompiledWorkflow, compile_workflow};
pub use compile::{CompileError, Compiled, RawFile, RawSet, compile};
pub use correlate::{Correlator, Pairing};
pub use decide::per_tool::response_format::response_codes;
pub use decide::{Decision, HoldSpec, Layer, Reason, Verdict, decide, decide_without_approval};
pub use diagnostic::{Diagnostic, Place};
pub use finding::Finding;
pub use hold::{Resolution, resolve_hold};
pub use live::{
    Divergence, Execution, ExecutionSeen, ExecutionStage, ExecutionToJudge, Judged, LiveSession, Log, LogReport,
    LoggedFinding, ModelRequestSeen, Now, OfferedTool, ProposedCall, Redact, Released, Replayed, RequestDecision,
    SessionOpening, Step, ToolResultSeen, Via, replay_log, report_of_log,
};
pub use narrow::{Removed, narrow};
pub use offline::{JudgedCall, Sighting, TraceEntry, TraceFinding, TraceReport, judge_trace};
pub use options::CompileOptions;
pub use picture::{mermaid, svg};
pub use precheck::{Precheck, precheck};
pub use retries::{TimedCall, retry_findings};
pub use script::{Condition, NoCondition, Script, ScriptedDecision, ScriptedRule};
pub use state::{SessionState, Status};
pub use state_question::{AskedKind, AskedService, Question, StateAnswer, StateQuestion, state_questions};
pub use step::{judge_step, release_step};
pub use vectors::{VectorError, VectorResult, run_vectors};
pub use workflow::{
    Interval, KillActor, KillScope, WorkflowCall, WorkflowDecision, WorkflowEvent, WorkflowState, inherit_labels,
    overlaps, wf_apply, wf_budgets, wf_decide, wf_precheck,
};
