//! The forms in which a value travels.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A form that is shorter than this would be found by chance.
const SHORTEST_FORM: usize = 6;
/// A line of a value that is shorter than this is not a secret of its own.
const SHORTEST_LINE: usize = 8;
/// What a URL need not encode.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The value as it is, line by line, and in every usual encoding; each form once.
pub(super) fn forms(value: &str) -> Vec<String> {
    let lines = value.lines().filter(|line| line.len() >= SHORTEST_LINE).map(ToOwned::to_owned);
    let (json, html) = (in_json(value), in_html(value));
    // Escaped text that stands in a URL or in JSON, such as the arguments of a tool, is escaped once more.
    let again = |form: &String| [in_urls(form), in_json(form)].concat();
    let twice: Vec<_> = json.iter().chain(&html).flat_map(again).collect();
    let others = lines.chain(json).chain(in_urls(value)).chain(html).chain(in_hex(value)).chain(twice);
    let mut forms = vec![value.to_owned()];
    for form in others.chain(in_base64(value)) {
        if form.len() >= SHORTEST_FORM && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
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

/// Inside a URL or a form, with either case of hex digits, once and twice.
fn in_urls(value: &str) -> Vec<String> {
    let encode = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    let encoded = encode(value);
    let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let lower = |text: &str| lower_hex(text, "%", 2);
    let (twice, twice_lower) = (encode(&encoded), encode(&lower(&encoded)));
    vec![lower(&encoded), lower(&form), lower(&twice_lower), encoded, form, twice, twice_lower]
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

fn in_hex(value: &str) -> Vec<String> {
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    vec![hex.to_uppercase(), hex]
}

/// As base64, wherever in a longer text it stands.
fn in_base64(value: &str) -> Vec<String> {
    let engines = [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD];
    (0..3).flat_map(|before| engines.map(|engine| inner_base64(engine, before, value))).collect()
}

/// What base64 makes of a value that so many bytes stand before: the letters that depend on the value alone.
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
    use super::forms;

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
            assert!(forms.iter().any(|found| found == form), "{form}: {forms:#?}");
        }
    }

    #[test]
    fn a_plain_value_has_few_forms() {
        assert!(forms("0123456789abcdef").len() <= 14, "{:?}", forms("0123456789abcdef"));
    }
}
