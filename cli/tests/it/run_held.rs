//! Calls that tool contracts hold until a person decides, from `touchstone run` to `touchstone approvals`.

use std::fs;

use serde_json::Value as Json;
use store::RunState;

use crate::place::{Place, Started};

const SPEC: &str = "version: 1
id: held
base: touchstone/busybox:1
task: { prompt: Pay. }
agent: { type: cli, command: \"touchstone-tool pay '{\\\"amount\\\": 60}' > paid; cat paid\", timeout: 2m }
resources: { memory: 64Mi, disk: 16Mi }
tools: [{ name: pay, mock: { rules: [{ return: { receipt: r-1 } }] } }]
tool_contracts: { dir: rules, mode: govern }
invariants:
  paid: { description: x, check: { type: file_content, path: paid, contains: r-1 } }
  rules: { description: x, gate: true, check: { type: tool_contract, contracts: rules } }
";
const PAY: &str = "tool: pay
side_effect: financial
checkpoint: { when: always, timeout_seconds: 120, context: [{ path: $.amount, label: Amount }] }
";

fn place() -> Place {
    let place = Place::new(SPEC);
    let rules = place.spec().join("rules");
    fs::create_dir(&rules).expect("a folder");
    fs::write(rules.join("session.yaml"), "schema_version: \"1.0\"\nagent: payer\n").expect("a file");
    fs::write(rules.join("pay.yaml"), PAY).expect("a file");
    place
}

fn held(place: &Place) -> Vec<Json> {
    let (code, stdout, stderr) = place.run(&["approvals", "list", "--format", "json"]);
    assert_eq!(code, 0, "{stderr}");
    let listed: Json = serde_json::from_str(&stdout).expect("JSON");
    listed.as_array().expect("approvals").clone()
}

fn until_held(place: &Place, run: &mut Started) -> String {
    assert!(run.wait_for("waits for a person until"), "nothing is held: {}", run.told);
    let held = held(place);
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!((held[0]["tool"].as_str(), held[0]["status"].as_str()), (Some("pay"), Some("pending")));
    held[0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_call_goes_on_when_somebody_approves_it() {
    let place = place();
    let mut run = place.start(&["--backend", "local"]);
    let id = until_held(&place, &mut run);
    let (code, stdout, stderr) = place.run(&["approvals", "approve", &id, "--note", "fine"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("Amount") && stdout.contains("60"), "{stdout}");
    assert!(run.wait_for("pass  held/default-r0"), "{}", run.told);
    assert_eq!(held(&place).len(), 0, "nothing waits any more");
}

#[test]
fn a_call_that_somebody_denies_is_not_carried_out() {
    let place = place();
    let mut run = place.start(&["--backend", "local"]);
    let id = until_held(&place, &mut run);
    assert_eq!(place.run(&["approvals", "deny", &id]).0, 0);
    assert!(run.wait_for("FAIL  held/default-r0"), "{}", run.told);
    run.end();
    let (_, shown, _) = place.run(&["trace", "latest/default-r0", "--format", "contract"]);
    assert!(shown.contains("checkpoint_denied"), "{shown}");
}

#[test]
fn a_hold_is_there_again_once_when_the_worker_was_killed() {
    let place = place();
    let mut run = place.start(&["--backend", "local"]);
    let id = until_held(&place, &mut run);
    run.kill();
    assert_eq!(held(&place).len(), 1, "it still waits");
    let mut again = place.begin(&["run", "--no-pull", "--verbose", "--resume", "latest", "--backend", "local"]);
    assert_eq!(until_held(&place, &mut again), id, "the same request");
    assert_eq!(place.run(&["approvals", "approve", &id]).0, 0);
    assert!(again.wait_for("pass  held/default-r0"), "{}", again.told);
    again.end();
    assert_eq!(place.only_run().0, RunState::Finished);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn an_operator_kills_the_session_of_a_held_call() {
    let place = place();
    let mut run = place.start(&["--backend", "local"]);
    until_held(&place, &mut run);
    let (code, stdout, stderr) = place.run(&["approvals", "kill", "latest/default-r0", "--reason", "enough"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(run.wait_for("FAIL  held/default-r0"), "{}", run.told);
    let (_, log, _) = place.run(&["trace", "latest/default-r0", "--format", "contract"]);
    assert!(log.contains("enough") && log.contains("session_killed"), "{log}");
    let (code, _, stderr) = place.run(&["approvals", "kill", "latest/default-r0"]);
    assert!(code != 0 && stderr.contains("has ended"), "{stderr}");
}
