//! Takes the values of secrets out of everything that is kept.
//!
//! A value is replaced by a marker that names the secret and carries a key of this attempt, which the agent does not know:
//! so it cannot write the marker itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use scenario::evidence::redacted;

/// A form that is shorter than this would be found by chance.
const SHORTEST_FORM: usize = 6;
/// A line of a value that is shorter than this is not a secret of its own.
const SHORTEST_LINE: usize = 8;
/// What a URL need not encode.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The values to take out, longest first: a value may be a part of another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    secrets: Arc<Vec<Hidden>>,
}

#[derive(Debug)]
struct Hidden {
    name: String,
    value: Vec<u8>,
    marker: Vec<u8>,
}

/// Takes values out of a stream, also where they arrive in pieces.
#[derive(Debug)]
pub(crate) struct StreamRedactor {
    redactor: Redactor,
    pending: Vec<u8>,
    found: BTreeMap<String, u64>,
}

impl Redactor {
    /// Takes these values out, with markers of this key.
    pub(crate) fn new(secrets: &BTreeMap<String, String>, key: &str) -> Self {
        let hide = |(name, value): (&String, &String)| {
            let marker = redacted(name, key).into_bytes();
            forms(value)
                .into_iter()
                .map(move |value| Hidden { name: name.clone(), value, marker: marker.clone() })
                .collect()
        };
        let filled = secrets.iter().filter(|(_, value)| !value.is_empty());
        let mut secrets: Vec<_> = filled.flat_map::<Vec<_>, _>(hide).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.value.len()));
        Self { secrets: Arc::new(secrets) }
    }

    /// Takes nothing out.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Bytes without secrets.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.replace(bytes, &mut BTreeMap::new())
    }

    /// Text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Replaces secrets in a text, in place.
    pub(crate) fn redact(&self, text: &mut String) {
        if !self.secrets.is_empty() {
            *text = self.text(text);
        }
    }

    /// A redactor for a stream.
    pub(crate) fn stream(&self) -> StreamRedactor {
        StreamRedactor { redactor: self.clone(), pending: Vec::new(), found: BTreeMap::new() }
    }

    /// The beginning of something, without secrets: what a cut left of one at the end goes too.
    pub(crate) fn beginning(&self, bytes: &[u8]) -> Vec<u8> {
        let part =
            |secret: &Hidden| (1..secret.value.len()).rev().find(|length| bytes.ends_with(&secret.value[..*length]));
        let cut = self.secrets.iter().filter_map(part).max().unwrap_or(0);
        self.bytes(&bytes[..bytes.len() - cut])
    }

    fn longest(&self) -> usize {
        self.secrets.first().map_or(0, |secret| secret.value.len())
    }

    fn replace(&self, bytes: &[u8], found: &mut BTreeMap<String, u64>) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((at, secret)) = self.first_in(rest) {
            kept.extend_from_slice(&rest[..at]);
            kept.extend_from_slice(&secret.marker);
            *found.entry(secret.name.clone()).or_default() += 1;
            rest = &rest[at + secret.value.len()..];
        }
        kept.extend_from_slice(rest);
        kept
    }

    /// The secret that stands first; of those at one place, the longest.
    fn first_in(&self, bytes: &[u8]) -> Option<(usize, &Hidden)> {
        let places = self.secrets.iter().filter_map(|secret| Some((memmem::find(bytes, &secret.value)?, secret)));
        places.min_by_key(|(at, secret)| (*at, std::cmp::Reverse(secret.value.len())))
    }
}

