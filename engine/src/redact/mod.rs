//! Takes the values of secrets out of everything that is kept.
//!
//! A value is replaced by a marker that names the secret and carries a key of this attempt, which the agent does not know:
//! so it cannot write the marker itself.

mod forms;
mod sightings;
mod stream;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use scenario::evidence::{Leak, redacted};

use sightings::Sightings;
pub(crate) use stream::StreamRedactor;

/// The values to take out. What is seen at a place that has a name is counted, by all copies together.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    hidden: Arc<Hidden>,
    /// The same in lower case, made when it is first needed.
    folded: Arc<OnceLock<Arc<Hidden>>>,
    place: Option<Arc<str>>,
    seen: Arc<Sightings>,
}

/// Every form of every value, and how to find them all at once.
#[derive(Default)]
struct Hidden {
    forms: Vec<Form>,
    /// `None` when there is nothing to look for, or too much.
    search: Option<AhoCorasick>,
    longest: usize,
}

#[derive(Clone)]
struct Form {
    name: String,
    value: Vec<u8>,
    marker: Vec<u8>,
}

/// A value that was found.
struct Found<'a> {
    range: Range<usize>,
    name: &'a str,
    marker: &'a [u8],
}

impl Hidden {
    fn new(forms: Vec<Form>) -> Self {
        let longest = forms.iter().map(|form| form.value.len()).max().unwrap_or(0);
        // A value may be a part of another: of those that begin at one place, the longest is meant.
        let mut builder = AhoCorasick::builder();
        // A table of all states would be large for a long value.
        builder.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::ContiguousNFA));
        let search = if forms.is_empty() { None } else { builder.build(forms.iter().map(|form| &form.value)).ok() };
        Self { forms, search, longest }
    }
}

impl fmt::Debug for Redactor {
    /// Without the values.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes these values out, with markers of this key.
    pub(crate) fn new(secrets: &BTreeMap<String, String>, key: &str) -> Self {
        let mut forms = Vec::new();
        for (name, value) in secrets.iter().filter(|(_, value)| !value.is_empty()) {
            let marker = redacted(name, key).into_bytes();
            let form = |value: String| Form { name: name.clone(), value: value.into_bytes(), marker: marker.clone() };
            forms.extend(forms::forms(value).into_iter().map(form));
        }
        Self { hidden: Arc::new(Hidden::new(forms)), ..Self::default() }
    }

