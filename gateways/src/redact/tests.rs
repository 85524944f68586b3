//! Tests of the redacted values, and of their forms.

use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    assert_eq!(name("S3CRET.x.s3cret-AND-more"), "[redacted:KEY/case:k].x.[redacted:LONG/case:k]");
    assert_eq!(name("s3c.ret.evil.example"), "[redacted:KEY:k]evilexample");
    assert_eq!(name("API.Example.com"), "API.Example.com");
}

#[test]
fn a_value_is_found_in_the_forms_in_which_it_travels() {
    let secrets = BTreeMap::from([("PEM".to_owned(), "-- key --\na+b/c=\"d\"".to_owned())]);
    let redactor = Redactor::new(&secrets, "k");
    for (form, marker) in [
        ("-- key --\na+b/c=\"d\"", "[redacted:PEM:k]"),
        (r#"-- key --\na+b/c=\"d\""#, "[redacted:PEM/json:k]"),
        ("--%20key%20--%0Aa%2Bb%2Fc%3D%22d%22", "[redacted:PEM/url:k]"),
        ("--+key+--%0Aa%2Bb%2Fc%3D%22d%22", "[redacted:PEM/form:k]"),
        ("2d2d206b6579202d2d0a612b622f633d226422", "[redacted:PEM/hex:k]"),
        ("-- key --", "[redacted:PEM/line:k]"),
        ("-- KEY --\nA+B/C=\"D\"", "[redacted:PEM/case:k]"),
        ("\"d\"=c/b+a\n-- yek --", "[redacted:PEM/reversed:k]"),
        ("2d2d206b6579202d2d0a6\n12b622f633d226422", "[redacted:PEM/wrapped:k]"),
    ] {
        assert_eq!(redactor.text(&format!("<{form}>")), format!("<{marker}>"), "{form}");
    }
}

#[test]
fn the_value_of_one_secret_that_is_a_form_of_another_is_a_value() {
    let secrets = [("A", "s3cret-value"), ("Z", "7333637265742d76616c7565")];
    let secrets = secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let redactor = Redactor::new(&secrets, "k");
    assert_eq!(redactor.text("7333637265742d76616c7565"), "[redacted:Z:k]");
}

#[test]
fn a_value_that_an_encoder_broke_into_lines_is_found() {
    let value = "0123456789-abcdefghijklmnopqrstuvwxyz-0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let redactor = Redactor::new(&BTreeMap::from([("KEY".to_owned(), value.to_owned())]), "k");
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    for before in 0..4 {
        let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{}{value}..", "x".repeat(before)));
        for text in [&encoded, &hex] {
            for (width, end) in [(76, "\n"), (64, "\r\n"), (60, "\\n"), (19, "\n  "), (4, "%0A")] {
                let lines: Vec<_> = text.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
                let kept = redactor.text(&lines.join(end));
                assert!(kept.contains("[redacted:KEY/wrapped:k]") && kept.len() < 40, "{width} {end:?}: {kept}");
            }
        }
    }
    assert_eq!(redactor.text("two\nlines"), "two\nlines");
}

#[test]
fn a_value_is_found_in_base64_wherever_it_stands() {
    for before in ["", "u:", "use:", "user:"] {
        for after in ["", "x", "yz"] {
            let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{before}s3cret-and-more{after}"));
            let text = redactor().text(&format!("Basic {encoded}"));
            assert!(text.contains("[redacted:LONG/base64:k]"), "{before} {after}: {text}");
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

/// Redactor for all cases, because making one takes a while.
static SHARED: LazyLock<Redactor> = LazyLock::new(redactor);

/// Ways in which a value may be written down.
fn encodings(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).expect("JSON");
    let json = json[1..json.len() - 1].to_owned();
    let percent = percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC);
    let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let letters = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let percent = percent.to_string().replace("%2D", "-").replace("%2E", ".").replace("%5F", "_").replace("%7E", "~");
    let twice = percent.replace('%', "%25");
    vec![value.to_owned(), json.replace('/', "\\/"), json, percent, twice, form, hex.to_uppercase(), hex, letters, html]
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
            let marker = if form == value { "[redacted:KEY:k]" } else { "[redacted:KEY/" };
            prop_assert!(text.contains(marker) && !text.contains(&form), "{form}: {text}");
        }
        let whole = [bytes, value.into_bytes(), more].concat();
        for encoded in [BASE64_STANDARD_NO_PAD.encode(&whole), BASE64_URL_SAFE_NO_PAD.encode(&whole)] {
            let text = redactor.text(&encoded);
            prop_assert!(text.contains("[redacted:KEY/"), "{encoded}: {text}");
        }
    }

    #[test]
    fn a_cut_leaves_nothing_of_a_value(value in "[a-z0-9]{8,20}", at in 1usize..8) {
        let secrets = BTreeMap::from([("KEY".to_owned(), value.clone())]);
        let redactor = Redactor::new(&secrets, "K");
        prop_assert_eq!(redactor.beginning(format!("#{}", &value[..at]).as_bytes()), b"#");
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut(words in prop::collection::vec("s3cret|s3|cret|-and-more|czNjcmV0LW|FuZC1tb3Jl|\\n|\\\\n|[a-z ]{0,6}", 0..12), cuts in prop::collection::vec(1usize..9, 0..40)) {
        let text = words.concat();
        let mut stream = SHARED.stream();
        let mut kept = Vec::new();
        let mut rest = text.as_bytes();
        for cut in cuts {
            let (piece, more) = rest.split_at(cut.min(rest.len()));
            kept.extend(stream.take(piece));
            rest = more;
        }
        kept.extend(stream.take(rest));
        kept.extend(stream.finish());
        prop_assert_eq!(String::from_utf8_lossy(&kept).into_owned(), SHARED.text(&text));
    }
}
