//! The operations of a vector, in order, on one session.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::Checked;
use super::expectation::{codes, is_same_decision, same_codes, same_text, written};
use super::states;
use crate::apply::{Event, StepCall, apply};
use crate::call::{Batch, Call, Exchange, ModelRequest, Outcome, Provenance};
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::per_tool::response_format::response_codes;
use crate::decide::{Decision, Reason, Verdict};
use crate::hold::{Resolution, resolve_hold};
use crate::narrow::narrow;
use crate::options::Mode;
use crate::precheck::precheck;
use crate::read::limits::micros;
use crate::state::SessionState;
use crate::state_question::state_questions;
use crate::step::{judge_step, release_step};

/// A session that a vector goes through.
pub(super) struct Session {
    set: Compiled,
    state: SessionState,
    /// The codes of findings since they were last looked at.
    findings: Vec<String>,
    calls: u64,
}

impl Session {
    pub(super) fn new(set: Compiled) -> Self {
        let state = SessionState::new(&set);
        Self { set, state, findings: Vec::new(), calls: 0 }
    }

    pub(super) fn run(mut self, ops: &[Json]) -> Checked {
        for (place, op) in ops.iter().enumerate() {
            self.operate(op).map_err(|failure| format!("op {}: {failure}", place + 1))?;
        }
        Ok(())
    }

    fn operate(&mut self, op: &Json) -> Checked {
        self.change(op)?;
        if op.get("step").is_some() {
            self.step(op)?;
        }
        if let Some(offered) = op.get("narrow") {
            self.narrow(offered, op.get("removed").unwrap_or(&Json::Null))?;
        }
        if op.get("precheck").is_some() {
            self.precheck(op)?;
        }
        if let Some(close) = op.get("close") {
            self.close(close, op)?;
        }
        if let Some(wanted) = op.get("state") {
            states::check(&self.state, wanted)?;
        }
        if let Some(wanted) = op.get("findings").filter(|_| op.get("close").is_none()) {
            let found = std::mem::take(&mut self.findings);
            same_codes("findings", &found, &codes(wanted))?;
        }
        Ok(())
    }

    fn apply(&mut self, event: &Event) {
        let found = apply(&self.set, &mut self.state, event);
        self.findings.extend(found.iter().map(|finding| finding.code.to_string()));
    }

    /// Changes from outside: labels, costs, filters, status, reservations.
    fn change(&mut self, op: &Json) -> Checked {
        for (key, value) in op.as_object().into_iter().flatten() {
            match key.as_str() {
                "label" | "labels" => codes(value).into_iter().for_each(|label| {
                    self.apply(&Event::LabelAdded { label, origin: "vector".to_owned() });
                }),
                "cost" => self.apply(&Event::CostAdded(micros(value.as_f64().unwrap_or(0.0)))),
                "filter" => {
                    let filter = (!value.is_null()).then(|| codes(value).into_iter().collect::<BTreeSet<_>>());
                    self.apply(&Event::FilterSet(filter));
                }
                "set_status" => self.set_status(value.as_str().unwrap_or_default())?,
                "reserve" => states::reserve(&self.set, &mut self.state, value),
                "release" => states::release(&mut self.state, value),
                "schema" | "see_schema" => self.see_schemas(value),
                _ => {}
            }
        }
        Ok(())
    }

    fn set_status(&mut self, status: &str) -> Checked {
        let event = match status {
            "cancel_requested" => Event::CancelRequested,
            "killed" => Event::Killed("vector".to_owned()),
            "closed" => Event::Closed,
            "paused" => Event::Paused,
            "active" => Event::Resumed,
            other => return Err(format!("there is no status `{other}`")),
        };
        self.apply(&event);
        Ok(())
    }

    fn see_schemas(&mut self, schemas: &Json) {
        for (tool, schema) in schemas.as_object().into_iter().flatten() {
            self.apply(&Event::SchemaSeen { tool: tool.clone(), schema: schema.clone() });
        }
    }

