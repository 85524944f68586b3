//! `tool_contracts`: rules over the agent's tool calls, applied while it acts.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use tool_contracts::options::{Fallback, Mode, Principal, ResponseGate, RunOptions};
use tool_contracts::{
    AskedService, CompileError, CompileOptions, Compiled, CompiledWorkflow, Diagnostic, compile, compile_workflow,
};

use super::ToolPath;
use crate::checks::{ContractFolder, Unmatched};
use crate::spec::section::{by_default, choice, section};
use crate::spec::template::{Bindings, Text};
use crate::spec::types::{
    ArgumentName, BundlePath, EnvName, Method, ServiceName, Table, Timespan, ToolName, Value, Whole,
};

section! {
    /// Rules over the agent's tool calls (`docs/tool-contracts.md`), applied while it acts: the model gateway narrows the tools
    /// that are offered and decides on proposals, the tool gateway and governed services decide on executions.
    ///
    /// The check `tool_contract` with the same folder gives the verdict. With `mode: govern`, a call that breaks a rule is never
    /// carried out; with `observe`, decisions are written down only.
    ///
    /// ```yaml
    /// tool_contracts:
    ///   dir: rules
    ///   mode: govern
    ///   principal: { department: support }
    ///   approvals: { approver: scripted, rules: [{ tool: refund_order, decision: approve, after_seconds: 5 }] }
    /// ```
    pub struct ToolContracts {
        /// The folder with `session.yaml` and a file for each tool, beside the spec.
        dir: ContractFolder,
        /// The workflow file in that folder, for several sessions with roles.
        workflow: Option<BundlePath>,
        /// The way in which decisions take effect.
        mode: ContractsMode = ContractsMode::Observe,
        /// The treatment of a response of the model with blocked calls.
        gate: GateMode = GateMode::RejectAll,
        /// The decision on calls of tools without a contract.
        unmatched: Unmatched = Unmatched::Block,
        /// The decision on a call when the evaluation itself fails.
        on_error: Unmatched = Unmatched::Block,
        /// With `on_error: allow`, the number of calls that may pass without a decision before the session is killed.
        max_unguarded_calls: Whole<0, 1_000_000> = Whole::new(3),
        /// The number of times that the model is asked again after a block, with the reasons, before the agent gets an error.
        max_retries: Whole<0, 5> = Whole::new(0),
        /// The way in which the agent is told about tools that the model is not shown.
        narrowing_feedback: NarrowingFeedback = NarrowingFeedback::Silent,
        /// The one on whose behalf the agent acts, which policies are about. It is in no record.
        principal: Option<Value>,
        /// The values of `equals_env`. The environment of the server is never used.
        env: Table<EnvName, Text> = Table::default(),
        /// Rules over the whole session, beside those of `session.yaml` (`docs/tool-contracts.md`).
        rules: Vec<Value> = Vec::new(),
        /// Accepts results of high-risk tools that only the agent reports.
        trust_self_reported: bool = false,
        /// The unit of a step; without it, responses of the model where the spec has a `model`.
        step_source: Option<StepSource>,
        /// Routes of services that are tools, and details of other tools. A request to such a service that matches no route is the
        /// tool `http:SERVICE:METHOD /path`.
        tools: Vec<GovernedTool> = Vec::new(),
        /// The answers of services to refused requests, by service. Without one: status 403 with the reason as JSON.
        block_responses: Table<ServiceName, BlockResponse> = Table::default(),
        /// The approval of held calls.
        approvals: ApprovalSettings = by_default(),
    }
}

section! {
    /// A tool, and the way on which its executions are seen.
    pub struct GovernedTool {
        /// The tool, as its contract names it.
        tool: ToolName,
        /// The way on which its executions are seen.
        via: CallWay = CallWay::Mcp,
        /// For `via: http`, the service.
        service: Option<ServiceName>,
        /// For `via: mcp`, the server in `tools`.
        server: Option<ServiceName>,
        /// For `via: http`, the requests that are calls of it.
        matches as "match": Option<RequestMatch>,
        /// For `via: http`, the parts of a request that are its arguments.
        args: RequestArguments = by_default(),
        /// For `via: http`, the types of arguments of path and query, which are texts otherwise.
        types: Table<ArgumentName, ArgumentKind> = Table::default(),
    }
}

