//! The forms in which a value travels.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use scenario::evidence::SecretForm;
use scenario::hex;

/// A form that is shorter than this would be found by chance.
const SHORTEST_FORM: usize = 6;
/// A line of a value that is shorter than this is not a secret of its own, and neither is a value read another way.
const SHORTEST_LINE: usize = 8;
/// A word of letters alone that is shorter than this is found by chance in other cases, such as `postgres`.
const SHORTEST_WORD: usize = 16;
/// Characters that a URL need not encode.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The value as it is, line by line, and in every usual encoding; each text once, in the plainest form that it is.
pub(super) fn forms(value: &str) -> Vec<(SecretForm, String)> {
    // Files end with a line break that is no part of what is used.
    let bare = value.trim_end_matches(['\r', '\n']);
    let lines = value.lines().filter(|line| line.len() >= SHORTEST_LINE).map(ToOwned::to_owned).collect();
    let (json, html, (url, form, urls_twice)) = (in_json(value), in_html(value), in_urls(value));
    // Escaped text that stands in a URL or in JSON, such as the arguments of a tool, is escaped once more.
    let twice = json.iter().chain(&html).flat_map(|form| escaped_again(form)).chain(urls_twice).collect();
    let mut forms = vec![(SecretForm::Plain, value.to_owned())];
    for (form, texts) in [
        (SecretForm::Plain, vec![bare.to_owned()]),
        (SecretForm::Json, json),
        (SecretForm::Url, url),
        (SecretForm::Form, form),
        (SecretForm::Html, html),
        (SecretForm::Line, lines),
        (SecretForm::Case, in_other_cases(bare)),
        (SecretForm::Hex, in_hex(bare)),
        (SecretForm::Base64, in_base64(bare)),
        (SecretForm::Reversed, reversed(bare)),
        (SecretForm::Twice, twice),
    ] {
        for text in texts {
            if text.len() >= SHORTEST_FORM && forms.iter().all(|(_, known)| *known != text) {
                forms.push((form, text));
            }
        }
    }
    forms
}

fn escaped_again(form: &str) -> Vec<String> {
    let (url, in_form, twice) = in_urls(form);
    [url, in_form, twice, in_json(form)].concat()
}

