//! The life of one call: found, faulted, checked, carried out, written down, answered.

use std::sync::Arc;
use std::time::Duration;

use scenario::evidence::{FaultMark, ToolRefusal};
use scenario::spec::sections::ToolMode;
use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::call_log::EndedCall;
use super::catalogue::{Found, OfferedTool, ToolKind};
use super::faulted::{self, Prevented};
use super::protocol::{RpcError, notification};
use super::result::ToolResult;
use crate::contract_session::ContractSession;
use crate::faults::{Decision, Fault};
use crate::http_mock::Answer;

/// Keys of `_meta` under which clients say which call of the model they carry out.
const CALL_IDS: [&str; 3] = ["tool_call_id", "claudecode/toolUseId", "toolCallId"];

/// Number of notifications of progress that wait to be passed on; more are left out.
pub(super) const WAITING_PROGRESS: usize = 64;

/// A call as it came.
#[derive(Debug)]
pub(super) struct ToolCall {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) arguments: Map<String, Json>,
    /// The model's id of the call.
    pub(super) id: Option<String>,
    /// Receiver of progress.
    pub(super) progress: Option<ProgressTo>,
    /// Cancelled when the client wants no answer any more.
    pub(super) cancelled: CancellationToken,
    /// The session of a workflow that it belongs to, where the request names one.
    pub(super) contracts: Option<Arc<ContractSession>>,
}

/// Receiver of notifications of progress.
#[derive(Debug, Clone)]
pub(super) struct ProgressTo {
    /// The client's token.
    pub(super) token: Json,
    /// The stream of the answer.
    pub(super) stream: mpsc::Sender<Json>,
}

/// Result of a call.
#[derive(Debug)]
pub(super) struct Called {
    /// The result, or the error.
    pub(super) outcome: Result<Json, RpcError>,
    /// The answer of HTTP that a fault gives in place of it.
    pub(super) instead: Option<Answer>,
    /// A fault of the answer on its way.
    pub(super) on_wire: Option<Fault<ToolMode>>,
    /// Delay of the answer.
    pub(super) delay: Duration,
    /// True when the session is lost.
    pub(super) loses_session: bool,
}

/// End of a call, before it is answered.
struct Ended {
    outcome: Result<ToolResult, RpcError>,
    refused: Option<ToolRefusal>,
    fault: Option<FaultMark>,
    instead: Option<Answer>,
    on_wire: Option<Fault<ToolMode>>,
    server: Option<String>,
    loses_session: bool,
    lost: bool,
}

impl ProgressTo {
    /// Notifies the client of a call's progress. A notification that a slow client does not take is dropped.
    pub(super) fn tell(&self, mut progress: Json) {
        progress["progressToken"] = self.token.clone();
        let _ = self.stream.try_send(notification("notifications/progress", progress));
    }
}

impl ToolCall {
    /// Reads the parameters of `tools/call`.
    pub(super) fn read(
        params: &Json,
        progress: Option<ProgressTo>,
        cancelled: CancellationToken,
    ) -> Result<Self, RpcError> {
        let tool = params["name"].as_str().ok_or_else(|| RpcError::params("`name` is missing"))?.to_owned();
        let arguments = match &params["arguments"] {
            Json::Null => Map::new(),
            Json::Object(arguments) => arguments.clone(),
            _ => return Err(RpcError::params("`arguments` is no object")),
        };
        let id = CALL_IDS.iter().find_map(|key| params["_meta"][key].as_str()).map(str::to_owned);
        Ok(Self { tool, arguments, id, progress, cancelled, contracts: None })
    }
}

impl Ended {
    fn with(result: ToolResult) -> Self {
        Self {
            outcome: Ok(result),
            refused: None,
            fault: None,
            instead: None,
            on_wire: None,
            server: None,
            loses_session: false,
            lost: false,
        }
    }

    fn refused(why: ToolRefusal, outcome: Result<ToolResult, RpcError>) -> Self {
        Self { refused: Some(why), ..Self::with(ToolResult::empty()) }.with_outcome(outcome)
    }

    fn with_outcome(self, outcome: Result<ToolResult, RpcError>) -> Self {
        Self { outcome, ..self }
    }
}

impl Inner {
    /// Carries a call out, and records it before its result is used.
    pub(super) async fn call(self: Arc<Self>, call: ToolCall) -> Called {
        let (at_ms, began) = (self.clock.elapsed_ms(), Instant::now());
        let ended = match self.limits.count() {
            Ok(()) => self.decided(&call).await,
            Err(fired) => {
                let message = format!("the limit `{}` of this scenario fired: {}", fired.limit, fired.detail);
                (Ended::refused(ToolRefusal::Limit, Ok(ToolResult::error(message))), Duration::ZERO)
            }
        };
        let (ended, delay) = ended;
        self.log.add(&EndedCall {
            at_ms,
            duration_ms: u64::try_from((began.elapsed() + delay).as_millis()).unwrap_or(u64::MAX),
            id: call.id,
            tool: &call.tool,
            arguments: &Json::Object(call.arguments),
            server: ended.server,
            result: ended.outcome.as_ref().ok().filter(|_| ended.instead.is_none()),
            error: ended.outcome.as_ref().err(),
            refused: ended.refused,
            fault: ended.fault,
            lost: ended.lost,
        });
        Called {
            outcome: ended.outcome.map(|result| result.to_json()),
            instead: ended.instead,
            on_wire: ended.on_wire,
            delay,
            loses_session: ended.loses_session,
        }
    }

