//! `touchstone replay`: sessions that are exported from the history, and run again by a changed agent.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::place::Place;
use crate::root;
use crate::serving::Served;

/// A copy of the example in a place of its own, with another agent.
fn example(change: impl Fn(String) -> String) -> (Place, PathBuf) {
    let place = Place::new("");
    let (from, to) = (root().join("specs/replay-refund"), place.path().join("refund"));
    fs::create_dir_all(to.join("sessions")).expect("a folder");
    for file in ["spec.yaml", "agent.py", "sessions/answer-lost.yaml", "sessions/overloaded.yaml"] {
        let text = fs::read_to_string(from.join(file)).expect("the example");
        let text = if file == "agent.py" { change(text) } else { text };
        fs::write(to.join(file), text).expect("a copy");
    }
    (place, to)
}

/// An agent that books again when no answer came.
fn blind(agent: String) -> String {
    let (careful, blind) = ("refund = booked() or book() or booked()", "refund = booked() or book() or book()");
    assert!(agent.contains(careful));
    agent.replace(careful, blind)
}

/// An agent that does not say which refund it is.
fn silent(agent: String) -> String {
    assert!(agent.contains(" as {refund}."));
    agent.replace(" as {refund}.", ".")
}

fn report(stdout: &str, stderr: &str) -> Json {
    let report: Json = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    report["experiments"][0].clone()
}

/// The status of each scenario, by its id.
fn statuses(report: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let rows = report["scenarios"].as_array().expect("scenarios");
    rows.iter().map(|row| (text(&row["scenario_id"]), text(&row["status"]))).collect()
}

