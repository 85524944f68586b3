//! Sessions under tool contracts, for a person at a terminal: phases, calls with their decisions, and findings.

use scenario::count_noun;
use scenario::tool_session::{LaneCall, LaneNote, LaneRow, PhaseBand, SessionLane, ToolSessions};
use scenario::untrusted;

/// The most rows of a session that are shown.
const MOST_ROWS: usize = 200;
/// The most findings of a session, and events between sessions, that are shown.
const MOST_FINDINGS: usize = 50;
/// The longest name.
const MOST_NAME: usize = 60;
/// Maximum length of a line of untrusted text.
const MOST_LINE: usize = 400;

/// All sessions as lines; nothing for a scenario without any.
pub(crate) fn lines(sessions: &ToolSessions) -> Vec<String> {
    let lanes = sessions.lanes.iter().flat_map(lane);
    let title = (!sessions.between.is_empty()).then(|| ["", "between the sessions:"].map(ToOwned::to_owned));
    let shown = sessions.between.iter().take(MOST_FINDINGS).map(note);
    let more = more(sessions.between.len(), MOST_FINDINGS, "more event");
    lanes.chain(title.into_iter().flatten()).chain(shown).chain(more).collect()
}

fn lane(lane: &SessionLane) -> Vec<String> {
    let title = format!("tool contracts of {}, {}", lane.name(), lane.mode_words());
    let mut lines = vec![String::new(), title, format!("  {}", lane.summary())];
    lines.extend(lane.bands_of_first(MOST_ROWS).iter().flat_map(band));
    lines.extend(more(lane.rows.len(), MOST_ROWS, "more row"));
    lines.extend(lane.left_out_words().map(|words| format!("  {words}")));
    if !lane.findings.is_empty() {
        lines.push("  findings:".to_owned());
    }
    let findings = lane.findings.iter().take(MOST_FINDINGS);
    lines.extend(findings.map(|finding| format!("    {:<4} {}", finding.severity.word(), finding.words())));
    lines.extend(more(lane.findings.len(), MOST_FINDINGS, "more finding"));
    lines
}

fn band(band: &PhaseBand<'_>) -> Vec<String> {
    let phase = band.phase.map_or_else(|| "no phases".to_owned(), |phase| format!("phase {}", short(phase)));
    let rows = band.rows.iter().flat_map(|row| match row {
        LaneRow::Call(one) => call(one),
        LaneRow::Note(one) => vec![note(one)],
    });
    std::iter::once(format!("  {phase}")).chain(rows).collect()
}

/// Formats the call and its decision, and below them the reason, the rule and the outcome.
fn call(call: &LaneCall) -> Vec<String> {
    let mark = call.violation.map(|violation| format!(", {}", violation.words())).unwrap_or_default();
    let head = format!("{} {}: {}{mark}", time(call.at_ms), short(&call.tool), call.decision.words());
    let rule = call.rule.as_ref().map(|rule| format!("rule {}", rule.words()));
    let context = call.hold.iter().flat_map(|hold| &hold.context);
    let context = context.map(|(label, value)| format!("{}: {}", short(label), untrusted::line(value, MOST_LINE)));
    let reason = untrusted::line(call.reason(), MOST_LINE);
    let below = [reason].into_iter().chain(rule).chain(context).chain([call.afterwards()]);
    // Behind a bar, no foreign line is a command of a CI system.
    let below = below.filter(|line| !line.is_empty()).map(|line| format!("                 | {line}"));
    std::iter::once(head).chain(below).collect()
}

fn note(note: &LaneNote) -> String {
    format!("{} - {}", time(note.at_ms), note.words)
}

/// The time of a row, as wide as all others.
fn time(at_ms: Option<u64>) -> String {
    let time = at_ms.map(|at| format!("{}.{:03} s", at / 1000, at % 1000));
    format!("{:>14}", time.unwrap_or_default())
}

fn short(name: &str) -> String {
    untrusted::line(name, MOST_NAME)
}

fn more(all: usize, most: usize, what: &str) -> Option<String> {
    (all > most).then(|| format!("  and {}", count_noun(all - most, what)))
}

#[cfg(test)]
mod tests {
    use scenario::evidence::{ContractMode, ContractRecord, ContractSession, Evidence};
    use scenario::tool_session::ToolSessions;
    use serde_json::{Value as Json, json};

    use super::{MOST_ROWS, lines};

    fn sessions(records: Vec<Json>) -> ToolSessions {
        let session = ContractSession {
            session: "s-1".to_owned(),
            status: "closed".to_owned(),
            records,
            only_counted: 2,
            ..ContractSession::default()
        };
        let handoff = json!({"kind": "handoff", "at_ms": 900, "handoff": "refunds", "from": "s-1", "to": "s-2"});
        let record = ContractRecord { mode: ContractMode::Govern, sessions: vec![session], workflow: vec![handoff] };
        ToolSessions::of(Some(&Evidence { tool_contracts: Some(record), ..Evidence::default() }), None)
    }

    #[test]
    fn a_session_has_its_phases_calls_reasons_and_findings() {
        let reason = json!({"code": "wrong_phase", "rule": "transitions/valid_in_phases", "message": "no", "file": "rules/pay.yaml", "line": 3});
        let lane = sessions(vec![
            json!({"kind": "session_opened", "phase": "triage"}),
            json!({"kind": "narrowed", "at_ms": 900, "removed": [{"tool": "pay"}]}),
            json!({"kind": "decision", "at_ms": 1000, "step": 1, "call": "c1", "tool": "pay", "verdict": "block", "applied": true,
                "phase": "triage", "sentence": "blocked: no\n::error:: [transitions/valid_in_phases]", "reasons": [reason]}),
            json!({"kind": "decision", "at_ms": 2000, "step": 2, "call": "c2", "tool": "look\u{1b}[2J", "verdict": "hold", "applied": true,
                "phase": "triage", "sentence": "held: large", "reasons": [{"code": "checkpoint_required", "rule": "checkpoints/x"}]}),
            json!({"kind": "hold", "call": "c2", "tool": "look\u{1b}[2J", "checkpoints": ["x"], "context": [["amount", 70]]}),
            json!({"kind": "approval", "call": "c2", "decision": "deny", "by": "ada"}),
            json!({"kind": "session_closed", "at_ms": 3000, "phase": "done", "status": "closed"}),
        ]);
        insta::assert_snapshot!(lines(&lane).join("\n"));
    }

    #[test]
    fn a_long_session_is_cut() {
        let decision = |step: usize| json!({"kind": "decision", "call": format!("c{step}"), "tool": "t", "verdict": "allow", "phase": "open"});
        let lines = lines(&sessions((0..MOST_ROWS + 3).map(decision).collect()));
        assert_eq!(lines.iter().filter(|line| line.contains("t: allowed")).count(), MOST_ROWS);
        assert!(lines.contains(&"  and 3 more rows".to_owned()), "{lines:?}");
    }

    #[test]
    fn a_scenario_without_sessions_has_no_lines() {
        assert_eq!(lines(&ToolSessions::default()), Vec::<String>::new());
    }
}