    /// Finds the tool, and asks the fault engine about the call.
    async fn decided(&self, call: &ToolCall) -> (Ended, Duration) {
        let unknown = |why| Ended::refused(why, Err(unknown_tool(&call.tool)));
        let at_once = |ended| (ended, Duration::ZERO);
        let tool = match self.catalogue.find(&call.tool) {
            Found::Offered(_) if self.faulted.has_vanished(&call.tool) => {
                return at_once(unknown(ToolRefusal::Unknown));
            }
            Found::Offered(tool) => tool,
            Found::Hidden => return at_once(unknown(ToolRefusal::Hidden)),
            Found::Unknown => return at_once(unknown(ToolRefusal::Unknown)),
            Found::Changed => {
                let message = format!(
                    "the tool `{}` is refused: its definition is no longer the one that was offered first",
                    call.tool
                );
                return at_once(Ended::refused(ToolRefusal::DefinitionChanged, Ok(ToolResult::error(message))));
            }
        };
        let permitted = match self.permit(call).await {
            Ok(permitted) => permitted,
            Err(refusal) => return at_once(Ended::refused(ToolRefusal::Contract, Ok(refusal))),
        };
        let decision = self.decide(&call.tool).await;
        let delay = decision.delay;
        let ended = match &decision.fault {
            Some(fault) if !fault.mark.reached => self.prevented(fault, call),
            _ => self.reached(&tool, call, &decision).await,
        };
        let is_lost = ended.lost || ended.instead.is_some();
        let error = ended.outcome.as_ref().err().map(|error| error.message.as_str());
        permitted.complete(ended.outcome.as_ref().ok(), error, is_lost);
        (ended, delay)
    }

    async fn decide(&self, tool: &str) -> Decision<ToolMode> {
        let Some(faults) = &self.faults else { return Decision::none() };
        faults.before_tool_call(tool).await;
        faults.tool_call(tool)
    }

    /// Returns the end that a fault gives in place of the tool.
    fn prevented(&self, fault: &Fault<ToolMode>, call: &ToolCall) -> Ended {
        let ended = Ended { fault: Some(fault.mark.clone()), ..Ended::with(ToolResult::empty()) };
        match faulted::instead(fault) {
            Prevented::Result(result) => ended.with_outcome(Ok(result)),
            Prevented::Http(answer) => Ended { lost: answer.is_silent(), instead: Some(answer), ..ended },
            Prevented::SessionLost => Ended { loses_session: true, lost: true, ..ended },
            Prevented::Unknown => {
                self.faulted.vanish(&call.tool);
                self.catalogue.note_injected(&call.tool, None, self.clock.elapsed_ms());
                ended.with_outcome(Err(unknown_tool(&call.tool)))
            }
        }
    }

    /// Carries the call out, and its fault on the result.
    async fn reached(&self, tool: &OfferedTool, call: &ToolCall, decision: &Decision<ToolMode>) -> Ended {
        if let Some(problem) = tool.arguments.as_ref().and_then(|schema| schema.problem_of(&json!(call.arguments))) {
            let message = format!("the arguments of `{}` do not meet its schema: {problem}", call.tool);
            if let Some(fault) = &decision.fault {
                self.take_back(fault);
            }
            let refused = Ended::refused(ToolRefusal::InvalidArguments, Ok(ToolResult::error(message)));
            return Ended { fault: decision.slowed.clone(), ..refused };
        }
        let outcome = self.carried_out(tool, call, decision).await;
        if let (Some(_), None, Ok(result)) = (&self.faults, &decision.fault, &outcome) {
            self.faulted.remember(&call.tool, result);
        }
        let ended =
            Ended { fault: decision.slowed.clone(), server: server_of(tool), ..Ended::with(ToolResult::empty()) };
        let ended = self.faulted(ended.with_outcome(outcome), &call.tool, decision.fault.as_ref());
        self.attacked(ended, &call.tool)
    }

