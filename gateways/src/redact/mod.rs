//! Takes the values of secrets out of everything that is kept.
//!
//! A value is replaced by a marker that names the secret and carries a key of this attempt, which the agent does not know:
//! so it cannot write the marker itself.

mod forms;
mod leak_counts;
mod search;
mod stream;
#[cfg(test)]
mod tests;
mod unwrapped;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use scenario::evidence::{Leak, SecretForm, redacted_form};

use leak_counts::{Counting, Sightings};
use search::{Form, Hidden, SecretMatch, Text};
pub use stream::StreamRedactor;

/// The values to take out. What is seen at a place that has a name is counted, by all copies together.
#[derive(Clone, Default)]
pub struct Redactor {
    hidden: Arc<Hidden>,
    /// The same in lower case, made when it is first needed.
    folded: Arc<OnceLock<Arc<Hidden>>>,
    place: Option<Arc<str>>,
    counting: Counting,
    seen: Arc<Sightings>,
}

impl fmt::Debug for Redactor {
    /// Without the values.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes these values out, with markers of this key.
    pub fn new(secrets: &BTreeMap<String, String>, key: &str) -> Self {
        let mut forms = Vec::new();
        for (name, value) in secrets.iter().filter(|(_, value)| !value.is_empty()) {
            let marker = |form| redacted_form(name, form, key).into_bytes();
            let form = |(form, value): (SecretForm, String)| Form {
                name: name.clone(),
                value: value.into_bytes(),
                form,
                marker: marker(form),
                folded: marker(SecretForm::Case),
                wrapped: marker(SecretForm::Wrapped),
            };
            forms.extend(forms::forms(value).into_iter().map(form));
        }
        // The value of one secret may be a form of another: of two that are alike, the first is found.
        forms.sort_by_key(|form| form.form);
        Self { hidden: Arc::new(Hidden::new(forms)), ..Self::default() }
    }

    /// Takes nothing out.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Returns the same for a place: its findings are counted there.
    pub fn at(&self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into().into()), ..self.clone() }
    }

    /// Returns the same for bytes that others search too: its findings are reported, and not counted twice.
    pub fn glimpses(&self) -> Self {
        Self { counting: Counting::Glimpse, ..self.clone() }
    }

    /// Returns true if there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.hidden.longest == 0
    }

    /// Returns the sightings of values, by this redactor and all that were made from it or are its origin.
    pub fn sightings(&self) -> Vec<Leak> {
        self.seen.list()
    }

    /// Searches for values without taking them out, and returns their number.
    pub fn look(&self, bytes: &[u8]) -> u64 {
        let mut found = 0;
        self.replace(bytes, |_, _| found += 1);
        found
    }

    /// Searches for values in a name whose letters have no case.
    pub fn look_at_name(&self, name: &str) {
        self.name(name);
    }

    /// Bytes without secrets.
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        let end = self.replace(bytes, |before, marker| {
            kept.extend_from_slice(before);
            kept.extend_from_slice(marker);
        });
        kept.extend_from_slice(&bytes[end..]);
        kept
    }

    /// Text without secrets.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// A name whose letters have no case, such as that of a header, without secrets.
    pub fn name(&self, name: &str) -> String {
        let (lower, folded) = (name.to_ascii_lowercase(), self.in_lower_case());
        let mut text = Text::new(&folded, lower.as_bytes());
        let (mut kept, mut done) = (Vec::new(), 0);
        while let Some(found) = text.next_from(done) {
            kept.extend_from_slice(&name.as_bytes()[done..found.range.start]);
            let exact = self.hidden.forms.get(found.index);
            let exact = exact.filter(|form| form.value == name.as_bytes()[found.range.clone()]);
            kept.extend_from_slice(exact.map_or(found.marker, |form| &form.marker));
            self.saw(found.name);
            done = found.range.end;
        }
        kept.extend_from_slice(&name.as_bytes()[done..]);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Returns the beginning of a name whose letters have no case: a part of a secret that a cut left at the end is
    /// removed too.
    pub fn beginning_of_name(&self, name: &str) -> String {
        let folded = Self { hidden: self.in_lower_case(), ..self.clone() };
        let end = name.len() - folded.cut_at_end(name.to_ascii_lowercase().as_bytes());
        self.name(&name[..name.floor_char_boundary(end)])
    }

    /// Takes secrets out of a name whose letters have no case, in place.
    pub fn redact_name(&self, name: &mut String) {
        if !self.is_empty() {
            *name = self.name(name);
        }
    }

    /// A host's name without secrets. Its letters have no case, and a value may be cut into labels: then nothing of it stays.
    pub fn host_name(&self, name: &str) -> String {
        let found = self.name(name);
        if found != name {
            return found;
        }
        let joined = name.replace('.', "");
        let redacted = self.name(&joined);
        if redacted == joined { name.to_owned() } else { redacted }
    }

    /// Returns the same in lower case; a finding of it is no value as it is.
    fn in_lower_case(&self) -> Arc<Hidden> {
        let lower = |form: &Form| {
            let value = form.value.to_ascii_lowercase();
            let marker = if form.form == SecretForm::Plain { form.folded.clone() } else { form.marker.clone() };
            Form { value, marker, ..form.clone() }
        };
        let fold = || Arc::new(Hidden::new(self.hidden.forms.iter().map(lower).collect()));
        Arc::clone(self.folded.get_or_init(fold))
    }

    /// Replaces secrets in a text, in place.
    pub fn redact(&self, text: &mut String) {
        if !self.is_empty() {
            *text = self.text(text);
        }
    }

    /// A redactor for a stream.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }

    /// Returns the beginning of something, without secrets: a part of one that a cut left at the end is removed too.
    pub fn beginning(&self, bytes: &[u8]) -> Vec<u8> {
        self.bytes(&bytes[..bytes.len() - self.cut_at_end(bytes)])
    }

    /// Returns the number of bytes at the end that may be the first part of a value.
    fn cut_at_end(&self, bytes: &[u8]) -> usize {
        self.hidden.cut_at_end(bytes)
    }

    /// Counts a sighting, when this is a place to count at.
    fn saw(&self, name: &str) {
        if let Some(place) = &self.place {
            self.seen.add(name, place, self.counting);
        }
    }

    /// Reports each value with the bytes before it, and returns the end of the last one.
    fn replace(&self, bytes: &[u8], mut tell: impl FnMut(&[u8], &[u8])) -> usize {
        let mut done = 0;
        let mut text = Text::new(&self.hidden, bytes);
        while let Some(SecretMatch { range, name, marker, .. }) = text.next_from(done) {
            tell(&bytes[done..range.start], marker);
            self.saw(name);
            done = range.end;
        }
        done
    }
}
