//! A log folded again: the same contracts must give the same decisions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::apply::{Event, StepCall, apply};
use crate::call::{Batch, Call, Outcome, Provenance};
use crate::canonical::{canonical, hash, hash_text};
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Decision, HoldSpec, Reason, Verdict, decide, decide_without_approval};
use crate::hold::{Resolution, resolve_hold};
use crate::options::Mode;
use crate::state::SessionState;

/// A decision that comes out differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The record's place in the log.
    pub seq: u64,
    /// The call.
    pub call: String,
    /// The verdict and codes in the log.
    pub recorded: String,
    /// The values computed now.
    pub computed: String,
}

/// The result of folding a log.
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// Decisions that were computed again.
    pub decisions: u64,
    /// Decisions that differ.
    pub divergences: Vec<Divergence>,
    /// Decisions that cannot be computed from the log: secrets were taken out of their arguments, an output was too large
    /// to be kept, or an earlier version wrote down nothing of rules that read the whole exchange with the model.
    pub not_evaluable: u64,
    /// The state at the end.
    pub state: SessionState,
}

struct Fold<'a> {
    set: Compiled,
    replayed: Replayed,
    calls: BTreeMap<String, Call>,
    holds: BTreeMap<String, HoldSpec>,
    /// True when an input is missing, so that later decisions may differ for good reason.
    is_incomplete: bool,
    records: &'a [Json],
}

/// Folds the records of one session with the contracts that it was decided by.
#[must_use]
pub fn replay_log(set: &Compiled, records: &[Json]) -> Replayed {
    let mut set = set.clone();
    let is_observed = records.first().is_some_and(|record| record["mode"] == "observe");
    set.run.mode = if is_observed { Mode::Observe } else { Mode::Govern };
    let replayed = Replayed { state: SessionState::new(&set), ..Replayed::default() };
    let mut fold =
        Fold { set, replayed, calls: BTreeMap::new(), holds: BTreeMap::new(), is_incomplete: false, records };
    for record in fold.records {
        fold.take(record);
    }
    fold.replayed
}