    /// Applies a fault to the result of a call.
    fn faulted(&self, mut ended: Ended, tool: &str, fault: Option<&Fault<ToolMode>>) -> Ended {
        let Some(fault) = fault else { return ended };
        let applied = match &ended.outcome {
            _ if faulted::is_on_wire(&fault.mode) => faulted::Applied::OnWire,
            Ok(result) => self.faulted.applied(fault, tool, result),
            Err(_) => faulted::Applied::WithoutEffect,
        };
        match applied {
            faulted::Applied::Result(result) => ended.outcome = Ok(result),
            faulted::Applied::OnWire => {
                ended.lost = matches!(fault.mode, ToolMode::LostResponse(_));
                ended.on_wire = Some(fault.clone());
            }
            faulted::Applied::WithoutEffect => {
                self.take_back(fault);
                return ended;
            }
        }
        ended.fault = Some(fault.mark.clone());
        ended
    }

    fn take_back<Mode>(&self, fault: &Fault<Mode>) {
        if let Some(faults) = &self.faults {
            faults.take_back(fault);
        }
    }

    /// Carries the call out within its time, unless the client cancels it or the agent ends.
    async fn carried_out(
        &self,
        tool: &OfferedTool,
        call: &ToolCall,
        decision: &Decision<ToolMode>,
    ) -> Result<ToolResult, RpcError> {
        let seconds = tool.timeout.as_secs_f64();
        let too_late = || Ok(ToolResult::error(format!("the tool `{}` did not answer within {seconds} s", call.tool)));
        // A fault that makes the tool slow does not count against its own time.
        let work = async {
            let answering = timeout(tool.timeout, self.answered(tool, call));
            let (answered, ()) = tokio::join!(answering, faulted::slow_progress(decision, call));
            answered.unwrap_or_else(|_| too_late())
        };
        tokio::select! {
            answered = work => answered,
            () = call.cancelled.cancelled() => Err(RpcError::cancelled()),
            () = self.ended.cancelled() => Err(RpcError::internal("the scenario has ended")),
        }
    }

    async fn answered(&self, tool: &OfferedTool, call: &ToolCall) -> Result<ToolResult, RpcError> {
        if let Some(recording) = &self.recording {
            return recording.answer(&call.tool, &call.arguments);
        }
        match &tool.kind {
            ToolKind::Operation(operation) => Ok(operation.call(&call.arguments).await),
            ToolKind::Mock(mock) => {
                let (result, delay) = mock.answer(&call.tool, &call.arguments);
                // Sleeping for no time still waits for the next millisecond.
                if !delay.is_zero() {
                    sleep(delay).await;
                }
                Ok(result)
            }
            ToolKind::Server(server, own_name) => self.asked(server, own_name, call).await,
            ToolKind::Recorded => Err(RpcError::internal("there is no recording")),
        }
    }

    /// Calls the tool at its server.
    async fn asked(
        &self,
        server: &super::server::McpServer,
        own_name: &str,
        call: &ToolCall,
    ) -> Result<ToolResult, RpcError> {
        let params = json!({"name": own_name, "arguments": call.arguments});
        let answer = match &call.progress {
            Some(to) => {
                let (told, heard) = mpsc::channel(WAITING_PROGRESS);
                // The question drops its end with the answer, so that all progress before it is passed on.
                tokio::join!(server.request("tools/call", params, Some(told)), relay(heard, to)).0
            }
            None => server.request("tools/call", params, None).await,
        };
        match answer {
            Ok(result) if result.is_object() => Ok(ToolResult::of_server(result)),
            Ok(_) => {
                Ok(ToolResult::error(format!("the MCP server `{}` answered with no result", server.declared.server)))
            }
            Err(failure) if failure.is_refusal() => Err(failure.to_rpc()),
            // A dead server is an answer that the model can read.
            Err(failure) => Ok(ToolResult::error(failure.to_string())),
        }
    }

    /// The result with the text of an attack in it, where one is due and the agent gets it.
    fn attacked(&self, ended: Ended, tool: &str) -> Ended {
        let (Some(faults), Ok(result), false) = (&self.faults, &ended.outcome, ended.lost) else { return ended };
        let Some(attack) = faults.tool_attack(tool) else { return ended };
        match faulted::attacked(&attack, result) {
            Some(attacked) => {
                let fault = ended.fault.clone().or_else(|| Some(attack.mark.clone()));
                Ended { fault, ..ended }.with_outcome(Ok(attacked))
            }
            None => {
                faults.take_back(&attack);
                ended
            }
        }
    }
}

fn unknown_tool(name: &str) -> RpcError {
    RpcError::params(format!("unknown tool: {}", scenario::untrusted::line(name, 100)))
}

fn server_of(tool: &OfferedTool) -> Option<String> {
    match &tool.kind {
        ToolKind::Server(server, _) => Some(server.declared.server.to_string()),
        ToolKind::Operation(_) | ToolKind::Mock(_) | ToolKind::Recorded => None,
    }
}

/// Passes progress on, with the client's token, until there is no more.
async fn relay(mut heard: mpsc::Receiver<Json>, to: &ProgressTo) {
    while let Some(progress) = heard.recv().await {
        to.tell(progress);
    }
}
