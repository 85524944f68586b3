//! Numbers, times and amounts as people read them.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use scenario::metric::Unit;

/// `812 ms`, `1.24 s`, `3 min 05 s`, `2 h 10 min`.
pub(super) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{}.{:02} s", seconds, milliseconds % 1000 / 10),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The distance from 0 or 1 below which a share counts as 0 or 1: rounding leaves such traces.
const TRACE: f64 = 1e-9;

/// `66.7 %`; a whole one without its fraction. Only nothing is `0 %`, and only all of it is `100 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (TRACE..0.0005).contains(&share) {
        return "<0.1 %".to_owned();
    }
    if share > 0.9995 && share < 1.0 - TRACE {
        return ">99.9 %".to_owned();
    }
    if (percent - percent.round()).abs() < 0.05 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// US dollars, with as many digits as say something.
pub(super) fn money(dollars: f64) -> String {
    match dollars {
        0.0 => "$0".to_owned(),
        _ if dollars < 0.01 => format!("${dollars:.5}"),
        _ if dollars < 1.0 => format!("${dollars:.4}"),
        _ => format!("${dollars:.2}"),
    }
}

/// `12.3 kB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let mut left = precise(bytes) / 1000.0;
    if left < 1.0 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    while left >= 1000.0 && unit + 1 < UNITS.len() {
        left /= 1000.0;
        unit += 1;
    }
    format!("{left:.1} {}", UNITS[unit])
}

/// A count with its thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push('\u{202f}');
        }
        shown.push(digit);
    }
    shown
}

/// `1 scenario`, `2 scenarios`.
pub(super) fn count_noun(number: u64, unit: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {unit}{ending}", count(number))
}

/// A score from 0 to 1, to two digits.
pub(super) fn score(score: f64) -> String {
    format!("{score:.2}")
}

/// A value of a metric, by its unit.
pub(super) fn measured(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Share => percent(value),
        Unit::Score | Unit::Mean => score(value),
        Unit::Count => count(whole(value)),
        Unit::Milliseconds => duration(whole(value)),
        Unit::Dollars => money(value),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is shown is small and not below 0")]
fn whole(number: f64) -> u64 {
    number.max(0.0).round() as u64
}

/// A count as a number with a fraction.
#[expect(clippy::cast_precision_loss, reason = "what is shown has few digits")]
pub(super) fn precise(number: u64) -> f64 {
    number as f64
}

/// A moment: how long ago, and when.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> Markup {
    let passed = now.duration_since(then);
    html! { time datetime=(then) title=(moment(then)) { (since(passed)) } }
}

/// A moment to the second.
pub(super) fn time(then: Timestamp) -> Markup {
    html! { time datetime=(then) { (moment(then)) } }
}

fn moment(then: Timestamp) -> String {
    // 2026-11-17T04:43:02.123Z
    let text = then.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

fn since(passed: SignedDuration) -> String {
    match passed.as_secs() {
        ..10 => "just now".to_owned(),
        seconds @ 10..60 => format!("{seconds} s ago"),
        seconds @ 60..3600 => format!("{} min ago", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h ago", seconds / 3600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, count_noun, duration, money, percent};

    #[test]
    fn numbers_have_the_digits_that_say_something() {
        for (milliseconds, expected) in
            [(0, "0 ms"), (812, "812 ms"), (1240, "1.24 s"), (185_000, "3 min 05 s"), (7_800_000, "2 h 10 min")]
        {
            assert_eq!(duration(milliseconds), expected);
        }
        for (share, expected) in
            [(0.0, "0 %"), (1.0, "100 %"), (2.0 / 3.0, "66.7 %"), (0.995, "99.5 %")].into_iter().chain([
                (0.999, "99.9 %"),
                (0.9996, ">99.9 %"),
                (0.0004, "<0.1 %"),
                (0.001, "0.1 %"),
                (1.0 - 1e-12, "100 %"),
            ])
        {
            assert_eq!(percent(share), expected);
        }
        for (dollars, expected) in [(0.0, "$0"), (0.001_234, "$0.00123"), (0.25, "$0.2500"), (12.0, "$12.00")] {
            assert_eq!(money(dollars), expected);
        }
        assert_eq!((bytes(999), bytes(1500), bytes(52_428_800)), ("999 B".into(), "1.5 kB".into(), "52.4 MB".into()));
        assert_eq!([0, 1, 2000].map(|rows| count_noun(rows, "row")), ["0 rows", "1 row", "2\u{202f}000 rows"]);
        assert_eq!((count(7), count(1_234_567)), ("7".into(), "1\u{202f}234\u{202f}567".into()));
    }
}
