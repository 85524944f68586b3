//! Calls that the tool gateway carried out, and their place in the call trace.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::FaultMark;
use super::call_trace::CallTrace;
use super::tool_call::{ToolArguments, ToolCall, ToolCallSource};

/// The part of a call that only the tool gateway knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolExecution {
    /// The MCP server that carried it out; `None` for a tool that the spec declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The time from the request to its answer.
    pub duration_ms: u64,
    /// The structured result; `null` where there is none, or it is too large to be kept as a tree.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub structured: Json,
    /// The whole answer, as `{"result": …}` or `{"error": …}`; `null` unless answers are recorded.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub answer: Json,
    /// The fault that was injected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultMark>,
    /// The reason for which the gateway did not carry it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<ToolRefusal>,
    /// True when the agent got no answer.
    #[serde(skip_serializing_if = "super::is_false")]
    pub lost: bool,
}

/// The reason for which the tool gateway refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRefusal {
    /// There is no such tool.
    Unknown,
    /// The tool exists, and is not offered.
    Hidden,
    /// The arguments do not meet the schema.
    InvalidArguments,
    /// The definition is no longer the one that was offered first.
    DefinitionChanged,
    /// A limit fired.
    Limit,
    /// Tool contracts refuse it, or it is not approved yet.
    Contract,
}

impl fmt::Display for ToolRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unknown => "there is no such tool",
            Self::Hidden => "it is not offered",
            Self::InvalidArguments => "the arguments do not meet the schema",
            Self::DefinitionChanged => "its definition changed",
            Self::Limit => "a limit fired",
            Self::Contract => "tool contracts refuse it",
        })
    }
}

/// A call that the tool gateway carried out, before it has its place in the call trace.
#[derive(Debug, Clone)]
pub struct ExecutedCall {
    /// The time of the request, in milliseconds since the agent started.
    pub at_ms: u64,
    /// The model's id of the call, where the agent's client tells it.
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: ToolArguments,
    /// The text of the result.
    pub result: Option<String>,
    /// True when the result is marked as an error.
    pub is_error: bool,
    /// The rest.
    pub execution: ToolExecution,
}

impl CallTrace {
    /// The trace with calls that the tool gateway carried out, each at its time and linked to its proposal.
    ///
    /// A proposal is found by the id that the client tells; else it is the oldest one of the same tool with the same arguments
    /// that has no execution; else the oldest one of the same tool.
    #[must_use]
    pub fn with_executions(self, mut executions: Vec<ExecutedCall>) -> Self {
        executions.sort_by_key(|execution| execution.at_ms);
        let links = link(&self.0, &executions);
        let mut seen = self.0.into_iter().peekable();
        let mut merged: Vec<ToolCall> = Vec::new();
        // The places of calls that were there before, so that links to them can be renewed.
        let mut places: Vec<u64> = Vec::new();
        let keep = |merged: &mut Vec<ToolCall>, places: &mut Vec<u64>, call: ToolCall| {
            let seq = merged.len() as u64;
            places.push(seq);
            let proposal = call.proposal.and_then(|proposal| place(places, proposal));
            merged.push(ToolCall { seq, proposal, ..call });
        };
        for (executed, link) in executions.into_iter().zip(links) {
            while let Some(call) = seen.next_if(|call| comes_before(call, executed.at_ms)) {
                keep(&mut merged, &mut places, call);
            }
            let proposal = link.and_then(|link| place(&places, link));
            merged.push(as_call(executed, merged.len() as u64, proposal));
        }
        for call in seen {
            keep(&mut merged, &mut places, call);
        }
        Self(merged)
    }

    /// Returns the reports that differ from the tool gateway's answer: each with the execution.
    #[must_use]
    pub fn tampered(&self) -> Vec<(&ToolCall, &ToolCall)> {
        let executions = self.0.iter().filter(|call| call.source == ToolCallSource::Executed);
        let by_proposal: std::collections::HashMap<u64, &ToolCall> =
            executions.filter_map(|call| Some((call.proposal?, call))).collect();
        let reports = self.0.iter().filter(|call| call.source == ToolCallSource::Reported);
        let pairs = reports.filter_map(|report| Some((report, *by_proposal.get(&report.proposal?)?)));
        pairs.filter(|(report, execution)| says_something_else(report, execution)).collect()
    }
}

/// The new place of a call.
fn place(places: &[u64], old: u64) -> Option<u64> {
    places.get(usize::try_from(old).ok()?).copied()
}

