//! Takes secrets out of evidence, wherever a text of the agent can be.

use std::collections::BTreeMap;

use scenario::evidence::{Answer, AuditEvent, Body, Datum, Evidence, Exchange, SqlAnswer};
use serde_json::Value as Json;

use crate::attempt::Attempt;
use crate::error::EngineError;
use crate::redact::Redactor;

/// Takes secrets out of what was observed and does not come from a recorder, which takes them out itself. Nothing is
/// treated twice: a short value could be a part of a marker.
pub(super) fn redact(evidence: &mut Evidence, attempt: &Attempt<'_>) {
    let redactor = Redactor::new(attempt.secrets, evidence.marker_key.as_deref().unwrap_or_default());
    for text in evidence.offences.iter_mut().chain(&mut evidence.notes).chain(&mut evidence.image_changes) {
        redactor.redact(text);
    }
    let changes = &mut evidence.workspace;
    for path in changes.added.iter_mut().chain(&mut changes.removed).chain(&mut changes.modified) {
        redactor.redact(path);
    }
    evidence.answers.values_mut().flatten().for_each(|one| answer(one, &redactor));
    evidence.audit.iter_mut().flatten().for_each(|audited| redact_event(&mut audited.event, &redactor));
    for fired in &mut evidence.limits {
        redactor.redact(&mut fired.detail);
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
    redactor.redact(&mut exchange.path);
    for (name, value) in exchange.query.iter_mut().chain(&mut exchange.headers) {
        redactor.redact(name);
        redactor.redact(value);
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
        Answer::Sql(SqlAnswer::NoRow) | Answer::Judge(_) => {}
    }
}

fn redact_datum(datum: &mut Datum, redactor: &Redactor) {
    match datum {
        Datum::Text(text) => redactor.redact(text),
        Datum::Json(json) => redact_json(json, redactor),
        Datum::Null | Datum::Bool(_) | Datum::Number(_) => {}
    }
}

/// The recorders took secrets out of what they saw; paths of files come from nobody's recorder.
fn redact_event(event: &mut AuditEvent, redactor: &Redactor) {
    if let AuditEvent::FileWrite { path, .. } = event {
        redactor.redact(path);
    }
}

/// The strings of a JSON value without secrets.
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
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::{error, redact_json};
    use crate::error::EngineError;
    use crate::redact::Redactor;

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
    fn strings_of_json_lose_their_secrets() {
        let mut json = json!({"a": ["x s3cret\n"], "s3cret\n": 1});
        redact_json(&mut json, &Redactor::new(&secrets(), "k"));
        assert_eq!(json, json!({"a": ["x [redacted:KEY:k]"], "[redacted:KEY:k]": 1}));
    }
}