impl Fold<'_> {
    fn take(&mut self, record: &Json) {
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let event = match record["kind"].as_str().unwrap_or_default() {
            "decision" => return self.decision(record),
            "llm_response" => self.step(record),
            "completed" => self.completion(record),
            "precheck" if record["verdict"] == "block" => Event::PrecheckBlocked,
            "hold" => Event::Paused,
            "approval" => Event::Resumed,
            "arguments_executed" => {
                Event::ArgumentsExecuted { call: text("call"), arguments: record["arguments"].clone() }
            }
            "withdrawn" => Event::Withdrawn { call: text("call") },
            "unguarded" => Event::CallUnguarded,
            "cost" => Event::CostAdded(record["micros"].as_u64().unwrap_or(0)),
            "label" => Event::LabelAdded { label: text("label"), origin: text("origin") },
            "filter" => Event::FilterSet(serde_json::from_value::<BTreeSet<String>>(record["tools"].clone()).ok()),
            "schema" => Event::SchemaSeen { tool: text("tool"), schema: record["schema"].clone() },
            "state_read" => match self.state_read(record) {
                Some(event) => event,
                None => return,
            },
            "cancel_requested" => Event::CancelRequested,
            "killed" if record["by_event"] == true => Event::Killed(text("cause")),
            "session_closed" => Event::Closed,
            _ => return,
        };
        apply(&self.set, &mut self.replayed.state, &event);
    }

    fn decision(&mut self, record: &Json) {
        let id = record["call"].as_str().unwrap_or_default().to_owned();
        let call = Call {
            id: id.clone(),
            tool: record["tool"].as_str().unwrap_or_default().to_owned(),
            arguments: record["arguments"].clone(),
        };
        let hash = hash_text(&canonical(&call.arguments));
        let is_redacted = record["args_hash"].as_str() != Some(hash.as_str());
        self.calls.insert(id.clone(), call.clone());
        let computed = self.computed(record, &call);
        if let Some(hold) = &computed.hold {
            self.holds.insert(id.clone(), hold.clone());
        }
        // Logs of earlier versions do not have the verdicts of rules about the exchange.
        let is_blind = self.set.reads_exchange(&call.tool) && record["exchange"].is_null();
        if is_redacted || self.is_incomplete || is_blind {
            self.replayed.not_evaluable += 1;
            return;
        }
        self.replayed.decisions += 1;
        let (recorded, computed) = (written(record), shown(&computed));
        if recorded != computed {
            let seq = record["seq"].as_u64().unwrap_or(0);
            self.replayed.divergences.push(Divergence { seq, call: id, recorded, computed });
        }
    }

    fn computed(&self, record: &Json, call: &Call) -> Decision {
        let ids = record["accepted"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let accepted = ids.filter_map(|id| self.calls.get(id).cloned()).collect();
        let batch = Batch {
            step: record["step"].as_u64().unwrap_or(0),
            accepted,
            exchange: None,
            exchange_reasons: exchange_reasons(record),
        };
        let withdrawn;
        let state = if record["drift"] == true {
            withdrawn = self.replayed.state.without_call(&call.id);
            &withdrawn
        } else {
            &self.replayed.state
        };
        let resolution = record["resolution"].as_str();
        match (resolution.and_then(Resolution::find), self.holds.get(&call.id)) {
            _ if resolution.is_none() => decide(&self.set, state, &batch, call),
            (Some(resolution), Some(hold)) if record["over"] != true => {
                resolve_hold(&self.set, state, &batch, call, hold, resolution).0
            }
            _ => decide_without_approval(&self.set, state, &batch, call),
        }
    }

    fn step(&self, record: &Json) -> Event {
        let calls = record["calls"].as_array().into_iter().flatten().filter_map(|one| {
            let call = self.calls.get(one["call"].as_str()?)?.clone();
            let verdict = match one["verdict"].as_str()? {
                "allow" => Verdict::Allow,
                "hold" => Verdict::Hold,
                _ => Verdict::Block,
            };
            Some(StepCall { call, verdict, is_released: one["released"] == true })
        });
        Event::StepDecided { calls: calls.collect(), is_step: record["is_step"] == true }
    }

    /// An answer of the world; one that was redacted leaves later decisions open.
    fn state_read(&mut self, record: &Json) -> Option<Event> {
        let is_whole = record["answer_hash"].as_str() == Some(hash(&record["answer"]).as_str());
        self.is_incomplete |= !is_whole;
        let call = record["call"].as_str()?.to_owned();
        let question = serde_json::from_value(record["question"].clone()).ok()?;
        Some(Event::StateRead { call, question, answer: serde_json::from_value(record["answer"].clone()).ok()? })
    }

    fn completion(&mut self, record: &Json) -> Event {
        let output = record["output"].clone();
        self.is_incomplete |= record["output_dropped"] == true;
        let outcome = match record["outcome"].as_str().unwrap_or_default() {
            "ok" => Outcome::Ok(output),
            "ok_empty" => Outcome::OkEmpty,
            "error" => Outcome::Error(output),
            _ => Outcome::Lost,
        };
        let is_reported = record["provenance"] == "self_reported";
        let provenance = if is_reported { Provenance::SelfReported } else { Provenance::Gateway };
        Event::CallCompleted { call: record["call"].as_str().unwrap_or_default().to_owned(), outcome, provenance }
    }
}

/// The reasons of rules about the exchange; `None` where it was not seen.
fn exchange_reasons(record: &Json) -> Option<Vec<Reason>> {
    let reason = |reason: &Json| {
        let text = |key: &str| reason[key].as_str().unwrap_or_default();
        Some(Reason::new(Code::find(text("code"))?, text("rule"), text("message")))
    };
    Some(record["exchange"].as_array()?.iter().filter_map(reason).collect())
}

fn written(record: &Json) -> String {
    let codes: Vec<_> =
        record["reasons"].as_array().into_iter().flatten().filter_map(|reason| reason["code"].as_str()).collect();
    format!("{} [{}]", record["verdict"].as_str().unwrap_or_default(), codes.join(", "))
}

fn shown(decision: &Decision) -> String {
    let verdict = match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Block => "block",
        Verdict::Hold => "hold",
    };
    let codes: Vec<_> = decision.codes().into_iter().map(Code::name).collect();
    format!("{verdict} [{}]", codes.join(", "))
}