/// True when a call stands before an execution of this time. A report of the same millisecond is about it, or may be.
fn comes_before(call: &ToolCall, at_ms: u64) -> bool {
    call.at_ms < at_ms || call.at_ms == at_ms && call.source != ToolCallSource::Reported
}

/// The proposal of each execution, by its place.
fn link(calls: &[ToolCall], executions: &[ExecutedCall]) -> Vec<Option<u64>> {
    let mut open: Vec<&ToolCall> = calls.iter().filter(|call| call.source == ToolCallSource::Proposed).collect();
    executions.iter().map(|execution| take_proposal(&mut open, execution)).collect()
}

fn take_proposal(open: &mut Vec<&ToolCall>, execution: &ExecutedCall) -> Option<u64> {
    let is_earlier = |call: &ToolCall| call.at_ms <= execution.at_ms && is_same_tool(&call.tool, &execution.tool);
    let by_id = || open.iter().position(|call| call.id.is_some() && call.id == execution.id);
    let by_arguments =
        || open.iter().position(|call| is_earlier(call) && call.arguments == *execution.arguments.value());
    let by_tool = || open.iter().position(|call| is_earlier(call));
    let found = by_id().or_else(by_arguments).or_else(by_tool)?;
    Some(open.remove(found).seq)
}

/// The name under which agents know the tool gateway.
pub const TOOL_GATEWAY: &str = "touchstone";

/// True when the model means this tool. Clients put the name of the server before the names of its tools.
#[must_use]
pub fn is_same_tool(proposed: &str, tool: &str) -> bool {
    let after = |name: &str| {
        name.strip_prefix(TOOL_GATEWAY).map(|rest| rest.trim_start_matches(['_', '-', '.', ':', '/']) == tool)
    };
    let plain = proposed.strip_prefix("mcp__").or_else(|| proposed.strip_prefix("mcp_")).unwrap_or(proposed);
    proposed == tool || plain == tool || after(plain) == Some(true)
}

fn as_call(executed: ExecutedCall, seq: u64, proposal: Option<u64>) -> ToolCall {
    let ExecutedCall { at_ms, id, tool, arguments, result, is_error, execution } = executed;
    ToolCall {
        seq,
        at_ms,
        id,
        tool,
        source: ToolCallSource::Executed,
        arguments: arguments.value,
        written: arguments.written,
        model_call: None,
        proposal,
        result,
        is_error,
        execution: Some(Box::new(execution)),
    }
}

/// True when a report has nothing of the result. Clients wrap texts, cut them and write structured content as JSON.
fn says_something_else(report: &ToolCall, execution: &ToolCall) -> bool {
    let (Some(reported), Some(result), Some(known)) = (&report.result, &execution.result, &execution.execution) else {
        return false;
    };
    let parsed = serde_json::from_str::<Json>(reported).ok();
    if known.lost || parsed.is_some_and(|parsed| parsed == known.structured) {
        return false;
    }
    let (reported, sent) = (words(reported), words(result));
    // A text inside JSON has its line breaks and quotes escaped.
    let escaped = Json::from(result.as_str()).to_string();
    let is_within =
        |whole: &[&str], part: &[&str]| part.is_empty() || whole.windows(part.len()).any(|window| window == part);
    !is_within(&reported, &sent) && !is_within(&sent, &reported) && !is_within(&reported, &words(&escaped))
}

