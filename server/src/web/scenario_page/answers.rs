//! Answers of the sandbox to the probes of an invariant.

use maud::{Markup, html};
use scenario::evidence::{
    Answer, CommandAnswer, EmbeddingAnswer, EmbeddingReply, Files, JudgeAnswer, SqlAnswer, Usage,
};
use scenario::untrusted;

use crate::web::ansi;
use crate::web::json;
use crate::web::numbers::{bytes, money};
use crate::web::untrusted_html::{Marks, ending};

/// The size limit of a check's output on a page in bytes.
const MOST: usize = 16 * 1024;
/// The most files of an answer that are listed.
const FILES: usize = 50;

/// Every answer, one after the other.
pub(super) fn answers(answers: &[Answer], marks: Marks<'_>) -> Markup {
    html! {
        @if answers.is_empty() { p.quiet { "Nothing was asked: it is judged by what was recorded." } }
        @for answer in answers { div.answer { (one(answer, marks)) } }
    }
}

fn one(answer: &Answer, marks: Marks<'_>) -> Markup {
    match answer {
        Answer::Command(answer) => command(answer, marks),
        Answer::Files(files) => self::files(files, marks),
        Answer::Sql(answer) => sql(answer, marks),
        Answer::Judge(answer) => judge(answer, marks),
        Answer::Embedding(answer) => embedding(answer, marks),
        Answer::Unavailable { reason, .. } => {
            html! { p.bad { "The agent broke what was asked: " (marks.prose(reason)) } }
        }
    }
}

fn command(answer: &CommandAnswer, marks: Marks<'_>) -> Markup {
    let exit = answer.exit.map_or_else(|| "stopped at its time limit".to_owned(), |exit| exit.to_string());
    html! {
        p { "The command ended with " strong { (exit) } "." }
        @for (name, printed) in [("Output", answer.stdout.text()), ("Errors", answer.stderr.text())] {
            @if !printed.is_empty() {
                p.part { (name) }
                pre tabindex="0" { code { (ansi::coloured(ending(&printed, MOST), marks)) } }
            }
        }
        @if !answer.image_changes.is_empty() {
            p.bad { "It ran on a modified image: " (untrusted::line(&answer.image_changes.join(", "), 400)) }
        }
    }
}

fn files(files: &Files, marks: Marks<'_>) -> Markup {
    html! {
        @if files.entries.is_empty() { p { "Nothing is there." } }
        @for entry in files.entries.iter().take(FILES) {
            p {
                code { (marks.text(&untrusted::line(&entry.path, 300))) } " "
                span.quiet { (entry.kind.describe()) ", " (bytes(entry.size)) }
                @if let Some(problem) = &entry.problem { " " span.bad { (untrusted::line(problem, 200)) } }
            }
            @if let Some(content) = &entry.content { (json::document(&content.text(), marks)) }
        }
        @if files.entries.len() > FILES || files.incomplete {
            p.quiet { "There are more; all that was kept is in the evidence." }
        }
    }
}

fn sql(answer: &SqlAnswer, marks: Marks<'_>) -> Markup {
    match answer {
        SqlAnswer::Value(datum) => html! { p { "The database answered" } (json::block(&datum.to_string(), marks)) },
        SqlAnswer::NoRow => html! { p { "The query returned no row." } },
        SqlAnswer::Refused(reason) => html! { p.bad { "The database refused the query: " (marks.prose(reason)) } },
    }
}

fn judge(answer: &JudgeAnswer, marks: Marks<'_>) -> Markup {
    html! {
        (asked("Judge", &answer.usage, answer.cached))
        @match &answer.reply {
            Ok(reply) => (json::document(reply, marks)),
            Err(problem) => p.bad { "There is no reply: " (marks.prose(problem)) },
        }
    }
}

fn embedding(answer: &EmbeddingAnswer, marks: Marks<'_>) -> Markup {
    html! {
        (asked("Embeddings of", &answer.usage, answer.cached))
        @match &answer.reply {
            EmbeddingReply::Vectors(one, _) => p { "Two vectors of " (one.dimensions()) " numbers were compared." },
            EmbeddingReply::Refused(reason) => p.bad { "The model does not take this text: " (marks.prose(reason)) },
            EmbeddingReply::Unavailable(reason) => p.bad { "There is no reply: " (marks.prose(reason)) },
        }
    }
}

/// The model that was asked, and its cost.
fn asked(whom: &str, usage: &Usage, cached: bool) -> Markup {
    html! {
        p.quiet {
            (whom) " " (untrusted::line(&usage.model, 80))
            @if let Some(cost) = usage.cost() { ", " (money(cost)) }
            @if cached { ", given before" }
        }
    }
}
