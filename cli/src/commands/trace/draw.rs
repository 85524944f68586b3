//! A timeline as lines with bars.

use scenario::trace::{Kind, TimelineLine};
use scenario::untrusted;

/// Width of the bars.
const BAR: usize = 32;
/// Width of the columns before the description: the time, the duration, the bar, and the kind.
const BEFORE: usize = BAR + 34;

/// Draws the timeline as lines, at most `limit`.
pub(super) fn lines(name: &str, moments: &[TimelineLine], limit: usize, width: u16) -> Vec<String> {
    let end = moments.iter().map(|moment| moment.at_ms + moment.duration_ms).max().unwrap_or(0);
    let room = usize::from(width).saturating_sub(BEFORE).max(20);
    let mut lines = vec![format!("{name}: {}", seconds(end))];
    lines.extend(moments.iter().take(limit).map(|moment| line(moment, end, room)));
    if moments.len() > limit {
        lines.push(format!("and {} more; --limit shows more of them", moments.len() - limit));
    }
    lines
}

fn line(moment: &TimelineLine, end: u64, room: usize) -> String {
    let took = if moment.duration_ms > 0 { seconds(moment.duration_ms) } else { String::new() };
    let mark = if moment.failed { "!" } else { " " };
    let indent = if moment.kind == Kind::Phase { "" } else { "  " };
    let what = untrusted::line(&format!("{indent}{}", moment.what), room);
    let bar = bar(moment, end);
    format!("{:>10} {took:>10} |{bar}|{mark}{:<8} {what}", seconds(moment.at_ms), moment.kind.word())
        .trim_end()
        .to_owned()
}

/// Draws its place in the whole time as a bar.
fn bar(moment: &TimelineLine, end: u64) -> String {
    let whole = end.max(1);
    let place = |at: u64| usize::try_from(at.saturating_mul(BAR as u64) / whole).unwrap_or(BAR).min(BAR);
    let from = place(moment.at_ms).min(BAR - 1);
    let to = place(moment.at_ms + moment.duration_ms).clamp(from + 1, BAR);
    let sign = match (moment.kind, moment.duration_ms) {
        (Kind::Phase, _) => "=",
        (_, 0) => "'",
        _ => "-",
    };
    format!("{}{}{}", " ".repeat(from), sign.repeat(to - from), " ".repeat(BAR - to))
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03} s", milliseconds / 1000, milliseconds % 1000)
}

#[cfg(test)]
mod tests {
    use scenario::trace::{Kind, TimelineLine};

    use super::lines;

    fn moment(at_ms: u64, duration_ms: u64, kind: Kind, what: &str) -> TimelineLine {
        TimelineLine { at_ms, duration_ms, kind, what: what.to_owned(), failed: what.contains("500") }
    }

    #[test]
    fn a_timeline_has_a_bar_for_everything() {
        let moments = [
            moment(0, 400, Kind::Phase, "prepare"),
            moment(400, 1200, Kind::Phase, "act"),
            moment(500, 300, Kind::Model, "gpt \u{1b}[2J 500"),
            moment(900, 0, Kind::Http, "POST api/refunds 201"),
            moment(1600, 0, Kind::Probe, "ledger"),
        ];
        insta::assert_snapshot!(lines("e/default-r0", &moments, 4, 100).join("\n"));
        assert_eq!(lines("e/x", &[], 4, 100), ["e/x: 0.000 s"]);
    }
}
