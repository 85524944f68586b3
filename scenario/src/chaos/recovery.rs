//! The agent after a fault: how soon the same call worked, and what it did twice.

use std::collections::{BTreeMap, HashMap};

use super::duplicate_rows::written_twice;
use crate::evidence::{Duplicate, Evidence, Exchange, FaultMark, ModelCall, Recovery};

/// The most of each that are kept.
const MOST: usize = 100;

/// One call of a target: when it came, whether a fault hit it, and whether it worked.
struct Seen {
    at_ms: u64,
    is_faulted: bool,
    worked: bool,
}

/// For every target that a fault hit, the calls and the time from the first fault until a call worked that no fault hit.
#[must_use]
pub fn recoveries(evidence: &Evidence) -> Vec<Recovery> {
    let mut targets: BTreeMap<String, Vec<Seen>> = BTreeMap::new();
    for (service, journal) in &evidence.journals {
        for exchange in &journal.exchanges {
            let target = format!("{service}:{} {}", exchange.method, exchange.path);
            targets.entry(target).or_default().push(seen_exchange(exchange));
        }
    }
    let calls = evidence.model.iter().flat_map(|model| &model.calls);
    targets.insert("model".to_owned(), calls.map(seen_call).collect());
    targets.iter().filter_map(|(target, calls)| recovery(target, calls)).take(MOST).collect()
}

/// Returns true if a call does not work by its fault. One that comes late, or whose answer carries an attack, does.
fn breaks(mark: &FaultMark) -> bool {
    let is_late = matches!(mark.mode.as_str(), "slow" | "delay" | "dribble" | "slow_first_token" | "slow_stream");
    !is_late && !mark.rule.starts_with("context_attacks")
}

fn seen_exchange(exchange: &Exchange) -> Seen {
    let Exchange { at_ms, status, fault, .. } = exchange;
    Seen { at_ms: *at_ms, is_faulted: fault.as_ref().is_some_and(breaks), worked: (200..400).contains(status) }
}

fn seen_call(call: &ModelCall) -> Seen {
    Seen {
        at_ms: call.at_ms,
        is_faulted: call.fault.as_ref().is_some_and(breaks),
        worked: (200..400).contains(&call.status),
    }
}

fn recovery(target: &str, calls: &[Seen]) -> Option<Recovery> {
    let first = calls.iter().position(|call| call.is_faulted)?;
    let after = &calls[first + 1..];
    let worked = after.iter().position(|call| !call.is_faulted && call.worked);
    Some(Recovery {
        target: target.to_owned(),
        first_fault_ms: calls[first].at_ms,
        calls: worked.map_or(after.len(), |index| index + 1) as u64,
        after_ms: worked.map(|index| after[index].at_ms.saturating_sub(calls[first].at_ms)),
    })
}

/// Changes that a service accepted more than once: requests with the same method, path, query and body, and rows with the same
/// values in databases whose writes are recorded.
#[must_use]
pub fn duplicates(evidence: &Evidence) -> Vec<Duplicate> {
    let mut found = Vec::new();
    for (service, journal) in &evidence.journals {
        let mut counts: HashMap<_, u64> = HashMap::new();
        let mut order = Vec::new();
        for exchange in journal.exchanges.iter().filter(|exchange| is_accepted_change(exchange)) {
            let Some(body) = exchange.whole_body() else { continue };
            let key = (&exchange.method, &exchange.path, &exchange.query, &body.0);
            let count = counts.entry(key).or_default();
            *count += 1;
            if *count == 2 {
                order.push(key);
            }
        }
        found.extend(
            order
                .into_iter()
                .map(|key| Duplicate { target: format!("{service}:{} {}", key.0, key.1), count: counts[&key] }),
        );
    }
    found.extend(written_twice(evidence));
    found.truncate(MOST);
    found
}

fn is_accepted_change(exchange: &Exchange) -> bool {
    let changes = matches!(exchange.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE");
    changes && exchange.has_reached() && (200..400).contains(&exchange.status)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{duplicates, recoveries};
    use crate::evidence::{Blob, Body, Evidence, Exchange, FaultMark, Journal};

    fn exchange(method: &str, body: &str, at_ms: u64, status: u16, reached: Option<bool>) -> Exchange {
        let mark = |reached| FaultMark { rule: "tool_faults[0]".to_owned(), mode: "x".to_owned(), call: 1, reached };
        Exchange {
            method: method.to_owned(),
            path: "/refunds".to_owned(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::Kept(Blob(body.as_bytes().to_vec())),
            status,
            at_ms,
            fault: reached.map(mark),
            answer: None,
        }
    }

    fn evidence(exchanges: Vec<Exchange>) -> Evidence {
        let journal = Journal { exchanges, ..Journal::default() };
        Evidence { journals: BTreeMap::from([("shop".to_owned(), journal)]), ..Evidence::default() }
    }

    #[test]
    fn a_target_recovers_with_the_first_call_that_works() {
        let found = recoveries(&evidence(vec![
            exchange("GET", "", 1, 200, None),
            exchange("GET", "", 10, 503, Some(false)),
            exchange("GET", "", 20, 503, Some(false)),
            exchange("GET", "", 30, 500, None),
            exchange("GET", "", 45, 200, None),
            exchange("POST", "", 50, 503, Some(false)),
        ]));
        let told: Vec<_> = found.iter().map(|one| (one.target.as_str(), one.calls, one.after_ms)).collect();
        assert_eq!(told, [("shop:GET /refunds", 3, Some(35)), ("shop:POST /refunds", 0, None)]);
        assert_eq!(found[0].first_fault_ms, 10);
    }

    #[test]
    fn a_call_that_works_in_spite_of_its_fault_has_nothing_to_recover_from() {
        let marked = |rule: &str, mode: &str| {
            let mut exchange = exchange("GET", "", 1, 200, Some(true));
            let mark = FaultMark { rule: rule.to_owned(), mode: mode.to_owned(), call: 1, reached: true };
            exchange.fault = Some(mark);
            exchange
        };
        let late = marked("tool_faults[0]", "slow");
        let attacked = marked("context_attacks[0]", "indirect_injection");
        assert_eq!(recoveries(&evidence(vec![late, attacked])), []);
    }

    #[test]
    fn a_change_that_was_accepted_twice_is_found() {
        let twice = vec![
            exchange("POST", "a", 1, 201, Some(true)),
            exchange("POST", "a", 2, 201, None),
            exchange("POST", "b", 3, 201, None),
            exchange("POST", "c", 4, 201, Some(false)),
            exchange("POST", "c", 5, 201, None),
            exchange("GET", "d", 6, 200, None),
            exchange("GET", "d", 7, 200, None),
        ];
        let found = duplicates(&evidence(twice));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].target.as_str(), found[0].count), ("shop:POST /refunds", 2));
    }
}
