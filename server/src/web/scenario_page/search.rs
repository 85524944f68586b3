//! Searches moments for a text: in their words, and in their evidence. Nothing is rendered for that, so that ten
//! thousand moments are looked through quickly.

use std::collections::HashSet;

use scenario::evidence::{Answer, AuditEvent, Blob, Body, Evidence};
use scenario::trace::{Moment, Source};
use store::StoredEvent;

use super::Shown;
use super::exchange::{Key, answer, key};
use super::moment_html::written_down;

/// The searched text.
#[derive(Debug)]
pub(super) struct Search<'a> {
    /// The text, in small letters.
    text: String,
    /// The requests to mocks whose answers have it.
    answered: HashSet<Key<'a>>,
}

impl<'a> Search<'a> {
    /// Reads a search; `None` when it is empty.
    pub(super) fn of(text: &str, evidence: Option<&'a Evidence>) -> Option<Self> {
        let text = Some(text.trim().to_lowercase()).filter(|text| !text.is_empty())?;
        let mut search = Self { text, answered: HashSet::new() };
        let audit = evidence.and_then(|evidence| evidence.audit.as_ref()).into_iter().flatten();
        let answers = audit.filter_map(answer).filter(|(_, body)| body.is_some_and(|body| search.is_in(body)));
        search.answered = answers.map(|(key, _)| key).collect();
        Some(search)
    }

    /// True when a moment has it.
    pub(super) fn finds(&self, shown: &Shown, moment: &Moment<'_>) -> bool {
        let evidence = shown.evidence.as_deref();
        match (moment.source, evidence) {
            (Source::Event(index), _) => shown.events.get(index).is_some_and(|stored| self.in_event(shown, stored)),
            (source, Some(evidence)) => self.in_evidence(evidence, source).unwrap_or(false),
            (_, None) => false,
        }
    }

    fn in_event(&self, shown: &Shown, stored: &StoredEvent) -> bool {
        let happened = &stored.event.happened;
        let body = || shown.workers.named(happened.body()).to_string();
        self.is_in(happened.kind()) || self.is_in(&happened.kind().replace('_', " ")) || self.is_in(&body())
    }

    fn in_evidence(&self, evidence: &Evidence, source: Source<'_>) -> Option<bool> {
        let model = evidence.model.as_ref();
        Some(match source {
            Source::Event(_) => false,
            Source::Model(index) => {
                let call = model?.calls.get(index)?;
                self.is_in(&call.request_model) || self.in_body(&call.request) || self.in_body(&call.response)
            }
            Source::Tool(call) => {
                let (tool, arguments) = (call.seen.tool.as_str(), call.seen.arguments_text());
                [tool, &arguments, call.result().unwrap_or_default()].into_iter().any(|text| self.is_in(text))
            }
            Source::Exchange(service, index) => {
                let exchange = evidence.journals.get(service)?.exchanges.get(index)?;
                let pairs = exchange.query.iter().chain(&exchange.headers).flat_map(|(name, value)| [name, value]);
                let mut texts = pairs.map(String::as_str).chain([service, &exchange.method, &exchange.path]);
                texts.any(|text| self.is_in(text))
                    || self.answered.contains(&key(service, exchange))
                    || self.is_in(&format!("{} {service}{}", exchange.method, exchange.path))
                    || self.in_body(&exchange.body)
            }
            Source::Audit(index) => self.in_audit(&evidence.audit.as_ref()?.get(index)?.event),
            Source::Probe(name) => {
                self.is_in(name) || evidence.answers.get(name)?.iter().any(|one| self.in_answer(one))
            }
            Source::Fault(index) => {
                let firing = evidence.faults.as_ref()?.firings.get(index)?;
                [&firing.target, &firing.mode, &firing.rule].into_iter().any(|text| self.is_in(text))
            }
        })
    }

    fn in_audit(&self, event: &AuditEvent) -> bool {
        let body = match event {
            AuditEvent::HttpCall { response_body: Some(body), .. } => body,
            _ => "",
        };
        self.is_in(&written_down(event)) || self.is_in(body)
    }

    /// Answers of probes have many shapes; their JSON has the texts of all.
    fn in_answer(&self, answer: &Answer) -> bool {
        serde_json::to_string(answer).is_ok_and(|text| self.is_in(&text))
    }

    fn in_body(&self, body: &Body) -> bool {
        match body {
            Body::Kept(Blob(bytes)) | Body::Cut { kept: Blob(bytes), .. } => {
                self.is_in(&String::from_utf8_lossy(bytes))
            }
            Body::Dropped { .. } => false,
        }
    }

    fn is_in(&self, text: &str) -> bool {
        let (wanted, text) = (self.text.as_bytes(), text.as_bytes());
        if self.text.is_ascii() {
            // Most of what people look for, without making a copy of what they look in.
            return text.windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted));
        }
        String::from_utf8_lossy(text).to_lowercase().contains(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Search;

    #[test]
    fn a_text_is_found_in_small_and_large_letters() {
        for (wanted, text, expected) in [
            ("ORDER", "the order 7", true),
            (" order ", "Orders", true),
            ("ÄRGER", "viel ärger", true),
            ("order", "orde", false),
            ("order", "", false),
        ] {
            assert_eq!(Search::of(wanted, None).expect("something").is_in(text), expected, "{wanted} in {text}");
        }
        assert!(Search::of(" ", None).is_none());
    }
}