    /// Takes nothing out.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// The same, for what is seen at a place: what it finds is counted there.
    pub(crate) fn at(&self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into().into()), ..self.clone() }
    }

    /// Where values were seen, by this one and all that were made from it or are its origin.
    pub(crate) fn sightings(&self) -> Vec<Leak> {
        self.seen.list()
    }

    /// Looks for values without taking them out, and says how many there were.
    pub(crate) fn look(&self, bytes: &[u8]) -> u64 {
        let mut found = 0;
        self.replace(bytes, |_, _| found += 1);
        found
    }

    /// Bytes without secrets.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        let end = self.replace(bytes, |before, marker| {
            kept.extend_from_slice(before);
            kept.extend_from_slice(marker);
        });
        kept.extend_from_slice(&bytes[end..]);
        kept
    }

    /// Text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// A host's name without secrets. Its letters have no case, and a value may be cut into labels: then nothing of it stays.
    pub(crate) fn host_name(&self, name: &str) -> String {
        let folded = Self { hidden: self.in_lower_case(), ..self.clone() };
        let lower = name.to_ascii_lowercase();
        let found = folded.text(&lower);
        if found != lower {
            return found;
        }
        let joined = lower.replace('.', "");
        let redacted = folded.text(&joined);
        if redacted == joined { name.to_owned() } else { redacted }
    }

    fn in_lower_case(&self) -> Arc<Hidden> {
        let lower = |form: &Form| Form { value: form.value.to_ascii_lowercase(), ..form.clone() };
        let fold = || Arc::new(Hidden::new(self.hidden.forms.iter().map(lower).collect()));
        Arc::clone(self.folded.get_or_init(fold))
    }

    /// Replaces secrets in a text, in place.
    pub(crate) fn redact(&self, text: &mut String) {
        if self.hidden.longest > 0 {
            *text = self.text(text);
        }
    }

    /// A redactor for a stream.
    pub(crate) fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }

    /// The beginning of something, without secrets: what a cut left of one at the end goes too.
    pub(crate) fn beginning(&self, bytes: &[u8]) -> Vec<u8> {
        self.bytes(&bytes[..bytes.len() - self.cut_at_end(bytes)])
    }

    /// How many bytes at the end may be the first part of a value.
    fn cut_at_end(&self, bytes: &[u8]) -> usize {
        let part = |form: &Form| (1..form.value.len()).rev().find(|length| bytes.ends_with(&form.value[..*length]));
        self.hidden.forms.iter().filter_map(part).max().unwrap_or(0)
    }

    fn longest(&self) -> usize {
        self.hidden.longest
    }

    /// Counts a sighting, when this is a place to count at.
    fn saw(&self, name: &str) {
        if let Some(place) = &self.place {
            self.seen.add(name, place);
        }
    }

    /// Tells of each value with what stands before it, and returns where the last one ended.
    fn replace(&self, bytes: &[u8], mut tell: impl FnMut(&[u8], &[u8])) -> usize {
        let mut done = 0;
        while let Some(found) = self.next_in(bytes, done) {
            tell(&bytes[done..found.range.start], found.marker);
            self.saw(found.name);
            done = found.range.end;
        }
        done
    }

    /// The value that stands first from here on; of those at one place, the longest.
    fn next_in(&self, bytes: &[u8], from: usize) -> Option<Found<'_>> {
        let Some(search) = &self.hidden.search else { return self.everything(bytes, from) };
        let found = search.find(aho_corasick::Input::new(bytes).range(from..))?;
        let form = self.hidden.forms.get(found.pattern().as_usize())?;
        Some(Found { range: found.range(), name: &form.name, marker: &form.marker })
    }

    /// Should the values be too long to be looked for, then nothing is kept at all.
    fn everything(&self, bytes: &[u8], from: usize) -> Option<Found<'_>> {
        let form = self.hidden.forms.first()?;
        (from < bytes.len()).then_some(Found { range: from..bytes.len(), name: &form.name, marker: &form.marker })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
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
    fn a_value_in_a_name_is_found_in_any_case_and_in_labels() {
        let name = |name: &str| redactor().host_name(name);
        assert_eq!(name("S3CRET.x.s3cret-AND-more"), "[redacted:KEY:k].x.[redacted:LONG:k]");
        assert_eq!(name("s3c.ret.evil.example"), "[redacted:KEY:k]evilexample");
        assert_eq!(name("API.Example.com"), "API.Example.com");
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
    fn what_is_seen_at_a_place_is_counted_there() {
        let redactor = redactor();
        let mail = redactor.at("http mail");
        mail.text("s3cret and s3cret");
        redactor.text("s3cret at no place");
        let mut stream = redactor.at("model").stream();
        stream.take(b"s3cr");
        stream.take(b"et-and-more");
        stream.finish();
        assert_eq!(redactor.at("nowhere").look(b"nothing"), 0);
        let seen: Vec<_> = redactor
            .sightings()
            .into_iter()
            .map(|leak| format!("{} in {}: {}", leak.secret, leak.place, leak.count))
            .collect();
        assert_eq!(seen, ["KEY in http mail: 2", "LONG in model: 1"]);
    }

    #[test]
    fn values_are_not_shown_for_debugging() {
        assert!(!format!("{:?} {:?}", redactor(), redactor().stream()).contains("s3cret"));
    }

    #[test]
    fn what_a_cut_left_of_a_value_goes_too() {
        assert_eq!(redactor().beginning(b"a s3cret-and-mo"), b"a ");
        assert_eq!(redactor().beginning(b"a s3cret b"), b"a [redacted:KEY:k] b");
    }

    /// Ways in which a value may be written down.
    fn encodings(value: &str) -> Vec<String> {
        let json = serde_json::to_string(value).expect("JSON");
        let json = json[1..json.len() - 1].to_owned();
        let percent = percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC);
        let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        let letters = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let percent =
            percent.to_string().replace("%2D", "-").replace("%2E", ".").replace("%5F", "_").replace("%7E", "~");
        let twice = percent.replace('%', "%25");
        vec![
            value.to_owned(),
            json.replace('/', "\\/"),
            json,
            percent,
            twice,
            form,
            hex.to_uppercase(),
            hex,
            letters,
            html,
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_value_is_found_in_every_encoding(value in "[ -~é€😀]{8,40}", before in "[#;]{0,5}", after in "[#;]{0,5}", bytes in prop::collection::vec(any::<u8>(), 0..4), more in prop::collection::vec(any::<u8>(), 0..4)) {
            prop_assume!(!"[redacted:KEY:k]".contains(&value) && value.trim() == value);
            let secrets = BTreeMap::from([("KEY".to_owned(), value.clone())]);
            let redactor = Redactor::new(&secrets, "k");
            for form in encodings(&value) {
                let text = redactor.text(&format!("{before}{form}{after}"));
                prop_assert!(text.contains("[redacted:KEY:k]") && !text.contains(&form), "{form}: {text}");
            }
            let whole = [bytes, value.into_bytes(), more].concat();
            for encoded in [BASE64_STANDARD_NO_PAD.encode(&whole), BASE64_URL_SAFE_NO_PAD.encode(&whole)] {
                let text = redactor.text(&encoded);
                prop_assert!(text.contains("[redacted:KEY:k]"), "{encoded}: {text}");
            }
        }

        #[test]
        fn a_cut_leaves_nothing_of_a_value(value in "[a-z0-9]{8,20}", at in 1usize..8) {
            let secrets = BTreeMap::from([("KEY".to_owned(), value.clone())]);
            let redactor = Redactor::new(&secrets, "K");
            prop_assert_eq!(redactor.beginning(format!("#{}", &value[..at]).as_bytes()), b"#");
        }

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
