//! Breakages of what was recorded: requests and output.

use serde_json::Value as Json;

use super::{Breakage, BrokenRequest, RequestBreakage};
use crate::evidence::{Blob, Body, Captured, Evidence, Exchange};

impl Breakage {
    /// Changes what was recorded, for a breakage of records.
    pub fn break_records(&self, evidence: &mut Evidence) {
        match self {
            Self::Request(broken) => break_request(broken, evidence),
            Self::Output => {
                let invoked = evidence.invocations.iter_mut().filter_map(|invocation| invocation.agent.as_mut());
                let agents = std::iter::once(&mut evidence.agent).chain(invoked);
                agents.for_each(|agent| agent.stdout = Captured::default());
            }
            Self::Look | Self::File(_) | Self::Row(_) => {}
        }
    }
}

fn break_request(broken: &BrokenRequest, evidence: &mut Evidence) {
    let Some(journal) = evidence.journals.get_mut(&broken.service) else { return };
    let Some(exchange) = journal.exchanges.get(broken.index).cloned() else { return };
    match &broken.how {
        RequestBreakage::Drop => {
            journal.exchanges.remove(broken.index);
        }
        RequestBreakage::Repeat => journal.exchanges.insert(broken.index, exchange),
        RequestBreakage::Alter { body, .. } => {
            let body = body.as_str().map_or_else(|| body.to_string(), ToOwned::to_owned);
            let body = Body::Kept(Blob(body.into_bytes()));
            journal.exchanges[broken.index] = Exchange { body, ..exchange };
        }
    }
}

/// The other bodies that a request could have had, each with the field that is different: one for each field of a JSON object, or
/// another text.
pub(super) fn other_bodies(exchange: &Exchange, most: usize) -> Vec<(Option<String>, Json)> {
    let Some(blob) = exchange.whole_body().filter(|blob| !blob.0.is_empty()) else { return Vec::new() };
    let text = blob.text();
    match serde_json::from_str(&text) {
        Ok(Json::Object(fields)) => {
            let other = |name: &String| {
                let mut fields = fields.clone();
                let value = fields.get(name).map_or(Json::Null, other_value);
                fields.insert(name.clone(), value);
                (Some(name.clone()), Json::Object(fields))
            };
            fields.keys().take(most).map(other).collect()
        }
        Ok(json) => vec![(None, other_value(&json))],
        Err(_) => vec![(None, Json::String(format!("{text}x")))],
    }
}

/// Another value of the same kind.
fn other_value(value: &Json) -> Json {
    match value {
        Json::Null => "x".into(),
        Json::Bool(flag) => (!flag).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.wrapping_add(1).into(),
            None => (number.as_f64().unwrap_or_default() + 1.0).into(),
        },
        // Of prose, another ending says the same.
        Json::String(text) if text.trim().contains(char::is_whitespace) => "x".into(),
        Json::String(text) => format!("{text}x").into(),
        Json::Array(items) if items.is_empty() => vec![Json::from("x")].into(),
        Json::Array(_) => Json::Array(Vec::new()),
        Json::Object(fields) if fields.is_empty() => serde_json::json!({"x": "x"}),
        Json::Object(_) => Json::Object(serde_json::Map::default()),
    }
}