/// The forms in which a value travels: as it is and line by line, inside JSON, inside a URL or form, in hex, and as base64
/// wherever in a longer text it stands.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let json = serde_json::to_string(value).unwrap_or_default();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut others = vec![
        json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned(),
        utf8_percent_encode(value, UNRESERVED).to_string(),
        form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        hex.to_uppercase(),
        hex,
    ];
    others.extend(value.lines().filter(|line| line.len() >= SHORTEST_LINE).map(ToOwned::to_owned));
    for before in 0..3 {
        others.extend(
            [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD].map(|engine| inner_base64(engine, before, value)),
        );
    }
    let mut forms = vec![value.as_bytes().to_vec()];
    for form in others.into_iter().map(String::into_bytes) {
        if form.len() >= SHORTEST_FORM && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// What base64 makes of a value that so many bytes stand before: the letters that depend on the value alone.
fn inner_base64(engine: &GeneralPurpose, before: usize, value: &str) -> String {
    let encoded = engine.encode([&vec![0; before], value.as_bytes()].concat());
    let first = (before * 8).div_ceil(6);
    let last = (before + value.len()) * 8 / 6;
    encoded.get(first..last).unwrap_or_default().to_owned()
}

impl StreamRedactor {
    /// Takes a piece, and returns what is safe by now.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        let mut kept = Vec::new();
        loop {
            // A value that begins later than this may go on in the next piece.
            let safe = self.pending.len().saturating_sub(self.redactor.longest().saturating_sub(1));
            let Some((at, secret)) = self.redactor.first_in(&self.pending).filter(|(at, _)| *at < safe) else {
                kept.extend(self.pending.drain(..safe));
                return kept;
            };
            kept.extend_from_slice(&self.pending[..at]);
            kept.extend_from_slice(&secret.marker);
            *self.found.entry(secret.name.clone()).or_default() += 1;
            let end = at + secret.value.len();
            self.pending.drain(..end);
        }
    }

    /// What is left.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.pending);
        self.redactor.replace(&rest, &mut self.found)
    }

    /// How often each secret was found.
    pub(crate) fn found(&self) -> Vec<(String, u64)> {
        self.found.iter().map(|(name, count)| (name.clone(), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD_NO_PAD;
    use proptest::prelude::*;

    use super::Redactor;

    fn redactor() -> Redactor {
        let secrets = [("KEY", "s3cret"), ("LONG", "s3cret-and-more"), ("EMPTY", "")];
        let secrets: BTreeMap<_, _> = secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Redactor::new(&secrets, "k")
    }

    #[test]
    fn the_longest_value_is_taken_out_first() {
        let text = redactor().text("a s3cret, and s3cret-and-more.");
        assert_eq!(text, "a [redacted:KEY:k], and [redacted:LONG:k].");
    }

    #[test]
    fn a_value_is_found_in_the_forms_in_which_it_travels() {
        let secrets = BTreeMap::from([("PEM".to_owned(), "-- key --\na+b/c=\"d\"".to_owned())]);
        let redactor = Redactor::new(&secrets, "k");
        for form in [
            "-- key --\na+b/c=\"d\"",
            r#"-- key --\na+b/c=\"d\""#,
            "--%20key%20--%0Aa%2Bb%2Fc%3D%22d%22",
            "--+key+--%0Aa%2Bb%2Fc%3D%22d%22",
            "2d2d206b6579202d2d0a612b622f633d226422",
            "-- key --",
        ] {
            assert_eq!(redactor.text(&format!("<{form}>")), "<[redacted:PEM:k]>", "{form}");
        }
    }

    #[test]
    fn a_value_is_found_in_base64_wherever_it_stands() {
        for before in ["", "u:", "use:", "user:"] {
            for after in ["", "x", "yz"] {
                let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{before}s3cret-and-more{after}"));
                let text = redactor().text(&format!("Basic {encoded}"));
                assert!(text.contains("[redacted:LONG:k]"), "{before} {after}: {text}");
            }
        }
    }

    #[test]
    fn what_a_cut_left_of_a_value_goes_too() {
        assert_eq!(redactor().beginning(b"a s3cret-and-mo"), b"a ");
        assert_eq!(redactor().beginning(b"a s3cret b"), b"a [redacted:KEY:k] b");
    }

    proptest! {
        #[test]
        fn a_stream_is_the_same_however_it_is_cut(words in prop::collection::vec("s3cret|s3|cret|-and-more|[a-z ]{0,6}", 0..12), cuts in prop::collection::vec(1usize..9, 0..40)) {
            let text = words.concat();
            let mut stream = redactor().stream();
            let mut kept = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                kept.extend(stream.take(piece));
                rest = more;
            }
            kept.extend(stream.take(rest));
            kept.extend(stream.finish());
            prop_assert_eq!(String::from_utf8_lossy(&kept).into_owned(), redactor().text(&text));
        }
    }
}
