//! Requests over HTTP in words: what was sent to a mock, and what it answered, as far as that was written down.

use std::collections::HashMap;

use maud::{Markup, html};
use scenario::evidence::{AuditEvent, Audited, Evidence, Exchange};
use scenario::trace::{Moment, Source};
use scenario::untrusted;

use super::moment_html::{answered, fault};
use crate::web::json;
use crate::web::numbers::count_noun;
use crate::web::untrusted_html::{Marks, beginning};

/// The most headers or parameters of a request on a page.
const PAIRS: usize = 100;
/// The size limit of each in bytes.
const MOST_VALUE: usize = 2000;

/// The identity of a request: the mock, its time, its method and path.
pub(super) type Key<'a> = (&'a str, u64, &'a str, &'a str);

/// The answers to the requests on a page. A mock's journal has none; they are with what was written down of the agent's
/// doings.
#[derive(Debug, Default)]
pub(super) struct Answers<'a>(HashMap<Key<'a>, Vec<Option<&'a str>>>);

impl<'a> Answers<'a> {
    /// The answers to the requests of these moments.
    pub(super) fn of(evidence: Option<&'a Evidence>, moments: &[&Moment<'_>]) -> Self {
        let Some(evidence) = evidence else { return Self::default() };
        let mut answers = HashMap::new();
        for moment in moments {
            let Source::Exchange(service, index) = moment.source else { continue };
            let Some((service, journal)) = evidence.journals.get_key_value(service) else { continue };
            answers.extend(journal.exchanges.get(index).map(|exchange| (key(service, exchange), Vec::new())));
        }
        for (key, body) in evidence.audit.iter().flatten().filter_map(answer) {
            if let Some(found) = answers.get_mut(&key) {
                found.push(body);
            }
        }
        Self(answers)
    }

    /// The body of the answer to a request: `None` when nobody wrote it down, `Some(None)` when it was empty. Of
    /// several requests in the same millisecond, each has the answer at its own place.
    fn to(&self, service: &str, exchanges: &'a [Exchange], index: usize) -> Option<Option<&'a str>> {
        let own = key(service, exchanges.get(index)?);
        let same = |exchange: &&Exchange| key(service, exchange) == own;
        let near = exchanges[..index].iter().rev().take_while(|one| one.at_ms == own.1);
        self.0.get(&own)?.get(near.filter(same).count()).copied()
    }
}

/// Returns the recorded answer of a service: its request, and its body unless it was empty.
pub(super) fn answer(audited: &Audited) -> Option<(Key<'_>, Option<&str>)> {
    let AuditEvent::HttpCall { service: Some(service), method, path, response_body, .. } = &audited.event else {
        return None;
    };
    Some(((service, audited.at_ms.unwrap_or(0), method, path), response_body.as_deref()))
}

/// Builds the identity of a request to a mock.
pub(super) fn key<'a>(service: &'a str, exchange: &'a Exchange) -> Key<'a> {
    (service, exchange.at_ms, &exchange.method, &exchange.path)
}

/// A request to a mock in one line, and all that is known of it.
pub(super) fn exchange(
    evidence: &Evidence,
    service: &str,
    index: usize,
    answers: &Answers<'_>,
    marks: Marks<'_>,
) -> Option<(Markup, Markup)> {
    let exchanges = &evidence.journals.get(service)?.exchanges;
    let exchange = exchanges.get(index)?;
    let label = html! {
        strong { (untrusted::line(&exchange.method, 12)) } " "
        (untrusted::line(service, 40)) (marks.text(&untrusted::line(&exchange.path, 140))) " " (answered(exchange.status))
        (fault(exchange.fault.as_ref()))
    };
    let details = html! {
        @if !exchange.query.is_empty() { p.part { "Query" } (pairs(&exchange.query, marks)) }
        p.part { "Request headers" }
        @if exchange.headers.is_empty() { p.quiet { "None." } } @else { (pairs(&exchange.headers, marks)) }
        p.part { "Request body" } (json::body(&exchange.body, marks))
        p.part { "Response status" } p { (exchange.status) }
        p.part { "Response body" }
        @match answers.to(service, exchanges, index) {
            Some(body) => (response(body, marks)),
            None => p.quiet { "Not written down; with " code { "audit: {http_calls: true}" } " in the spec, it would be." },
        }
    };
    Some((label, details))
}

/// Another call over HTTP, all that is known of it.
pub(super) fn call(event: &AuditEvent, marks: Marks<'_>) -> Option<Markup> {
    let AuditEvent::HttpCall { service, host, method, path, status, response_body } = event else { return None };
    Some(html! {
        dl.pairs {
            dt { "Host" } dd { (marks.text(beginning(host, MOST_VALUE).0)) }
            @if let Some(service) = service { dt { "Service" } dd { (untrusted::line(service, 80)) } }
            dt { "Request" } dd { (untrusted::line(method, 20)) " " (marks.text(beginning(path, MOST_VALUE).0)) }
            dt { "Response status" }
            dd { @match status { Some(status) => (status), None => span.bad { "none: it was refused" } } }
        }
        @if status.is_some() { p.part { "Response body" } (response(response_body.as_deref(), marks)) }
    })
}

/// Renders the count of requests to mocks after the last one that is stored.
pub(super) fn only_counted(evidence: Option<&Evidence>) -> Markup {
    let journals = evidence.into_iter().flat_map(|evidence| &evidence.journals);
    let over = journals.filter_map(|(service, journal)| Some((service, journal.overflow.as_ref()?.total())));
    html! {
        @for (service, many) in over.filter(|(_, many)| *many > 0) {
            p.quiet {
                (count_noun(many, "more request")) " to " code { (untrusted::line(service, 40)) }
                " came after the last one that is kept, and " (if many == 1 { "was" } else { "were" }) " only counted."
            }
        }
    }
}

fn response(body: Option<&str>, marks: Marks<'_>) -> Markup {
    match body {
        Some(body) => json::document(body, marks),
        None => html! { p.quiet { "Empty." } },
    }
}

fn pairs(pairs: &[(String, String)], marks: Marks<'_>) -> Markup {
    html! {
        dl.pairs { @for (name, value) in pairs.iter().take(PAIRS) {
            dt { (marks.text(name)) }
            dd { (marks.text(beginning(value, MOST_VALUE).0)) }
        } }
        @if pairs.len() > PAIRS { p.quiet { (pairs.len() - PAIRS) " more; all of them are in the evidence." } }
    }
}
