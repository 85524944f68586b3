//! Takes secrets out of evidence, wherever a text of the agent can be.

use std::collections::BTreeMap;

use gateways::http_mock::LONGEST_METHOD;
use gateways::redact::Redactor;
use scenario::evidence::{Answer, AuditEvent, Body, Datum, Evidence, Exchange, SqlAnswer, ToolRecord};
use serde_json::Value as Json;

use crate::attempt::Attempt;
use crate::error::EngineError;

/// The mode of faults whose target is a name.
const DNS_FAILURE: &str = "dns_failure";

/// Takes secrets out of what was observed. This is the list of all places: each is either treated here, or its recorder
/// took secrets out when it wrote it down. Nothing is treated twice: a short value could be a part of a marker.
pub(super) fn redact(evidence: &mut Evidence, attempt: &Attempt<'_>) {
    let redactor = Redactor::new(&super::hidden(attempt), evidence.marker_key.as_deref().unwrap_or_default());
    let Evidence {
        prompt,
        offences,
        notes,
        image_changes,
        image_unseen,
        workspace,
        answers,
        audit,
        limits,
        faults,
        replay,
        tools,
        // `capture.rs` took secrets out of the output while it came.
        agent: _,
        baseline: _,
        invocations: _,
        // `exchange` below is what mocks write down.
        journals: _,
        // The ledger of the model gateway, the trace log of the API gateway, `databases.rs` and `diffs.rs`.
        model: _,
        call_trace: _,
        self_reported: _,
        databases: _,
        file_diffs: _,
        // The records of contracts have a chain of hashes, so that secrets are taken out before they are hashed.
        tool_contracts: _,
        // Names of secrets, and places without values.
        leaks: _,
        // Nothing in these is of the agent's choosing: names of images and models, and numbers.
        world: _,
        marker_key: _,
        keeps_state: _,
        more_image_changes: _,
        usage: _,
        judge_usage: _,
    } = evidence;
    for text in prompt.iter_mut().chain(offences).chain(notes).chain(image_changes).chain(image_unseen) {
        redactor.redact(text);
    }
    for path in workspace.added.iter_mut().chain(&mut workspace.removed).chain(&mut workspace.modified) {
        redactor.redact(path);
    }
    answers.values_mut().flatten().for_each(|one| answer(one, &redactor));
    audit.iter_mut().flatten().for_each(|audited| redact_event(&mut audited.event, &redactor));
    // The path of a call that a fault hit is of the agent's choosing. The DNS took secrets out of names.
    let firings = faults.iter_mut().flat_map(|faults| &mut faults.firings);
    for firing in firings.filter(|firing| firing.mode != DNS_FAILURE) {
        firing.target = fault_target(&firing.target, &redactor);
    }
    let calls = replay.iter_mut().flat_map(|replay| replay.differing.iter_mut().chain(&mut replay.unexpected));
    calls.for_each(|call| redactor.redact(call));
    for fired in limits {
        redactor.redact(&mut fired.detail);
    }
    if let Some(tools) = tools {
        redact_tools(tools, &redactor);
    }
}

/// Tools come from servers in the sandbox, which know its secrets.
fn redact_tools(tools: &mut ToolRecord, redactor: &Redactor) {
    for tool in &mut tools.definitions {
        redactor.redact(&mut tool.name);
        if !redactor.is_empty() {
            let text = redactor.text(&tool.definition.to_string());
            tool.definition = serde_json::from_str(&text).unwrap_or_default();
        }
    }
    for change in &mut tools.changes {
        redactor.redact(&mut change.tool);
    }
    for server in &mut tools.servers {
        let ended = server.ended.iter_mut().chain(&mut server.program).chain(&mut server.hidden);
        ended.for_each(|text| redactor.redact(text));
    }
    tools.misses.iter_mut().for_each(|miss| redactor.redact(miss));
    for client in &mut tools.clients {
        redactor.redact(&mut client.name);
        redactor.redact(&mut client.version);
    }
}

/// The target of a fault without secrets. The letters of a host, which has a dot, have no case.
fn fault_target(target: &str, redactor: &Redactor) -> String {
    match target.split_once(':') {
        Some((host, call)) if host.contains('.') => format!("{}:{}", redactor.host_name(host), redactor.text(call)),
        _ => redactor.text(target),
    }
}

/// An error without secrets.
pub(crate) fn error(error: EngineError, secrets: &BTreeMap<String, String>) -> EngineError {
    let message = error.to_string();
    let safe = Redactor::new(secrets, "hidden").text(&message);
    if safe == message {
        return error;
    }
    EngineError::Redacted { message: safe, retryable: error.is_retryable(), kind: error.kind() }
}

/// Takes secrets out of one request.
pub(super) fn exchange(exchange: &mut Exchange, redactor: &Redactor) {
    // A long method was cut, maybe in the middle of a secret.
    match exchange.method.len() < LONGEST_METHOD {
        true => redactor.redact_name(&mut exchange.method),
        false => exchange.method = redactor.beginning_of_name(&exchange.method),
    }
    redactor.redact(&mut exchange.path);
    for (name, value) in &mut exchange.query {
        redactor.redact(name);
        redactor.redact(value);
    }
    for (name, value) in &mut exchange.headers {
        let is_host = name.eq_ignore_ascii_case("host");
        redactor.redact_name(name);
        if is_host { *value = redactor.host_name(value) } else { redactor.redact(value) }
    }
    match &mut exchange.body {
        Body::Kept(blob) => blob.0 = redactor.bytes(&blob.0),
        Body::Cut { kept, .. } => kept.0 = redactor.beginning(&kept.0),
        Body::Dropped { .. } => {}
    }
}

