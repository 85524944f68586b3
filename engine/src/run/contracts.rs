//! The session under tool contracts: compiled for this attempt, and given to every gateway that sees calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gateways::Gateway;
use gateways::approvals::Approvals;
use gateways::clock::Clock;
use gateways::contract_session::{
    ContractSession, ContractSettings, ContractWorkflow, HttpRoute, OperatedSessions, ServiceGovernor, SessionApprover,
    Sessions,
};
use gateways::redact::Redactor;
use jiff::Timestamp;
use scenario::evidence::ContractMode;
use scenario::plan::Values;
use scenario::spec::Spec;
use scenario::spec::sections::{
    ApprovalClock, ApprovalDecision, ApprovalSettings, Approver, CallWay, CompiledContracts, ContractsMode,
    GovernedTool, HttpTool, RequestMatch, StepSource, ToolContracts,
};
use tool_contracts::{Compiled, Condition, Script, ScriptedRule};

use super::world_state::SandboxReader;
use crate::attempt::Attempt;
use crate::entropy;
use crate::error::EngineError;

/// The session of one attempt, and the governors of its services.
#[derive(Debug)]
pub(crate) struct Contracts {
    /// The session; the root of the workflow, where there is one.
    pub(crate) session: Arc<ContractSession>,
    /// The workflow of all sessions, where the contracts have one.
    pub(crate) workflow: Option<Arc<ContractWorkflow>>,
    /// The governors, by service.
    pub(crate) governors: BTreeMap<String, Arc<ServiceGovernor>>,
    /// Answers what rules ask about the world, once it is opened.
    pub(crate) reader: Arc<SandboxReader>,
    /// The mark of requests whose calls were decided on.
    pub(crate) mark: String,
    /// The place where operators intervene.
    place: Option<Arc<dyn Approvals>>,
}

