//! One output: to label, and once it is labelled with what the judge said.

use maud::{Markup, html};
use scenario::judge_calibration::{JudgedOutput, Label};

use crate::web::json;
use crate::web::numbers::score;
use crate::web::session::Visitor;
use crate::web::untrusted_html::{self, Marks};

/// The most characters of a note that is shown.
const NOTE: usize = 200;

/// An output with the form to label it. Nothing here says what the judge thinks of it.
pub(super) fn to_label(visitor: &Visitor, output: &JudgedOutput, place: &str, run: u32, by: &str) -> Markup {
    html! {
        article.invariant.labelling aria-labelledby="output" {
            header {
                h2 #output { code { (untrusted_html::line(&output.invariant, 100)) } }
                span.quiet { (untrusted_html::line(&output.description, 200)) }
            }
            p.facts { span { "Scenario " code { (untrusted_html::line(&output.scenario, 80)) } } }
            h3 { "The task" }
            (json::block(&output.task, Marks::default()))
            @if !output.criteria.is_empty() {
                h3 { "The criteria" }
                (json::block(&output.criteria, Marks::default()))
            }
            h3 { "The output" }
            (json::block(&output.text, Marks::default()))
            @if visitor.may_submit() { (form(visitor, output, place, run, by)) }
            @else { p.quiet { "This key may only read: it cannot label." } }
        }
    }
}

fn form(visitor: &Visitor, output: &JudgedOutput, place: &str, run: u32, by: &str) -> Markup {
    html! {
        form.actions.after method="post" action={ (place) "/labels" } {
            input type="hidden" name="token" value=(visitor.token);
            input type="hidden" name="run" value=(run);
            input type="hidden" name="scenario" value=(output.scenario);
            input type="hidden" name="invariant" value=(output.invariant);
            div { label for="by" { "Your name" } input #by type="text" name="by" maxlength="200" value=(by); }
            div { label for="note" { "Note" } input #note type="text" name="note" maxlength="2000" autocomplete="off"; }
            button.primary type="submit" name="label" value="pass" data-key="p" { "Pass " kbd { "P" } }
            button type="submit" name="label" value="fail" data-key="f" { "Fail " kbd { "F" } }
        }
    }
}

/// The output that was labelled last, beside what the judge said.
pub(super) fn revealed(output: &JudgedOutput, label: &Label) -> Markup {
    let people = label.label.passes(output.threshold);
    html! {
        div.notice role="status" {
            p {
                "You said " strong { (label.label) } " about "
                code { (untrusted_html::line(&output.invariant, 60)) } " of " code { (untrusted_html::line(&output.scenario, 80)) } ". "
                @match &output.judged {
                    Ok(judged) => {
                        "The judge gave " strong { (score(judged.score)) } ", which "
                        @if judged.score >= output.threshold { "passes" } @else { "fails" }
                        " (from " (score(output.threshold)) "): "
                        @if (judged.score >= output.threshold) == people { "you agree." } @else { strong { "you disagree." } }
                    }
                    Err(_) => "No score of the judge is kept.",
                }
            }
            @if let Ok(judged) = &output.judged { @if !judged.reason.is_empty() {
                p.quiet { "Its reason: " (untrusted_html::line(&judged.reason, NOTE)) }
            } }
        }
    }
}