section! {
    /// The requests that are calls of a tool.
    pub struct RequestMatch {
        /// The method.
        method: Method = Method::get(),
        /// The path, with arguments in braces: `/refunds/{order_id}`.
        path: ToolPath,
    }
}

section! {
    /// The parts of a request that are the arguments of a call. The same name in several parts: the path counts first, then the
    /// query, then the body.
    pub struct RequestArguments {
        /// Takes the arguments in the path.
        path: bool = true,
        /// Takes the parameters of the query.
        query: bool = true,
        /// Takes the fields of the body.
        body: BodyArguments = BodyArguments::Json,
    }
}

section! {
    /// The answer to a refused request.
    pub struct BlockResponse {
        /// The status.
        status: Whole<400, 599> = Whole::new(403),
        /// The body: a text as it is, anything else as JSON.
        body: Option<Json>,
    }
}

section! {
    /// The approval of calls that checkpoints hold.
    pub struct ApprovalSettings {
        /// The one who decides.
        approver: Approver = Approver::Human,
        /// The clock of deadlines. With `virtual`, waiting takes no time: a scripted decision comes at once, and so does a deadline.
        /// People always have the real clock.
        clock: ApprovalClock = ApprovalClock::Virtual,
        /// The decision of a script on calls that none of its rules is about; without it, the deadline passes.
        default: Option<ApprovalDecision>,
        /// The rules of a script; the first that is about the call decides.
        rules: Vec<ApprovalRule> = Vec::new(),
        /// The calls that wait while one is held. With `call`, others of the session go on meanwhile, and the held one is judged by
        /// the state that they left.
        pause_scope: PauseScope = PauseScope::Session,
        /// The time for which the request of an execution stays open; after it, the agent is told that the approval is pending, and
        /// the same call again waits for the same decision.
        hold_wait: Timespan = Timespan::from_secs(45),
    }
}

section! {
    /// A rule of a scripted approver.
    pub struct ApprovalRule {
        /// The tool; any without it.
        tool: Option<ToolName>,
        /// Conditions on the arguments, all of which must hold.
        when: Vec<Value> = Vec::new(),
        /// The decision.
        decision: ApprovalDecision,
        /// The time that it takes. A decision after the deadline comes too late.
        after_seconds: Whole<0, 31_536_000> = Whole::new(0),
    }
}

choice! {
    /// The way in which decisions take effect.
    pub enum ContractsMode {
        /// Calls are written down, and nothing is decided.
        Record = "record",
        /// Decisions are computed and written down, and nothing is refused.
        Observe = "observe",
        /// Decisions are applied.
        Govern = "govern",
    }
}

choice! {
    /// The treatment of a response with blocked calls.
    pub enum GateMode {
        /// Nothing of it reaches the agent, which gets an error.
        RejectAll = "reject_all",
        /// Blocked calls are taken out. A response without any other call becomes an error.
        StripPartial = "strip_partial",
        /// Blocked calls are taken out. A response without any other call becomes a text that says so.
        StripBlocked = "strip_blocked",
    }
}

choice! {
    /// The way in which the agent is told about hidden tools.
    pub enum NarrowingFeedback {
        /// Not at all.
        Silent = "silent",
        /// In headers of the answer: `X-Contract-Narrowed` and `X-Contract-Decision`.
        Metadata = "metadata",
        /// In a system message to the model.
        Inject = "inject",
    }
}

choice! {
    /// The unit of a step.
    pub enum StepSource {
        /// A response of the model.
        Llm = "llm",
        /// A tool call.
        ToolCall = "tool_call",
    }
}

choice! {
    /// The way on which executions of a tool are seen.
    pub enum CallWay {
        /// The tool gateway carries it out.
        Mcp = "mcp",
        /// It is a request to a service.
        Http = "http",
        /// It happens inside the agent: only the proposal and the reported result are seen.
        Llm = "llm",
    }
}

choice! {
    /// The arguments in a body.
    pub enum BodyArguments {
        /// The fields of a JSON object. Another body gives `_raw_sha256`, `_bytes` and `_content_type`.
        Json = "json",
        /// None.
        None = "none",
    }
}

choice! {
    /// The type of an argument of a path or query.
    pub enum ArgumentKind {
        /// A text.
        String = "string",
        /// A number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
        /// `true` or `false`.
        Boolean = "boolean",
    }
}

