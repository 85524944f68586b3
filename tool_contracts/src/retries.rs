//! Retries as an agent makes them: repeated calls compared with what the contract permits.

use serde_json::Value as Json;

use crate::canonical::canonical;
use crate::code::Code;
use crate::compile::Compiled;
use crate::finding::Finding;
use crate::read::outcome::Retries;

/// A call that is over, with its times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Json,
    /// Time at which it began.
    pub started_ms: u64,
    /// Time at which it ended.
    pub ended_ms: u64,
    /// The class of its failure (`timeout`, `connection`, a status or a code); `None` when it succeeded.
    pub failure: Option<String>,
    /// The delay that the service requested.
    pub retry_after_ms: Option<u64>,
}

/// The findings about repeated calls: consecutive ones of the same tool with the same arguments, after a failure.
#[must_use]
pub fn retry_findings(set: &Compiled, calls: &[TimedCall]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rest = calls;
    while let Some(first) = rest.first() {
        let is_retry = |pair: &[TimedCall]| pair[0].failure.is_some() && is_same(&pair[0], &pair[1]);
        let count = 1 + rest.windows(2).take_while(|pair| is_retry(pair)).count();
        let (attempts, after) = rest.split_at(count);
        if let Some(tool) = set.tools.get(&first.tool) {
            judge_attempts(&tool.retries, attempts, &mut findings);
        }
        rest = after;
    }
    findings
}

fn is_same(left: &TimedCall, right: &TimedCall) -> bool {
    left.tool == right.tool && canonical(&left.arguments) == canonical(&right.arguments)
}

fn judge_attempts(rules: &Retries, attempts: &[TimedCall], findings: &mut Vec<Finding>) {
    let mut report = |code, call: &TimedCall, message: String| {
        findings.push(Finding::of_call(code, &call.tool, &call.id, message));
    };
    for (place, pair) in attempts.windows(2).enumerate() {
        let [before, retry] = pair else { continue };
        let made = place as u64 + 2;
        if !rules.permits(&classes(before)) {
            let failure = before.failure.as_deref().unwrap_or_default();
            report(Code::RetryNotPermitted, retry, format!("the call was repeated after `{failure}`"));
        } else if made > rules.max_attempts {
            report(Code::RetryBudgetExceeded, retry, format!("attempt {made} of at most {}", rules.max_attempts));
        }
        let due = before.retry_after_ms.map_or(0, |wait| before.ended_ms.saturating_add(wait));
        if rules.respect_retry_after && retry.started_ms < due {
            let early = due - retry.started_ms;
            report(Code::RetryAfterViolated, retry, format!("the call was repeated {early} ms too early"));
        }
    }
    if let (Some(first), Some(last)) = (attempts.first(), attempts.last()) {
        let took = last.ended_ms.saturating_sub(first.started_ms);
        if took > rules.total_ms {
            report(
                Code::CallTimeoutExceeded,
                last,
                format!("the call took {took} ms, and {} are allowed", rules.total_ms),
            );
        }
    }
}

/// All classes that a failure belongs to: a status is also `4xx` or `5xx`.
fn classes(call: &TimedCall) -> Vec<String> {
    let Some(failure) = &call.failure else { return Vec::new() };
    let status = failure.parse::<u64>().ok().filter(|status| (400..600).contains(status));
    let hundreds = status.map(|status| format!("{}xx", status / 100));
    [Some(failure.clone()), hundreds].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TimedCall, retry_findings};
    use crate::{CompileOptions, RawFile, RawSet, compile};

    fn check(retries: &str, calls: &[(u64, u64, Option<&str>, Option<u64>)], expected: &[&str]) {
        let text = format!("tool: pay\nside_effect: read\ntimeouts: {{total_ms: 1000}}\nretries: {retries}\n");
        let set = RawSet { files: vec![RawFile { name: "pay.yaml".to_owned(), text }] };
        let (set, _) = compile(&set, &CompileOptions::default()).expect("a set");
        let call =
            |(started_ms, ended_ms, failure, retry_after_ms): &(u64, u64, Option<&str>, Option<u64>)| TimedCall {
                tool: "pay".to_owned(),
                arguments: json!({"n": 1}),
                started_ms: *started_ms,
                ended_ms: *ended_ms,
                failure: failure.map(ToOwned::to_owned),
                retry_after_ms: *retry_after_ms,
                ..TimedCall::default()
            };
        let calls: Vec<_> = calls.iter().map(call).collect();
        let found: Vec<_> = retry_findings(&set, &calls).into_iter().map(|finding| finding.code.name()).collect();
        assert_eq!(found, expected, "{retries}");
    }

    #[test]
    fn retries_keep_classes_budgets_and_times() {
        let fails = |status| (0, 10, Some(status), None);
        check("{max_attempts: 2, retry_on: [5xx]}", &[fails("503"), (20, 30, None, None)], &[]);
        check(
            "{max_attempts: 2, retry_on: [timeout]}",
            &[fails("503"), (20, 30, None, None)],
            &["retry_not_permitted"],
        );
        let three = [fails("503"), (20, 30, Some("503"), None), (40, 50, None, None)];
        check("{max_attempts: 2, retry_on: [503]}", &three, &["retry_budget_exceeded"]);
        let early = [(0, 10, Some("429"), Some(100)), (50, 60, None, None)];
        check("{max_attempts: 2, retry_on: [429]}", &early, &["retry_after_violated"]);
        check("{max_attempts: 1, retry_on: []}", &[(0, 1001, None, None)], &["call_timeout_exceeded"]);
        check("{max_attempts: 1, retry_on: []}", &[(0, 10, None, None), (20, 30, None, None)], &[]);
    }
}