    fn step(&mut self, op: &Json) -> Checked {
        let empty = Vec::new();
        let written_calls = op.get("step").and_then(Json::as_array).unwrap_or(&empty);
        let calls: Vec<Call> = written_calls.iter().map(|call| self.call(call)).collect();
        written_calls.iter().zip(&calls).try_for_each(|(written, call)| self.answer(written, call))?;
        let exchange = op.get("exchange").map(|exchange| exchange_of(exchange, &calls));
        let decisions = judge_step(&self.set, &self.state, &calls, exchange.clone());
        let (texts, verdicts) = self.resolve(written_calls, &calls, decisions, exchange.clone())?;
        check_decisions(&texts, op.get("expect").unwrap_or(&Json::Null))?;
        if let Some(wanted) = op.get("response_codes") {
            let found = exchange.map(|exchange| response_codes(&self.set, &exchange)).unwrap_or_default();
            same_codes("response codes", &found.iter().map(ToString::to_string).collect::<Vec<_>>(), &codes(wanted))?;
        }
        let judged: Vec<_> = calls.iter().cloned().zip(verdicts).collect();
        let (released, is_step) = release_step(&self.set, &self.state, &judged);
        if let Some(wanted) = op.get("released") {
            let got = json!(released.iter().map(|call| call.is_released).collect::<Vec<_>>());
            same_text("released", &got.to_string(), &wanted.to_string())?;
        }
        self.apply(&Event::StepDecided { calls: released.clone(), is_step });
        self.complete(written_calls, &released);
        Ok(())
    }

    /// Applies the answers of the world before a call: `answers: {RULE: {rows: [paid]}}`.
    fn answer(&mut self, written: &Json, call: &Call) -> Checked {
        for (rule, answer) in written.get("answers").and_then(Json::as_object).into_iter().flatten() {
            let answer =
                serde_json::from_value(answer.clone()).map_err(|error| format!("the answer to `{rule}`: {error}"))?;
            let question = state_questions(&self.set, call).into_iter().find(|question| question.rule == *rule);
            let question = question.ok_or_else(|| format!("the rule `{rule}` asks nothing"))?;
            self.apply(&Event::StateRead { call: call.id.clone(), question, answer });
        }
        Ok(())
    }

    fn call(&mut self, written: &Json) -> Call {
        self.calls += 1;
        let text = |key: &str| written.get(key).and_then(Json::as_str).map(ToOwned::to_owned);
        Call {
            id: text("id").unwrap_or_else(|| format!("call-{}", self.calls)),
            tool: text("tool").unwrap_or_default(),
            arguments: written.get("args").cloned().unwrap_or_else(|| json!({})),
        }
    }

    /// Resolves held calls as the vector says, and returns each decision as text with its last verdict.
    fn resolve(
        &mut self,
        written_calls: &[Json],
        calls: &[Call],
        decisions: Vec<Decision>,
        exchange: Option<Exchange>,
    ) -> Checked<(Vec<String>, Vec<Verdict>)> {
        let (mut texts, mut verdicts) = (Vec::new(), Vec::new());
        let mut batch =
            Batch { step: self.state.attempt_steps + 1, accepted: Vec::new(), exchange, exchange_reasons: None };
        for ((written_call, call), decision) in written_calls.iter().zip(calls).zip(decisions) {
            let mut text = written(&decision);
            let mut verdict = decision.verdict;
            if verdict == Verdict::Hold && self.set.run.mode == Mode::Govern {
                let last = self.approve(written_call, call, &decision, &batch)?;
                text = format!("{text}>{}", written(&last));
                verdict = last.verdict;
            }
            if verdict != Verdict::Block {
                batch.accepted.push(call.clone());
            }
            texts.push(text);
            verdicts.push(verdict);
        }
        Ok((texts, verdicts))
    }

    /// The decision after an approval, a refusal, or the deadline.
    fn approve(&mut self, written_call: &Json, call: &Call, held: &Decision, batch: &Batch) -> Checked<Decision> {
        if let Some(change) = written_call.get("while_held") {
            self.operate(change)?;
        }
        let Some(hold) = &held.hold else { return Ok(held.clone()) };
        let resolution = match written_call.get("approval").and_then(Json::as_str) {
            Some("deny") => Resolution::Denied,
            Some("approve") => Resolution::Approved,
            _ => Resolution::DeadlinePassed,
        };
        let (decision, found) = resolve_hold(&self.set, &self.state, batch, call, hold, resolution);
        // Vectors do not name the remark about a deadline that lets a call pass.
        let found = found.iter().filter(|finding| finding.code != Code::CheckpointAutoAllowed);
        self.findings.extend(found.map(|finding| finding.code.to_string()));
        Ok(decision)
    }