fn words(text: &str) -> Vec<&str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ExecutedCall, ToolExecution, is_same_tool};
    use crate::evidence::{CallTrace, CallTraceRecorder, ToolArguments, ToolProposal, ToolReport};

    fn arguments(text: &str) -> ToolArguments {
        CallTraceRecorder::default().read_arguments(text)
    }

    fn propose(recorder: &mut CallTraceRecorder, at_ms: u64, id: &str, tool: &str, text: &str) -> u64 {
        let (id, tool) = (id.to_owned(), tool.to_owned());
        recorder.add_proposal(ToolProposal { at_ms, model_call: 0, id, tool, arguments: arguments(text) })
    }

    fn executed(at_ms: u64, id: Option<&str>, tool: &str, text: &str) -> ExecutedCall {
        ExecutedCall {
            at_ms,
            id: id.map(str::to_owned),
            tool: tool.to_owned(),
            arguments: arguments(text),
            result: Some("done".to_owned()),
            is_error: false,
            execution: ToolExecution::default(),
        }
    }

    /// The trace as `(tool, source, proposal)`.
    fn shown(trace: &CallTrace) -> Vec<String> {
        let line = |call: &crate::evidence::ToolCall| {
            let (source, link) = (json!(call.source), call.proposal.map_or("-".to_owned(), |link| link.to_string()));
            format!("{} {} {} {link}", call.seq, call.tool, source.as_str().unwrap_or_default())
        };
        trace.0.iter().map(line).collect()
    }

    #[test]
    fn executions_stand_at_their_time_and_links_follow() {
        let mut recorder = CallTraceRecorder::default();
        let first = propose(&mut recorder, 10, "a", "refund", "{\"id\":1}");
        let second = propose(&mut recorder, 10, "b", "refund", "{\"id\":2}");
        let report = || ToolReport { at_ms: 30, model_call: 1, result: "done".to_owned(), is_error: false };
        recorder.add_report(first, report());
        recorder.add_report(second, report());
        let trace = recorder.finish().with_executions(vec![
            executed(30, None, "refund", "{\"id\":1}"),
            executed(20, None, "refund", "{\"id\":2}"),
            executed(40, None, "other", "{}"),
        ]);
        insta::assert_snapshot!(shown(&trace).join("\n"), @r"
        0 refund proposed -
        1 refund proposed -
        2 refund executed 1
        3 refund executed 0
        4 refund reported 0
        5 refund reported 1
        6 other executed -
        ");
        assert!(trace.tampered().is_empty());
    }

    #[test]
    fn a_proposal_is_found_by_its_id_before_its_arguments_and_by_its_tool_last() {
        let mut recorder = CallTraceRecorder::default();
        propose(&mut recorder, 1, "a", "refund", "{\"id\":1}");
        propose(&mut recorder, 1, "b", "refund", "{\"id\":1}");
        propose(&mut recorder, 1, "c", "mcp__touchstone__refund", "{\"id\":3}");
        let trace = recorder.finish().with_executions(vec![
            executed(2, Some("b"), "refund", "{\"id\":1}"),
            executed(3, Some("unknown"), "refund", "{\"id\":1}"),
            executed(4, None, "refund", "{\"id\":9}"),
            executed(5, None, "refund", "{\"id\":1}"),
        ]);
        let links: Vec<_> = trace.0[3..].iter().map(|call| call.proposal).collect();
        assert_eq!(links, [Some(1), Some(0), Some(2), None]);
    }

    #[test]
    fn a_proposal_that_came_later_is_no_cause() {
        let mut recorder = CallTraceRecorder::default();
        propose(&mut recorder, 10, "", "refund", "{}");
        let trace = recorder.finish().with_executions(vec![executed(5, None, "refund", "{}")]);
        assert_eq!(shown(&trace), ["0 refund executed -", "1 refund proposed -"]);
    }

    #[test]
    fn clients_put_the_name_of_the_server_before_a_tool() {
        for proposed in
            ["refund", "mcp__touchstone__refund", "touchstone__refund", "touchstone_refund", "touchstone.refund"]
        {
            assert!(is_same_tool(proposed, "refund"), "{proposed}");
        }
        for other in ["refund_all", "prefund", "other__refund", "mcp__other__refund", "touchstone"] {
            assert!(!is_same_tool(other, "refund"), "{other}");
        }
    }

    #[test]
    fn a_report_that_says_something_else_is_told() {
        let tampered = |sent: &str, reported: &str| {
            let mut recorder = CallTraceRecorder::default();
            let proposal = propose(&mut recorder, 1, "a", "read", "{}");
            let report = ToolReport { at_ms: 9, model_call: 1, result: reported.to_owned(), is_error: false };
            recorder.add_report(proposal, report);
            let structured = json!({"total": 40});
            let execution = ToolExecution { structured, ..ToolExecution::default() };
            let call =
                ExecutedCall { result: Some(sent.to_owned()), execution, ..executed(5, Some("a"), "read", "{}") };
            !recorder.finish().with_executions(vec![call]).tampered().is_empty()
        };
        for same in [
            "The total is 40",
            "Result: The  total is\n40 (cached)",
            "The total",
            "{\"total\": 40}",
            "[{\"text\": \"The total is 40\"}]",
        ] {
            assert!(!tampered("The total is 40", same), "{same}");
        }
        assert!(!tampered("a \"quoted\" text", r#"[{"text":"a \"quoted\" text"}]"#));
        assert!(tampered("The total is 40", "The total is 4000"));
    }
}