#[test]
fn a_session_of_the_spec_finds_an_agent_that_pays_twice() {
    let run = |change: fn(String) -> String| {
        let (place, folder) = example(change);
        let folder = folder.display().to_string();
        let (code, stdout, stderr) = place.run(&["run", "--backend", "local", &folder, "--format", "json"]);
        (code, report(&stdout, &stderr))
    };
    let (code, kept) = run(|agent| agent);
    assert_eq!((code, &kept["replays"]["score"], &kept["overall"]["score"]), (0, &json!(1.0), &json!(1.0)), "{kept:#}");
    assert_eq!(kept["overall"]["not_run"], json!(["mutation", "chaos", "contract"]));
    let sessions = &kept["replays"]["sessions"];
    assert_eq!(
        (&sessions[0]["held"], &sessions[0]["failed"], &sessions[0]["unexpected"]),
        (&json!(1), &json!(0), &json!(null))
    );
    let (code, broken) = run(blind);
    let lost = &broken["replays"]["sessions"][0];
    assert_eq!(
        (&lost["verdict"], &lost["failed"], &lost["unexpected"]),
        (&json!("fail"), &json!(1), &json!(["shop POST /refunds"]))
    );
    assert_eq!((code, &broken["overall"]["score"]), (1, &json!(0.5)));
    let expected =
        [("default-r0", "pass"), ("replay-answer-lost--default-r0", "fail"), ("replay-overloaded--default-r0", "pass")];
    assert_eq!(statuses(&broken), expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
    let offences = broken["scenarios"][1]["offences"].to_string();
    assert!(
        offences.contains("does not have: shop POST /refunds"),
        "a second refund is no call of the session: {offences}"
    );
}

#[test]
fn sessions_have_a_section_of_their_own_for_people() {
    let (place, folder) = example(blind);
    let folder = folder.display().to_string();
    let (code, stdout, stderr) = place.run(&["run", "--backend", "local", &folder]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    for line in ["replays FAILED: 1 of 2 sessions passed", "  unexpected   answer-lost: shop POST /refunds"] {
        assert!(stdout.contains(line), "`{line}` is missing: {stdout}");
    }
    let (_, markdown, _) = place.run(&["show", "latest", "--format", "markdown"]);
    assert!(markdown.contains("#### Replays: fail, 1 of 2 sessions passed"), "{markdown}");
    assert!(markdown.contains("| `overloaded` | pass | 1 | 0 |"), "{markdown}");
    let (_, again, stderr) = place.run(&["show", "latest", "--format", "json"]);
    let again: Json = serde_json::from_str(&again).unwrap_or_else(|error| panic!("{error}: {again}{stderr}"));
    assert_eq!(again["replays"]["sessions"][0]["unexpected"], json!(["shop POST /refunds"]), "kept");
}

#[test]
fn a_failed_scenario_is_exported_and_its_session_fails_again_until_the_agent_is_mended() {
    let (place, folder) = example(silent);
    let spec = folder.display().to_string();
    let session = folder.join("sessions/found.yaml").display().to_string();
    let run = |words: &[&str]| place.run(words);
    assert_eq!(run(&["run", "--backend", "local", &spec]).0, 1);
    let (code, _, stderr) = run(&["replay", "export", "latest/default-r0", "-o", &session]);
    assert_eq!(code, 0, "{stderr}");
    let text = fs::read_to_string(&session).expect("a session");
    for line in [
        "id: found",
        "spec: ../spec.yaml",
        "status: fail",
        "input: Refund order 1001 at http://shop, exactly once",
        "status: 201",
    ] {
        assert!(text.contains(line), "`{line}` is missing: {text}");
    }
    let (code, stdout, stderr) = run(&["replay", "run", "--backend", "local", &session, "--format", "json"]);
    assert_eq!((code, statuses(&report(&stdout, &stderr)).len()), (1, 1), "{stderr}");
    let mended = fs::read_to_string(root().join("specs/replay-refund/agent.py")).expect("the agent");
    fs::write(folder.join("agent.py"), mended).expect("the agent");
    let (code, stdout, stderr) = run(&["replay", "run", "--backend", "local", &session, "--format", "json"]);
    let report = report(&stdout, &stderr);
    assert_eq!((code, &report["replays"]["sessions"][0]["id"]), (0, &json!("found")), "{report:#}");
    let (code, stdout, _) = run(&["rescore", "latest"]);
    assert!(code == 0 && stdout.contains("nothing changed"), "{code} {stdout}");
}

#[test]
fn a_scenario_of_a_server_is_exported_and_run_here() {
    let (place, folder) = example(silent);
    let served = Served::start(&place, &["--backend", "local"]);
    let key = served.key.clone().expect("a key");
    let there = |words: &[&str]| {
        let mut command = crate::touchstone(words);
        command.env("TOUCHSTONE_URL", &served.url).env("TOUCHSTONE_API_KEY", &key);
        crate::read(command.output().expect("a run"))
    };
    let (spec, session) = (folder.display().to_string(), folder.join("sessions/found.yaml").display().to_string());
    let (code, id, stderr) = there(&["submit", &spec]);
    assert_eq!(code, 0, "{id}{stderr}");
    let id = id.trim();
    let (code, _, stderr) = there(&["watch", id]);
    assert_eq!(code, 1, "{stderr}");
    let (code, _, stderr) = there(&["replay", "export", &format!("{id}/default-r0"), "-o", &session]);
    assert!(code == 0 && stderr.contains("run it again with"), "{stderr}");
    let text = fs::read_to_string(&session).expect("a session");
    let known = [format!("experiment: {id}"), "scenario: default-r0".to_owned(), "status: 201".to_owned()];
    assert!(known.iter().all(|line| text.contains(line)), "{text}");
    let run = ["replay", "run", "--backend", "local", &session, "--spec", &spec, "--format", "json"];
    let (code, stdout, stderr) = place.run(&run);
    let session = report(&stdout, &stderr)["replays"]["sessions"][0].clone();
    assert_eq!((code, &session["verdict"], &session["unexpected"]), (1, &json!("fail"), &json!(null)), "{session:#}");
}

#[test]
fn sessions_that_cannot_be_run_are_refused_with_what_to_do() {
    let (place, folder) = example(|agent| agent);
    let write = |name: &str, text: &str| {
        let path = folder.join("sessions").join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let refused = |words: &[&str], expected: &str| {
        let (code, _, stderr) = place.run(&[&["replay", "run", "--backend", "local"], words].concat());
        assert!(code == 2 && stderr.contains(expected), "{code} {stderr}");
    };
    refused(&[&write("alone.yaml", "version: 1\nid: x\ninput: y\n")], "name it with --spec SPEC");
    refused(&[&write("lost.yaml", "version: 1\nid: x\ninput: y\nspec: nowhere.yaml\n")], "`");
    refused(&[&write("typo.yaml", "version: 1\nid: x\nimput: y\n")], "unknown field `imput`");
    let cell = "version: 1\nid: x\ninput: y\nspec: ../spec.yaml\nparameters: {model: a}\n";
    refused(&[&write("cell.yaml", cell)], "no cell of the matrix has");
    refused(&["nowhere.yaml"], "No such file");
    assert!(place.runs().is_empty(), "nothing was run");
    let (code, _, stderr) = place.run(&["replay", "export", "latest"]);
    assert_eq!(code, 2, "{stderr}");
}

/// Asks the model once, and prints its answer.
const ASKS: &str = r#"
import json, os, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": os.environ["TOUCHSTONE_TASK_PROMPT"]}]}).encode()
head = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
print(json.load(urllib.request.urlopen(urllib.request.Request(url, body, head)))["choices"][0]["message"]["content"])
"#;

#[test]
fn a_models_answers_come_from_the_session_without_its_provider() {
    let place = Place::new("");
    let spec = "version: 1\nid: asks\nbase: python:3.11-slim\ntask: {prompt: x}\n\
        agent: {type: cli, command: python3 agent.py}\nsetup: {files: [{path: agent.py, from: agent.py}]}\n\
        model: {mode: proxy, upstream: {alias: nowhere}}\n\
        invariants: {says: {description: says it, check: {type: contains, value: forty-two}}}\n";
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "forty-two"}}]}).to_string();
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "What is it?"}]});
    let recorded = json!([{"dialect": "chat", "request": request, "status": 200, "stream": false, "response": answer}]);
    let session =
        json!({"version": 1, "id": "asked", "input": "What is it?", "spec": "spec.yaml", "model_responses": recorded});
    for (name, text) in [("spec.yaml", spec), ("agent.py", ASKS), ("asked.json", &session.to_string())] {
        fs::write(place.path().join(name), text).expect("a file");
    }
    let file = place.path().join("asked.json").display().to_string();
    let run = |matching: &str| {
        let options = ["--backend", "local", "--model", "recorded", "--matching", matching, "--format", "json"];
        place.run(&[&["replay", "run", &file], &options[..]].concat())
    };
    let (code, stdout, stderr) = run("strict");
    assert_eq!(code, 0, "{stdout}{stderr}");
    let changed = ASKS.replace(r#"os.environ["TOUCHSTONE_TASK_PROMPT"]"#, r#""Anything else?""#);
    fs::write(place.path().join("agent.py"), changed).expect("the agent");
    assert_eq!((run("fifo").0, run("strict").0), (0, 1), "only strict matching minds what is asked");
}