impl Contracts {
    /// Opens the session, where the spec has contracts.
    pub(crate) fn open(
        attempt: &Attempt<'_>,
        clock: &Arc<Clock>,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<Option<Self>, EngineError> {
        let Some(contracts) = &attempt.spec.tool_contracts else { return Ok(None) };
        let values = attempt.values();
        let reader = Arc::new(SandboxReader::default());
        let compiled = compiled(attempt.spec, contracts, &values)?;
        let settings = |contracts_of_session: Arc<Compiled>| ContractSettings {
            session: attempt.scenario.id.to_string(),
            role: None,
            contracts: contracts_of_session,
            mode: match contracts.mode {
                ContractsMode::Record => ContractMode::Record,
                ContractsMode::Observe => ContractMode::Observe,
                ContractsMode::Govern => ContractMode::Govern,
            },
            sees_model: match contracts.step_source {
                Some(StepSource::Llm) => true,
                Some(StepSource::ToolCall) => false,
                None => attempt.spec.model.is_some(),
            },
            feedback: contracts.narrowing_feedback,
            max_retries: contracts.max_retries.count() as u64,
            approver: approver(attempt, &contracts.approvals),
            pause_scope: contracts.approvals.pause_scope,
            hold_wait: contracts.approvals.hold_wait.get(),
            world: Some(Arc::<SandboxReader>::clone(&reader)),
            clock: Arc::clone(clock),
            started_at: now,
            redactor: redactor.at("tool contracts"),
        };
        let (session, workflow) = match compiled {
            CompiledContracts::Session(set) => (Arc::new(ContractSession::open(settings(Arc::new(*set)))), None),
            CompiledContracts::Workflow(workflow) => {
                let root = workflow.clone().into_root().ok_or_else(no_role)?;
                let workflow = ContractWorkflow::open(*workflow, settings(Arc::new(root))).ok_or_else(no_role)?;
                (workflow.root(), Some(workflow))
            }
        };
        let mark = entropy::hex(16);
        let governors = governors(attempt.spec, contracts, &session, &mark);
        Ok(Some(Self { session, workflow, governors, reader, mark, place: attempt.approvals.cloned() }))
    }

    /// The gateway that begins, ends and records the sessions, and lets operators intervene.
    pub(crate) fn gateway(&self) -> Arc<dyn Gateway> {
        let sessions = match &self.workflow {
            Some(workflow) => Sessions::Workflow(Arc::clone(workflow)),
            None => Sessions::One(Arc::clone(&self.session)),
        };
        Arc::new(OperatedSessions::new(sessions, self.place.clone()))
    }

    /// The reason why approvals could not be asked for.
    pub(crate) fn failure(&self) -> Option<String> {
        self.workflow.as_ref().map_or_else(|| self.session.failure(), |workflow| workflow.failure())
    }

    /// Registers a token of the sandbox for the root session.
    pub(crate) fn add_root_token(&self, token: &str) {
        if let Some(workflow) = &self.workflow {
            workflow.add_root_token(token);
        }
    }
}

fn compiled(spec: &Spec, contracts: &ToolContracts, values: &Values<'_>) -> Result<CompiledContracts, EngineError> {
    let options = spec.contract_options(contracts, contracts.principal(values), values);
    let (compiled, _) = contracts.compile(&options).map_err(|error| wrong(error.to_string()))?;
    Ok(compiled)
}

fn no_role() -> EngineError {
    wrong("the workflow has no role".to_owned())
}

fn wrong(reason: String) -> EngineError {
    EngineError::WrongSpec { place: "tool_contracts".to_owned(), reason }
}

fn approver(attempt: &Attempt<'_>, approvals: &ApprovalSettings) -> SessionApprover {
    let is_virtual = approvals.clock == ApprovalClock::Virtual;
    let scripted = |rules, default| SessionApprover::Scripted { script: Script { rules, default }, is_virtual };
    match approvals.approver {
        Approver::Human => SessionApprover::Human(attempt.approvals.cloned()),
        Approver::AutoApprove => scripted(Vec::new(), Some(true)),
        Approver::AutoDeny => scripted(Vec::new(), Some(false)),
        Approver::Never => scripted(Vec::new(), None),
        Approver::Scripted => {
            let approves = |decision: ApprovalDecision| decision == ApprovalDecision::Approve;
            let rule = |rule: &scenario::spec::sections::ApprovalRule| ScriptedRule {
                tool: rule.tool.as_ref().map(ToString::to_string),
                // The validator lets no other condition through.
                conditions: rule.when.iter().filter_map(|when| Condition::read(&when.to_json()).ok()).collect(),
                approves: approves(rule.decision),
                after_seconds: rule.after_seconds.count() as u64,
            };
            scripted(approvals.rules.iter().map(rule).collect(), approvals.default.map(approves))
        }
    }
}

/// A governor for each service whose requests are calls.
fn governors(
    spec: &Spec,
    contracts: &ToolContracts,
    session: &Arc<ContractSession>,
    mark: &str,
) -> BTreeMap<String, Arc<ServiceGovernor>> {
    let names: BTreeSet<String> = spec.governed_services().into_iter().collect();
    let governor = |name: String| {
        let routes = routes(spec, contracts, &name);
        let refusal = contracts.block_responses.iter().find(|(service, _)| service.as_str() == name);
        let refusal = refusal.map(|(_, refusal)| refusal.clone());
        let governor = ServiceGovernor::new(Arc::clone(session), &name, routes, refusal, mark);
        (name, Arc::new(governor))
    };
    names.into_iter().map(governor).collect()
}

/// The routes of a service: those that the contracts name, and the operations of tools.
fn routes(spec: &Spec, contracts: &ToolContracts, service: &str) -> Vec<HttpRoute> {
    let own = contracts.tools.iter().filter(|tool| tool.via == CallWay::Http);
    let own = own.filter(|tool| tool.service.as_ref().is_some_and(|name| name.as_str() == service));
    let own = own.filter_map(|tool| Some(HttpRoute { tool: tool.clone(), matches: tool.matches.clone()? }));
    let operations = spec.tools.declared().filter_map(|tool| Some((tool, tool.http.as_ref()?)));
    let operations = operations
        .filter(|(_, http)| http.service.as_str() == service)
        .map(|(tool, http)| HttpRoute { tool: GovernedTool::request(tool.name.clone()), matches: matches(http) });
    own.chain(operations).collect()
}

fn matches(http: &HttpTool) -> RequestMatch {
    RequestMatch { method: http.method.clone(), path: http.path.clone() }
}
