//! Small charts, drawn by hand.

use maud::{Markup, html};
use scenario::metric::Metric;

use super::numbers::measured;

/// A point of a chart, the oldest first.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// The value.
    pub(super) value: f64,
    /// Its label, for people.
    pub(super) label: String,
    /// Where it leads.
    pub(super) link: String,
}

/// Shares from 0 to 1 in one line, the newest at the right.
pub(super) fn sparkline(name: &str, values: &[f64]) -> Markup {
    const WIDE: f64 = 96.0;
    const HIGH: f64 = 20.0;
    let last = values.last().copied().unwrap_or_default();
    let points = line(values, 1.0, (WIDE - 6.0, HIGH - 6.0), (3.0, 3.0));
    let end = points.split(' ').next_back().and_then(|point| point.split_once(','));
    html! {
        svg.spark viewBox={ "0 0 " (WIDE) " " (HIGH) } width=(WIDE) height=(HIGH) role="img"
            aria-label={ "Pass rate of " (super::untrusted_html::line(name, 80)) ", newest " (super::numbers::percent(last)) } {
            @if values.len() > 1 { polyline points=(points) {} }
            @if let Some((x, y)) = end { circle cx=(x) cy=(y) r="2.5" {} }
        }
    }
}

/// A chart of a metric with a line through its points, each of which leads somewhere.
pub(super) fn trend(metric: Metric, points: &[Point]) -> Markup {
    const WIDE: f64 = 320.0;
    const HIGH: f64 = 96.0;
    const LEFT: f64 = 8.0;
    const TOP: f64 = 10.0;
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let (name, shown) = (metric.label, |value| measured(metric.unit, value));
    let highest = if metric.is_part_of_one() { 1.0 } else { values.iter().copied().fold(0.0, f64::max) };
    let places = line(&values, highest, (WIDE - 2.0 * LEFT, HIGH - 2.0 * TOP), (LEFT, TOP));
    let newest = values.last().copied().unwrap_or_default();
    html! {
        figure.trend {
            figcaption {
                (name) " " strong { (shown(newest)) }
                span.quiet { " newest of " (points.len()) ", up to " (shown(highest)) }
            }
            svg viewBox={ "0 0 " (WIDE) " " (HIGH) } role="group" aria-label={ (name) " over time, oldest first" } {
                line.axis x1="0" x2=(WIDE) y1=(HIGH - TOP) y2=(HIGH - TOP) {}
                line.axis.top x1="0" x2=(WIDE) y1=(TOP) y2=(TOP) {}
                @if values.len() > 1 { polyline points=(places) {} }
                @for (point, place) in points.iter().zip(places.split(' ')) {
                    @if let Some((x, y)) = place.split_once(',') {
                        a href=(point.link) aria-label={ (point.label) ": " (shown(point.value)) } {
                            circle.target cx=(x) cy=(y) r="7" {}
                            circle cx=(x) cy=(y) r="2.5" { title { (point.label) ": " (shown(point.value)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The places of values, from left to right; `highest` is at the top.
fn line(values: &[f64], highest: f64, (wide, high): (f64, f64), (left, top): (f64, f64)) -> String {
    let steps = super::numbers::precise(values.len().saturating_sub(1) as u64);
    let place = |(index, value): (usize, &f64)| {
        let along = if steps > 0.0 { super::numbers::precise(index as u64) / steps } else { 1.0 };
        let up = if highest > 0.0 { (value / highest).clamp(0.0, 1.0) } else { 0.0 };
        format!("{:.1},{:.1}", left + wide * along, top + high * (1.0 - up))
    };
    values.iter().enumerate().map(place).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn values_go_from_left_to_right_and_up() {
        assert_eq!(line(&[0.0, 0.5, 1.0], 1.0, (10.0, 4.0), (0.0, 0.0)), "0.0,4.0 5.0,2.0 10.0,0.0");
        assert_eq!(line(&[3.0], 3.0, (10.0, 4.0), (1.0, 1.0)), "11.0,1.0");
        assert_eq!(line(&[0.0, 0.0], 0.0, (10.0, 4.0), (0.0, 0.0)), "0.0,4.0 10.0,4.0");
        assert_eq!(line(&[], 1.0, (1.0, 1.0), (0.0, 0.0)), "");
    }
}
