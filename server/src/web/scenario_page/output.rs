//! What the agent printed: its beginning and its end, and all of it as a file.

use maud::{Markup, html};
use scenario::evidence::{Captured, Evidence};

use super::Shown;
use crate::web::ansi;
use crate::web::foreign::{beginning, ending};
use crate::web::numbers::bytes;

/// How many bytes of each end stand in a page.
const MOST: usize = 32 * 1024;

/// What the agent printed.
pub(super) fn section(shown: &Shown, evidence: &Evidence) -> Markup {
    let agent = &evidence.agent;
    html! {
        section aria-labelledby="output" {
            h2 #output { "Output" }
            (stream(shown, "stdout", "Standard output", &agent.stdout))
            (stream(shown, "stderr", "Standard error", &agent.stderr))
        }
    }
}

fn stream(shown: &Shown, stream: &str, name: &str, captured: &Captured) -> Markup {
    let text = captured.text();
    let size = text.len() as u64 + captured.dropped_bytes;
    let experiment = &shown.found.experiment;
    let (scenario, run) = (&shown.found.stored.scenario.id, shown.found.run.id.number);
    let place = format!("/experiments/{}/scenarios/{scenario}/output/{stream}?run={run}", experiment.id);
    html! {
        h3 { (name) " " span.quiet { (bytes(size)) } }
        @if text.is_empty() { p.quiet { "Nothing." } } @else {
            p {
                a download={ (scenario) "-" (stream) ".txt" } href=(place) { "Download " (stream) }
                @if captured.dropped_bytes > 0 {
                    span.quiet { " " (bytes(captured.dropped_bytes)) " in its middle were not kept" }
                }
            }
            (shortened(shown, &text))
        }
    }
}

/// A text, without its middle when it is long.
fn shortened(shown: &Shown, text: &str) -> Markup {
    let marks = shown.marks();
    let (begin, rest) = beginning(text, MOST);
    if rest <= MOST {
        return html! { pre.output tabindex="0" { code { (ansi::coloured(text, marks)) } } };
    }
    let end = ending(text, MOST);
    html! {
        pre.output tabindex="0" { code { (ansi::coloured(begin, marks)) } }
        p.quiet { (bytes((text.len() - begin.len() - end.len()) as u64)) " are left out here." }
        pre.output tabindex="0" { code { (ansi::coloured(end, marks)) } }
    }
}
