//! Metrics from an agent's own events.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

/// The calls of one tool.
#[derive(Debug, Default)]
struct Tool {
    calls: u64,
    failed: u64,
    /// Durations of the calls that have one, in milliseconds.
    durations_ms: Vec<u64>,
}

/// The metrics that SDKs show beside the events. A tool's call counts once: when it ended, or when the model asked for it.
/// Counters are whole numbers and never `null`, because clients insist on that.
#[must_use]
pub fn metrics(events: &[Json]) -> Json {
    let mut tools: BTreeMap<&str, Tool> = BTreeMap::new();
    for event in events.iter().filter(|event| is_call(event)) {
        tools.entry(text(event, "tool")).or_default().count(event);
    }
    let mut all = Tool::default();
    for tool in tools.values() {
        all.calls += tool.calls;
        all.failed += tool.failed;
        all.durations_ms.extend(&tool.durations_ms);
    }
    let breakdown = tools.iter().map(|(name, tool)| ((*name).to_owned(), tool.breakdown()));
    json!({
        "total_tool_calls": all.calls,
        "tool_success_rate": 1.0 - all.error_rate(),
        "mean_duration_ms": all.mean_ms(),
        "p95_duration_ms": all.p95_ms(),
        "tool_breakdown": Json::Object(breakdown.collect()),
    })
}

/// Returns true if a call of a tool is counted by this event.
fn is_call(event: &Json) -> bool {
    matches!((text(event, "event_type"), text(event, "phase")), ("tool_call", "end") | ("tool_use", "invoked"))
}

fn text<'e>(event: &'e Json, field: &str) -> &'e str {
    event.get(field).and_then(Json::as_str).unwrap_or_default()
}

impl Tool {
    fn count(&mut self, event: &Json) {
        self.calls += 1;
        self.failed += u64::from(text(event, "status") == "error");
        self.durations_ms.extend(event.get("duration_ms").and_then(Json::as_u64));
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate of at most some thousand calls")]
    fn error_rate(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.failed as f64 / self.calls as f64 }
    }

    fn mean_ms(&self) -> u64 {
        let sum: u128 = self.durations_ms.iter().map(|ms| u128::from(*ms)).sum();
        let mean = sum / (self.durations_ms.len().max(1) as u128);
        u64::try_from(mean).unwrap_or(u64::MAX)
    }

    fn p95_ms(&self) -> u64 {
        let mut sorted = self.durations_ms.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * 95).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn breakdown(&self) -> Json {
        json!({"count": self.calls, "mean_ms": self.mean_ms(), "error_rate": self.error_rate()})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::metrics;

    #[test]
    fn a_call_counts_once() {
        let call = |phase: &str, tool: &str, ms: u64, status: &str| json!({"event_type": "tool_call", "phase": phase, "tool": tool, "duration_ms": ms, "status": status});
        let events = [
            call("start", "read", 0, "ok"),
            call("end", "read", 10, "ok"),
            call("start", "write", 0, "ok"),
            call("end", "write", 30, "error"),
            json!({"event_type": "llm_call", "phase": "complete", "tool": "openai.create", "duration_ms": 999}),
            json!({"event_type": "tool_use", "phase": "invoked", "tool": "read", "status": "ok"}),
            json!({"event": "odd"}),
            json!({"event_type": 7, "phase": [], "tool": {}, "duration_ms": -1}),
        ];
        insta::assert_json_snapshot!(metrics(&events), @r#"
        {
          "total_tool_calls": 3,
          "tool_success_rate": 0.6666666666666667,
          "mean_duration_ms": 20,
          "p95_duration_ms": 30,
          "tool_breakdown": {
            "read": {
              "count": 2,
              "mean_ms": 10,
              "error_rate": 0.0
            },
            "write": {
              "count": 1,
              "mean_ms": 30,
              "error_rate": 1.0
            }
          }
        }
        "#);
    }

    #[test]
    fn without_calls_nothing_is_null() {
        insta::assert_json_snapshot!(metrics(&[]), @r#"
        {
          "total_tool_calls": 0,
          "tool_success_rate": 1.0,
          "mean_duration_ms": 0,
          "p95_duration_ms": 0,
          "tool_breakdown": {}
        }
        "#);
    }

    #[test]
    fn the_95th_of_a_hundred_is_the_95th() {
        let end = |ms: u64| json!({"event_type": "tool_call", "phase": "end", "tool": "t", "duration_ms": ms});
        let events: Vec<_> = (1..=100).rev().map(end).collect();
        assert_eq!(metrics(&events)["p95_duration_ms"], 95);
        assert_eq!(metrics(&[end(u64::MAX), end(u64::MAX)])["mean_duration_ms"], u64::MAX);
    }
}
