//! Sessions, each as a file of its own.

use serde_json::{Map, Value as Json, json};

use super::Import;
use super::chaos::service;
use super::fields::Fields;
use super::placeholders::name;

/// The keys of a session.
const KEYS: [&str; 10] = [
    "id",
    "name",
    "source",
    "captured_at",
    "input",
    "context",
    "tool_responses",
    "expected_failure",
    "contract",
    "file",
];

pub(super) fn replays(file: &Fields<'_>, import: &mut Import) -> Option<Json> {
    let sessions = match file.section("replays") {
        Some(replays) => {
            replays.note_unknown(&["sessions", "sources"], import);
            if replays.get("sources").is_some() {
                import.note(&replays.place("sources"), "left out: sessions are not fetched from LangSmith");
            }
            replays.list("sessions", import)
        }
        None => file.list("replays", import),
    };
    let contract = file.section("contract").and_then(|contract| contract.text("name"));
    let entries: Vec<_> = sessions.iter().filter_map(|session| entry(session, contract, import)).collect();
    (!entries.is_empty()).then_some(Json::Array(entries))
}

/// The entry of a session, whose file is written.
fn entry(session: &Fields<'_>, contract: Option<&str>, import: &mut Import) -> Option<Json> {
    session.note_unknown(&KEYS, import);
    let Some(id) = session.text("id").filter(|_| session.text("input").is_some()) else {
        let what = session.text("file").map_or_else(
            || "it has no `id` and `input`".to_owned(),
            |file| format!("put the content of `{file}` here, and import once more"),
        );
        import.note(&session.place("id"), format!("left out: {what}"));
        return None;
    };
    for (key, why) in [("context", "the agent gets the input alone"), ("source", "it says nothing about the run")] {
        if session.get(key).is_some_and(|value| value != "manual" && value != &json!([])) {
            import.note(&session.place(key), format!("left out: {why}"));
        }
    }
    if session.text("contract").is_some_and(|asked| asked != "default" && Some(asked) != contract) {
        import.note(&session.place("contract"), "left out: a session is judged by the contract of its own spec");
    }
    let called = name(id, 60);
    let mut written = Map::new();
    written.insert("version".to_owned(), json!(1));
    written.insert("id".to_owned(), json!(called));
    written.extend(session.only(&["name", "input"]));
    written.insert("tool_responses".to_owned(), tool_responses(session, import));
    written.extend(session.only(&["expected_failure"]));
    let path = format!("sessions/{called}.yaml");
    let text = serde_yaml::to_string(&Json::Object(written)).unwrap_or_default();
    import.files.push((path.clone(), text));
    Some(json!({ "session": path }))
}

/// The answers of tools, in their order.
fn tool_responses(session: &Fields<'_>, import: &mut Import) -> Json {
    let mut answers = Vec::new();
    for answer in session.list("tool_responses", import) {
        answer.note_unknown(&["tool", "response", "status", "latency_ms"], import);
        let tool = service(answer.text("tool").unwrap_or_default(), &answer.place("tool"), import);
        let mut written = Map::new();
        written.insert("tool".to_owned(), json!(tool));
        written.extend(answer.only(&["status", "response", "latency_ms"]));
        answers.push(Json::Object(written));
    }
    Json::Array(answers)
}