    /// Ends the calls that were released, in their order.
    fn complete(&mut self, written_calls: &[Json], released: &[StepCall]) {
        for (written_call, call) in written_calls.iter().zip(released).filter(|(_, call)| call.is_released) {
            let flag = |key: &str| written_call.get(key).and_then(Json::as_bool).unwrap_or(false);
            if flag("pending") || flag("in_flight") {
                continue;
            }
            let outcome = if let Some(error) = written_call.get("err") {
                Outcome::Error(error.clone())
            } else if flag("lost") {
                Outcome::Lost
            } else if flag("no_body") {
                Outcome::OkEmpty
            } else {
                Outcome::Ok(written_call.get("out").cloned().unwrap_or_else(|| json!({})))
            };
            let is_reported =
                flag("self_reported") || written_call.get("provenance").and_then(Json::as_str) == Some("self_reported");
            let provenance = if is_reported { Provenance::SelfReported } else { Provenance::Gateway };
            self.apply(&Event::CallCompleted { call: call.call.id.clone(), outcome, provenance });
        }
    }

    fn narrow(&self, offered: &Json, wanted: &Json) -> Checked {
        let removed = narrow(&self.set, &self.state, &codes(offered));
        let got: Vec<_> = removed.iter().map(|one| format!("{}:{}", one.tool, one.reason.code)).collect();
        let wanted = wanted.as_object().into_iter().flatten();
        let wanted: Vec<_> =
            wanted.map(|(tool, code)| format!("{tool}:{}", code.as_str().unwrap_or_default())).collect();
        same_codes("removed", &got, &wanted)
    }

    fn precheck(&mut self, op: &Json) -> Checked {
        let written = op.get("precheck").unwrap_or(&Json::Null);
        let text = |value: &Json| value.get("provider").and_then(Json::as_str).map(ToOwned::to_owned);
        let only =
            || self.set.session.providers.keys().next().cloned().filter(|_| self.set.session.providers.len() == 1);
        let provider = text(written).or_else(|| text(op)).or_else(only).unwrap_or_default();
        let inner = ["request", "raw", "body"].iter().find_map(|key| written.get(*key)).or_else(|| op.get("request"));
        let body = inner.unwrap_or(written).clone();
        let result = precheck(&self.set, &self.state, &ModelRequest { provider, body });
        if let Some(wanted) = op.get("expect").and_then(Json::as_str) {
            let got = result.refusal.map_or_else(|| "allow".to_owned(), |reason| format!("block:{}", reason.code));
            same_text("precheck", &got, wanted)?;
        }
        match op.get("warn") {
            Some(wanted) => check_warnings(&result.warnings, wanted),
            None => Ok(()),
        }
    }

    fn close(&mut self, close: &Json, op: &Json) -> Checked {
        let before = std::mem::take(&mut self.findings);
        self.apply(&Event::Closed);
        let found = std::mem::replace(&mut self.findings, before);
        let wanted = if close.is_array() { Some(close) } else { op.get("findings").or_else(|| op.get("expect")) };
        wanted.map_or(Ok(()), |wanted| same_codes("findings at the end", &found, &codes(wanted)))
    }
}

/// Warnings are named by their codes, or by the patterns that matched.
fn check_warnings(warnings: &[Reason], wanted: &Json) -> Checked {
    let got: Vec<_> = warnings.iter().map(|reason| reason.code.to_string()).collect();
    let pattern = |reason: &Reason| reason.checked.get("pattern").and_then(Json::as_str).map(ToOwned::to_owned);
    let patterns: Vec<_> =
        warnings.iter().map(|reason| pattern(reason).unwrap_or_else(|| reason.code.to_string())).collect();
    match wanted {
        Json::Bool(wanted) => same_text("warnings", &(!got.is_empty()).to_string(), &wanted.to_string()),
        Json::Number(wanted) => same_text("warnings", &got.len().to_string(), &wanted.to_string()),
        _ => {
            same_codes("warnings", &patterns, &codes(wanted)).or_else(|_| same_codes("warnings", &got, &codes(wanted)))
        }
    }
}

fn check_decisions(got: &[String], wanted: &Json) -> Checked {
    let Some(wanted) = wanted.as_array() else { return Ok(()) };
    let wanted: Vec<_> = wanted.iter().map(|one| one.as_str().unwrap_or_default()).collect();
    let is_same =
        got.len() == wanted.len() && got.iter().zip(&wanted).all(|(got, wanted)| is_same_decision(got, wanted));
    if is_same { Ok(()) } else { Err(format!("got {got:?}, wanted {wanted:?}")) }
}

/// The exchange of a step; its response makes the step's calls.
fn exchange_of(written: &Json, calls: &[Call]) -> Exchange {
    let request = written.get("request").cloned().unwrap_or_default();
    let mut response = written.get("response").cloned().unwrap_or_else(|| json!({}));
    let made: Vec<_> = calls.iter().map(|call| json!({"name": call.tool, "arguments": call.arguments})).collect();
    if let Json::Object(map) = &mut response {
        map.entry("tool_calls").or_insert_with(|| made.into());
    }
    Exchange { request, response }
}
