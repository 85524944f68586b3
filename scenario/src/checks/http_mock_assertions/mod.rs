//! `http_mock_assertions`: was a mock service called the right way?

mod body;
mod field;
mod filters;
#[cfg(test)]
mod tests;

pub use field::{Field, UnknownField};

use filters::Filters;

use serde_json::Value as Json;

use super::compare::{Comparison, Mismatch};
use super::{Case, unanswered};
use crate::evidence::{Datum, Exchange, Journal, Limit};
use crate::spec::code::Code;
use crate::spec::section::{Joined, section};
use crate::spec::types::{HeaderName, Many, ServiceName, Table, Value};
use crate::spec::validate::Rules;
use crate::untrusted;
use crate::verdict::{ErrorCause, Verdict};

/// Maximum length of the description of filters.
const MOST_FILTERS: usize = 200;

section! {
    /// Looks at the requests that an `http_mock` service with `record: true` got. Every assertion must hold.
    ///
    /// ```yaml
    /// check:
    ///   type: http_mock_assertions
    ///   service: mail
    ///   assertions:
    ///     - { field: request_count, filters: { method: POST, path: /api/messages }, equals: 1 }
    ///     - { field: last_request.json.to, contains: finance@example.com }
    /// ```
    pub struct HttpMockAssertions {
        /// The mock.
        service: ServiceName,
        /// What must hold of its requests.
        assertions: Many<Assertion>,
    }
}

section! {
    /// One thing that must hold of a mock's requests.
    ///
    /// `field` says what to look at, among the requests that the filters let through:
    /// - `request_count`: how many there are.
    /// - `last_request`, `requests[N]`: one request; N counts from 0, and negative numbers from the end.
    /// - Behind one of these: `.method`, `.path`, `.body`, `.headers`, `.headers.NAME`, `.query`, `.query.NAME`, `.json`,
    ///   `.json.PATH` (keys and indices, such as `.json.items[0].id`).
    ///
    /// A request, header or JSON field that is not there fails the assertion, whatever it compares with.
    ///
    /// A mock keeps a bounded number of requests. Counts stay right beyond it, filtered by `method` and `path` too, up to
    /// a bounded number of different paths. An assertion that needs what was dropped fails and names the limit
    /// `requests`; it never passes.
    pub struct AssertionQuery {
        /// What to look at.
        field: Field,
        /// Which requests count. `method` and `path` (a literal or a glob) look at the request itself, `query` and `headers`
        /// are maps of names to values, and any other name is a header or a top-level field of a JSON or form body: `to:
        /// finance@example.com`. A field that is a list matches when one of its values does; of a JSON list, the objects in it
        /// are looked at. A body that cannot be read fails the assertion: it proves nothing.
        filters: Table<HeaderName, Value> = Table::default(),
    }
}

/// An assertion: the part to examine, and its expected value.
pub type Assertion = Joined<AssertionQuery, Comparison>;

/// The reason why it is unknown whether a request counts.
pub(super) enum Undecided {
    /// The needed part was not kept.
    Dropped(String),
    /// The needed part cannot be read.
    Unreadable(String),
}

impl From<Undecided> for Problem {
    fn from(undecided: Undecided) -> Self {
        match undecided {
            Undecided::Dropped(what) => Self::Dropped(what),
            Undecided::Unreadable(what) => Self::Found(what),
        }
    }
}

/// The reason why an assertion does not hold.
enum Problem {
    /// By what was recorded.
    Found(String),
    /// Because what it needs was dropped.
    Dropped(String),
    /// Because it cannot be used.
    Broken(String),
}

impl HttpMockAssertions {
    pub(super) fn validate(&self, rules: &mut Rules<'_>) {
        rules.at("service").recording_mock(&self.service);
        for (index, assertion) in self.assertions.iter().enumerate() {
            let mut rules = rules.at("assertions");
            let mut rules = rules.index(index);
            assertion.shared.validate(&mut rules, "an assertion");
            if let Err(error) = Filters::new(&assertion.own.filters, None) {
                rules.at("filters").at(&error.key).report(Code::InvalidValue, error.to_string(), None);
            }
        }
    }

    pub(super) fn judge(&self, case: &Case<'_>) -> Verdict {
        // A mock that was never called has an empty journal; no journal at all is our fault.
        let Some(journal) = case.evidence.journals.get(self.service.as_str()) else {
            return unanswered();
        };
        for (index, assertion) in self.assertions.iter().enumerate() {
            let which = which(&assertion.own.filters, case);
            let at = format!("assertions[{index}] `{}` of `{}`{which}", assertion.own.field, self.service);
            match hold(assertion, journal, case) {
                Ok(()) => {}
                Err(Problem::Found(message)) => {
                    return Verdict::failed(format!("{at}: {message}")).with_detail("assertion", index);
                }
                Err(Problem::Dropped(what)) => {
                    return Verdict::failed(format!("{at}: {what} (limit `{}`)", Limit::Requests))
                        .with_detail("assertion", index);
                }
                Err(Problem::Broken(message)) => {
                    return Verdict::errored(ErrorCause::UnusableCheck, format!("{at}: {message}"));
                }
            }
        }
        Verdict::passed()
    }
}

/// Describes the filters of the requests: ` (method POST, path /messages)`.
fn which(filters: &Table<HeaderName, Value>, case: &Case<'_>) -> String {
    let text = |value: Json| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let pairs = filters.iter().map(|(key, value)| format!("{key} {}", text(value.render(case.values).to_json())));
    let pairs = pairs.collect::<Vec<_>>().join(", ");
    if pairs.is_empty() { pairs } else { format!(" ({})", untrusted::line(&pairs, MOST_FILTERS)) }
}

fn hold(assertion: &Assertion, journal: &Journal, case: &Case<'_>) -> Result<(), Problem> {
    let found = observe(&assertion.own, journal, case)?;
    assertion.shared.holds(&found, case.values).map_err(|mismatch| match mismatch {
        Mismatch::Found(message) => Problem::Found(message),
        Mismatch::Broken(message) => Problem::Broken(message),
    })
}

/// The value of the field among the requests that the filters let through.
fn observe(query: &AssertionQuery, journal: &Journal, case: &Case<'_>) -> Result<Datum, Problem> {
    let filters =
        Filters::new(&query.filters, Some(case.values)).map_err(|error| Problem::Broken(error.to_string()))?;
    let mut matching = Vec::new();
    for exchange in journal.reached() {
        if filters.admit(exchange)? {
            matching.push(exchange);
        }
    }
    let uncounted = match &journal.overflow {
        Some(overflow) => filters.count(overflow)?,
        None => 0,
    };
    query.field.select(&matching, uncounted).map_err(|missing| match missing {
        field::Missing::Absent(what) => Problem::Found(what),
        field::Missing::Dropped(what) => Problem::Dropped(what),
    })
}

/// The text of a field of a service's requests, for a judge to read.
pub(super) fn read_field(field: &Field, journal: &Journal) -> Result<String, field::Missing> {
    let all: Vec<&Exchange> = journal.reached().collect();
    let uncounted = journal.overflow.as_ref().map_or(0, crate::evidence::Overflow::total);
    field.select(&all, uncounted).map(|datum| datum.text())
}