choice! {
    /// The one who decides on held calls.
    pub enum Approver {
        /// A person: `touchstone approvals`, the page of approvals, or the API.
        Human = "human",
        /// Every call is approved.
        AutoApprove = "auto_approve",
        /// Every call is denied.
        AutoDeny = "auto_deny",
        /// Nobody decides, so that the deadline passes.
        Never = "never",
        /// Rules decide.
        Scripted = "scripted",
    }
}

choice! {
    /// The clock of deadlines.
    pub enum ApprovalClock {
        /// Waiting takes no time.
        Virtual = "virtual",
        /// Waiting takes the time that it says.
        Real = "real",
    }
}

choice! {
    /// The calls that wait while one is held.
    pub enum PauseScope {
        /// All of the session, in the order in which they came.
        Session = "session",
        /// Only the held one, with those of the same response.
        Call = "call",
    }
}

choice! {
    /// A decision on a held call.
    pub enum ApprovalDecision {
        /// The call may go on.
        Approve = "approve",
        /// It may not.
        Deny = "deny",
    }
}

/// Contracts that were compiled: for one session, or for the roles of a workflow.
#[derive(Debug, Clone)]
pub enum CompiledContracts {
    /// For one session.
    Session(Box<Compiled>),
    /// For the roles of a workflow.
    Workflow(Box<CompiledWorkflow>),
}

impl CompiledContracts {
    /// The services that rules ask about the state of the world.
    #[must_use]
    pub fn asked_services(&self) -> BTreeSet<AskedService<'_>> {
        match self {
            Self::Session(set) => set.asked_services(),
            Self::Workflow(workflow) => workflow.roles.values().flat_map(Compiled::asked_services).collect(),
        }
    }
}

impl ToolContracts {
    /// The options of a session, with templates replaced.
    #[must_use]
    pub fn run_options(&self, bindings: &dyn Bindings) -> RunOptions {
        RunOptions {
            mode: match self.mode {
                ContractsMode::Govern => Mode::Govern,
                ContractsMode::Record | ContractsMode::Observe => Mode::Observe,
            },
            gate: match self.gate {
                GateMode::RejectAll => ResponseGate::RejectAll,
                GateMode::StripPartial => ResponseGate::StripPartial,
                GateMode::StripBlocked => ResponseGate::StripBlocked,
            },
            unmatched: fallback(self.unmatched),
            on_error: fallback(self.on_error),
            max_unguarded_calls: self.max_unguarded_calls.count() as u64,
            env: self.env.iter().map(|(name, value)| (name.to_string(), value.render(bindings))).collect(),
            trust_self_reported: self.trust_self_reported,
        }
    }

    /// Compiles the contracts.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn compile(&self, options: &CompileOptions) -> Result<(CompiledContracts, Vec<Diagnostic>), CompileError> {
        match &self.workflow {
            Some(_) => compile_workflow(self.dir.set(), options)
                .map(|(workflow, warnings)| (CompiledContracts::Workflow(Box::new(workflow)), warnings)),
            None => compile(&self.dir.own_set(), options)
                .map(|(set, warnings)| (CompiledContracts::Session(Box::new(set)), warnings)),
        }
    }

    /// The one on whose behalf the agent acts, with templates replaced.
    #[must_use]
    pub fn principal(&self, bindings: &dyn Bindings) -> Principal {
        self.principal.as_ref().map_or(Principal::Missing, |given| Principal::Given(given.render(bindings).to_json()))
    }

    /// The services whose requests are calls.
    pub fn governed_services(&self) -> impl Iterator<Item = &ServiceName> {
        self.tools.iter().filter(|tool| tool.via == CallWay::Http).filter_map(|tool| tool.service.as_ref())
    }
}

impl GovernedTool {
    /// A tool that is requests to a service, with every part of them as arguments.
    #[must_use]
    pub fn request(tool: ToolName) -> Self {
        Self {
            tool,
            via: CallWay::Http,
            service: None,
            server: None,
            matches: None,
            args: by_default(),
            types: Table::default(),
        }
    }
}

fn fallback(unmatched: Unmatched) -> Fallback {
    match unmatched {
        Unmatched::Block => Fallback::Block,
        Unmatched::Allow => Fallback::Allow,
    }
}
