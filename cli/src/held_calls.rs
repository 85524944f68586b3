//! Calls that wait for a person, in words for a terminal and as JSON for a program that reads along.

use scenario::event::Event;
use scenario::untrusted;
use serde_json::{Value as Json, json};

use crate::times::second;

/// The most characters of a name that are shown.
const MOST: usize = 100;

/// A line about a call that waits, with the commands to decide, or about the decision.
pub(crate) fn words(event: &Event) -> Option<String> {
    let shown = |text: &str| untrusted::line(text, MOST);
    match event {
        Event::CallHeld { approval, tool, deadline } => {
            let (id, tool, until) = (shown(approval), shown(tool), second(*deadline));
            Some(format!(
                "`{tool}` waits for a person until {until}: look with `touchstone approvals show {id}`, decide with `touchstone approvals approve {id}` or `touchstone approvals deny {id}`"
            ))
        }
        Event::CallDecided { tool, answer, by, .. } => {
            let tool = shown(tool);
            Some(match by.as_str() {
                "" => format!("nobody decided on `{tool}` in time"),
                by => format!("`{tool}` was {} by {}", shown(answer), shown(by)),
            })
        }
        _ => None,
    }
}

/// The same for a program: the kind of the line, and what it says.
pub(crate) fn streamed(event: &Event) -> Option<(&'static str, Json)> {
    match event {
        Event::CallHeld { .. } => Some(("call_held", event.body())),
        Event::CallDecided { .. } => Some(("call_decided", event.body())),
        _ => None,
    }
}

/// The fields of `more` beside those that say which scenario it is about.
pub(crate) fn beside(mut about: Json, more: &Json) -> Json {
    for (name, value) in more.as_object().into_iter().flatten() {
        about[name] = json!(value);
    }
    about
}

#[cfg(test)]
mod tests {
    use scenario::event::Event;
    use serde_json::json;

    use super::{beside, streamed, words};

    fn held() -> Event {
        let deadline = "2026-11-19T04:00:00Z".parse().expect("a time");
        Event::CallHeld { approval: "ap_1".to_owned(), tool: "ref\u{1b}und".to_owned(), deadline }
    }

    #[test]
    fn a_held_call_is_told_with_the_commands_to_decide() {
        let told = words(&held()).expect("words");
        assert!(told.contains("`ref␛und` waits for a person until 2026-11-19T04:00:00Z"), "{told}");
        assert!(told.contains("touchstone approvals approve ap_1"), "{told}");
        let decided = |by: &str| Event::CallDecided {
            approval: "ap_1".to_owned(),
            tool: "refund".to_owned(),
            answer: "denied".to_owned(),
            by: by.to_owned(),
        };
        assert_eq!(words(&decided("ada")).as_deref(), Some("`refund` was denied by ada"));
        assert_eq!(words(&decided("")).as_deref(), Some("nobody decided on `refund` in time"));
        assert_eq!(words(&Event::AgentStarted), None);
    }

    #[test]
    fn a_program_reads_which_call_of_which_scenario_waits() {
        let (kind, more) = streamed(&held()).expect("a line");
        let line = beside(json!({ "scenario_id": "default-r0" }), &more);
        assert_eq!(
            (kind, &line["approval"], &line["scenario_id"]),
            ("call_held", &json!("ap_1"), &json!("default-r0"))
        );
    }
}