/// Takes secrets out of an answer, where its probe did not.
pub(super) fn answer(answer: &mut Answer, redactor: &Redactor) {
    match answer {
        Answer::Command(command) => {
            command.image_changes.iter_mut().for_each(|path| redactor.redact(path));
        }
        Answer::Files(files) => {
            for entry in &mut files.entries {
                redactor.redact(&mut entry.path);
                entry.problem.iter_mut().for_each(|problem| redactor.redact(problem));
            }
        }
        Answer::Sql(SqlAnswer::Value(datum)) => redact_datum(datum, redactor),
        Answer::Sql(SqlAnswer::Refused(message)) | Answer::Unavailable { reason: message, .. } => {
            redactor.redact(message)
        }
        Answer::Sql(SqlAnswer::NoRow) | Answer::Judge(_) | Answer::Embedding(_) => {}
    }
}

fn redact_datum(datum: &mut Datum, redactor: &Redactor) {
    match datum {
        Datum::Text(text) => redactor.redact(text),
        Datum::Json(json) => redact_json(json, redactor),
        // A secret of digits is a number to a database.
        Datum::Number(number) => {
            let safe = redactor.text(number.text());
            if safe != number.text() {
                *datum = Datum::Text(safe);
            }
        }
        Datum::Null | Datum::Bool(_) => {}
    }
}

/// The recorders took secrets out of what they saw; paths of files come from nobody's recorder.
fn redact_event(event: &mut AuditEvent, redactor: &Redactor) {
    if let AuditEvent::FileWrite { path, .. } = event {
        redactor.redact(path);
    }
}

/// The strings and numbers of a JSON value without secrets.
fn redact_json(json: &mut Json, redactor: &Redactor) {
    match json {
        Json::String(text) => redactor.redact(text),
        Json::Array(items) => items.iter_mut().for_each(|item| redact_json(item, redactor)),
        Json::Object(map) => {
            for (mut name, mut value) in std::mem::take(map) {
                redactor.redact(&mut name);
                redact_json(&mut value, redactor);
                map.insert(name, value);
            }
        }
        Json::Number(number) => {
            let text = number.to_string();
            let safe = redactor.text(&text);
            if safe != text {
                *json = Json::String(safe);
            }
        }
        Json::Null | Json::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use scenario::number::Number;

    use super::{Body, Datum, Exchange, error, exchange, redact_datum, redact_json};
    use crate::error::EngineError;
    use gateways::redact::Redactor;

    fn secrets() -> BTreeMap<String, String> {
        BTreeMap::from([("KEY".to_owned(), "s3cret\n".to_owned())])
    }

    #[test]
    fn an_error_does_not_repeat_a_secret() {
        let broken = || EngineError::Setup { place: "setup".to_owned(), reason: "said s3cret\n".to_owned() };
        assert_eq!(error(broken(), &secrets()).to_string(), "setup: said [redacted:KEY:hidden]");
        assert!(matches!(error(broken(), &BTreeMap::new()), EngineError::Setup { .. }));
    }

    #[test]
    fn every_part_of_a_request_and_numbers_of_databases_lose_their_secrets() {
        let redactor = Redactor::new(&BTreeMap::from([("PIN".to_owned(), "90210-Ab".to_owned())]), "k");
        let mut asked = Exchange {
            method: "90210-AB".to_owned(),
            path: "/90210-Ab".to_owned(),
            query: vec![("90210-Ab".to_owned(), "90210-Ab".to_owned())],
            headers: vec![
                ("90210-ab".to_owned(), "90210-Ab".to_owned()),
                ("host".to_owned(), "90210.-aB.evil".to_owned()),
            ],
            body: Body::Kept("90210-Ab".into()),
            status: 200,
            at_ms: 0,
            fault: None,
            answer: None,
        };
        exchange(&mut asked, &redactor);
        let kept = serde_json::to_string(&asked).expect("JSON");
        assert!(!kept.to_lowercase().contains("90210"), "{kept}");
        assert_eq!(
            (asked.method.as_str(), asked.headers[0].0.as_str()),
            ("[redacted:PIN/case:k]", "[redacted:PIN/case:k]")
        );
        let redactor = Redactor::new(&BTreeMap::from([("PIN".to_owned(), "9021090210".to_owned())]), "k");
        let mut datum = Datum::Number(Number::parse("9021090210").expect("a number"));
        redact_datum(&mut datum, &redactor);
        assert_eq!(datum, Datum::Text("[redacted:PIN:k]".to_owned()));
        let mut datum = Datum::Json(json!({"a": [9_021_090_210_u64, 7]}));
        redact_datum(&mut datum, &redactor);
        assert_eq!(datum, Datum::Json(json!({"a": ["[redacted:PIN:k]", 7]})));
    }

    #[test]
    fn strings_of_json_lose_their_secrets() {
        let mut json = json!({"a": ["x s3cret\n"], "s3cret\n": 1});
        redact_json(&mut json, &Redactor::new(&secrets(), "k"));
        assert_eq!(json, json!({"a": ["x [redacted:KEY:k]"], "[redacted:KEY:k]": 1}));
    }
}