/// Returns the value with all letters in one case, or each in the other; not for a value that is easily a word of its
/// own.
fn in_other_cases(value: &str) -> Vec<String> {
    let is_word = value.chars().all(char::is_alphabetic);
    if value.len() < SHORTEST_LINE || (is_word && value.len() < SHORTEST_WORD) {
        return Vec::new();
    }
    let swap = |letter: u8| {
        if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    let swapped = String::from_utf8(value.bytes().map(swap).collect()).unwrap_or_default();
    vec![value.to_ascii_lowercase(), value.to_ascii_uppercase(), swapped]
}

fn reversed(value: &str) -> Vec<String> {
    if value.len() < SHORTEST_LINE { Vec::new() } else { vec![value.chars().rev().collect()] }
}

/// Inside a JSON string: escaped as little as possible, as Python and PHP do, as Go does, and letter by letter.
fn in_json(value: &str) -> Vec<String> {
    let least = serde_json::to_string(value).unwrap_or_default();
    let least = least.get(1..least.len().saturating_sub(1)).unwrap_or_default();
    let ascii = escaped(least, |letter| !letter.is_ascii());
    let markup = escaped(least, |letter| matches!(letter, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'));
    let all = escaped(value, |_| true);
    let mut forms = vec![least.to_owned(), least.replace('/', "\\/"), ascii.replace('/', "\\/"), ascii, markup, all];
    forms.extend(forms.clone().iter().map(|form| upper_hex(form, "\\u", 4)));
    forms
}

/// The text with `\uXXXX` in place of some letters.
fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut units = [0; 2];
    let mut result = String::new();
    for letter in text.chars() {
        if is_escaped(letter) {
            letter.encode_utf16(&mut units).iter().for_each(|unit| result.push_str(&format!("\\u{unit:04x}")));
        } else {
            result.push(letter);
        }
    }
    result
}

/// Inside a URL, in a form, and twice, with either case of hex digits.
fn in_urls(value: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let encode = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    let encoded = encode(value);
    let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let lower = |text: &str| lower_hex(text, "%", 2);
    let (twice, twice_lower) = (encode(&encoded), encode(&lower(&encoded)));
    let all: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let url = vec![lower(&encoded), lower(&all), encoded, all];
    (url, vec![lower(&form), form], vec![lower(&twice_lower), twice, twice_lower])
}

/// Inside HTML or XML.
fn in_html(value: &str) -> Vec<String> {
    let text = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut forms = vec![text.clone()];
    for double in ["&quot;", "&#34;", "\""] {
        for single in ["&#39;", "&#x27;", "&apos;", "'"] {
            forms.push(text.replace('"', double).replace('\'', single));
        }
    }
    forms
}

/// Returns the value as hexadecimal digits, alone and as dumps and languages write them.
fn in_hex(value: &str) -> Vec<String> {
    let digits: Vec<_> = value.bytes().map(|byte| hex([byte])).collect();
    let upper: Vec<_> = digits.iter().map(|digits| digits.to_uppercase()).collect();
    let joined = ["", ":", " ", "\\x"].map(|between| [digits.join(between), upper.join(between)]);
    joined.concat()
}

/// Returns the value as base64, wherever in a longer text it stands.
fn in_base64(value: &str) -> Vec<String> {
    let engines = [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD];
    (0..3).flat_map(|before| engines.map(|engine| inner_base64(engine, before, value))).collect()
}

/// Returns the part of the base64 of a value after this many bytes that depends on the value alone.
fn inner_base64(engine: &GeneralPurpose, before: usize, value: &str) -> String {
    let encoded = engine.encode([&vec![0; before], value.as_bytes()].concat());
    let first = (before * 8).div_ceil(6);
    let last = (before + value.len()) * 8 / 6;
    encoded.get(first..last).unwrap_or_default().to_owned()
}

fn upper_hex(text: &str, before: &str, digits: usize) -> String {
    recased(text, before, digits, str::to_ascii_uppercase)
}

fn lower_hex(text: &str, before: &str, digits: usize) -> String {
    recased(text, before, digits, str::to_ascii_lowercase)
}

/// The text with other hex digits after each `before`.
fn recased(text: &str, before: &str, digits: usize, recase: impl Fn(&str) -> String) -> String {
    let mut parts = text.split(before);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (hex, rest) = part.split_at_checked(digits).unwrap_or((part, ""));
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        result.push_str(before);
        result.push_str(&if is_hex { recase(hex) } else { hex.to_owned() });
        result.push_str(rest);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{SecretForm, forms};

    #[test]
    fn every_usual_encoding_is_among_the_forms() {
        let forms = forms("a/b\"<é&'k> +z");
        for form in [
            "a/b\"<é&'k> +z",
            r#"a/b\"<é&'k> +z"#,
            r#"a\/b\"<é&'k> +z"#,
            r#"a/b\"<\u00e9&'k> +z"#,
            r#"a\/b\"<\u00E9&'k> +z"#,
            r#"a/b\"\u003cé\u0026'k\u003e +z"#,
            r"\u0061\u002f\u0062\u0022\u003c\u00e9\u0026\u0027\u006b\u003e\u0020\u002b\u007a",
            "a%2Fb%22%3C%C3%A9%26%27k%3E%20%2Bz",
            "a%2fb%22%3c%c3%a9%26%27k%3e%20%2bz",
            "a%2Fb%22%3C%C3%A9%26%27k%3E+%2Bz",
            "a%252Fb%2522%253C%25C3%25A9%2526%2527k%253E%2520%252Bz",
            "a%252fb%2522%253c%25c3%25a9%2526%2527k%253e%2520%252bz",
            "a/b&quot;&lt;é&amp;&#39;k&gt; +z",
            "a/b\"&lt;é&amp;'k&gt; +z",
            "a/b&#34;&lt;é&amp;&#x27;k&gt; +z",
            "612f62223cc3a926276b3e202b7a",
            "612F62223CC3A926276B3E202B7A",
        ] {
            assert!(forms.iter().any(|(_, found)| found == form), "{form}: {forms:#?}");
        }
    }

    #[test]
    fn a_plain_value_has_few_forms() {
        assert!(forms("0123456789abcdef").len() <= 32, "{:?}", forms("0123456789abcdef"));
    }

    #[test]
    fn only_the_value_and_what_a_file_has_of_it_are_plain() {
        let plain = |value: &str| {
            let forms = forms(value).into_iter().filter(|(form, _)| *form == SecretForm::Plain);
            forms.map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(plain("0123456789abcdef"), ["0123456789abcdef"]);
        assert_eq!(plain("s3cret-token\n"), ["s3cret-token\n", "s3cret-token"]);
        assert_eq!(plain("first line\nsecond line"), ["first line\nsecond line"]);
        assert!(forms("postgres").iter().all(|(form, _)| *form != SecretForm::Case), "a word of its own");
    }
}
