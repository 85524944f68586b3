//! Sessions under tool contracts, as `show` and `trace` print them.

use scenario::evidence::{ContractMode, ContractRecord, ContractSession};
use serde_json::{Value as Json, json};
use store::Lane;

use crate::seeded::{Progress, Seeded, minute};

/// A governed session in which a refund was blocked, and a lookup passed.
fn record() -> ContractRecord {
    let reason = json!({"code": "wrong_phase", "rule": "transitions/valid_in_phases", "message": "`refund` comes later\u{1b}[2J",
        "file": "rules/refund.yaml", "line": 3});
    let records = vec![
        json!({"seq": 0, "kind": "session_opened", "session": "s-1", "mode": "govern", "phase": "triage"}),
        json!({"seq": 1, "kind": "decision", "session": "s-1", "at_ms": 120, "step": 1, "call": "c1", "tool": "refund", "verdict": "block",
            "applied": true, "phase": "triage", "sentence": "blocked: `refund` comes later\u{1b}[2J", "reasons": [reason], "released": false}),
        json!({"seq": 2, "kind": "decision", "session": "s-1", "at_ms": 240, "step": 2, "call": "c2", "tool": "lookup", "verdict": "allow",
            "applied": true, "phase": "triage", "sentence": "allowed: every rule holds", "reasons": [], "released": true}),
        json!({"seq": 3, "kind": "completed", "session": "s-1", "at_ms": 250, "call": "c2", "tool": "lookup", "outcome": "ok", "phase": "checked"}),
    ];
    let session = ContractSession {
        session: "s-1".to_owned(),
        status: "closed".to_owned(),
        phase: Some("checked".to_owned()),
        records,
        ..ContractSession::default()
    };
    ContractRecord { mode: ContractMode::Govern, sessions: vec![session], ..ContractRecord::default() }
}

fn governed() -> Seeded {
    let seeded = Seeded::new();
    seeded.experiment_in(Lane::Shared, 1, ["", ""], minute(0), Progress::Waiting);
    seeded.finish_next_governed(Lane::Shared, record(), minute(1));
    seeded.finish_next(Lane::Shared, "hello", minute(2));
    seeded
}

/// The ids of the governed scenario and of the other one.
fn scenarios(seeded: &Seeded) -> [String; 2] {
    let shown = seeded.json(&["show", "latest", "--format", "json"]);
    let ids = shown["scenarios"].as_array().expect("scenarios").iter();
    let ids: Vec<_> = ids.map(|one| format!("latest/{}", one["scenario_id"].as_str().expect("an id"))).collect();
    ids.try_into().expect("two scenarios")
}

const LANE: &str = "\
tool contracts of s-1, governed: decisions were applied
  2 calls, 0 violations, 1 refused attempt; the last phase is checked; the session is closed
  phase triage
       0.120 s refund: blocked
                 | `refund` comes later␛[2J
                 | rule transitions/valid_in_phases, rules/refund.yaml:3
       0.240 s lookup: allowed
                 | returned a result
  phase checked
  findings:
    refused attempt wrong_phase [refund, transitions/valid_in_phases, rules/refund.yaml:3]: `refund` comes later␛[2J
";

#[test]
fn show_and_trace_print_the_lane_of_a_session() {
    let seeded = governed();
    let [governed, other] = scenarios(&seeded);
    for command in ["show", "trace"] {
        let printed = seeded.printed(&[command, &governed]);
        assert!(printed.contains(LANE), "{command}: {printed}");
        let printed = seeded.printed(&[command, &other]);
        assert!(!printed.contains("tool contracts"), "{command}: {printed}");
    }
}

#[test]
fn trace_has_the_lanes_as_json_and_the_records_as_lines() {
    let seeded = governed();
    let [governed, other] = scenarios(&seeded);
    let trace = seeded.json(&["trace", &governed, "--format", "json"]);
    let lane = &trace["tool_sessions"]["lanes"][0];
    assert_eq!((&lane["origin"]["live"], &lane["violations"]), (&json!("govern"), &json!(0)), "{trace:#}");
    assert_eq!(lane["rows"][0]["call"]["decision"], "blocked");
    let lines = seeded.printed(&["trace", &governed, "--format", "contract"]);
    let records: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    assert_eq!(records, record().sessions[0].records);
    assert_eq!(seeded.printed(&["trace", &other, "--format", "contract"]), "");
}
