//! The form, and above it what was found.

use maud::{Markup, html};
use scenario::untrusted;

use super::form::{SECRET, SubmitForm};
use crate::error::{ApiError, Finding};
use crate::web::layout::{Frame, Tab};
use crate::web::session::Visitor;
use crate::web::untrusted_html;
use crate::web::yaml;

/// The result of checking a spec.
#[derive(Debug)]
pub(super) enum Looked {
    /// Nobody looked yet.
    Not,
    /// It is right; what is questionable about it.
    Right(Vec<String>),
    /// It is not.
    Wrong(ApiError),
}

/// Fields that the form adds because of the spec in it.
#[derive(Debug, Default)]
pub(super) struct ExtraFields {
    /// The names of secrets that are not kept here.
    pub(super) secrets: Vec<String>,
    /// The file, once more: browsers do not keep it.
    pub(super) file: bool,
}

/// The page.
pub(super) fn page(visitor: &Visitor, form: &SubmitForm, asked: &ExtraFields, looked: &Looked) -> Markup {
    let is_refused = matches!(looked, Looked::Wrong(_));
    let is_wrong = matches!(looked, Looked::Wrong(error) if !error.findings().is_empty());
    let body = html! {
        h1 { "Submit a spec" }
        (told(looked))
        form.stack method="post" action="/submit" enctype="multipart/form-data" {
            input type="hidden" name="token" value=(visitor.token);
            label for="spec" { "Spec" }
            textarea #spec name="spec" rows="18" spellcheck="false" autocomplete="off"
                aria-invalid=[is_wrong.then_some("true")] aria-describedby=[is_refused.then_some("findings")] { "\n" (form.text) }
            (fields(form, asked))
            @if !asked.secrets.is_empty() { (secrets(&asked.secrets)) }
            div.actions {
                button.primary type="submit" name="do" value="run" { "Run" }
                button type="submit" name="do" value="check" formnovalidate { "Check only" }
            }
        }
        p.quiet.after {
            "Secrets that are kept here need not be given again: " code { "PUT /v1/secrets/NAME" } " keeps one."
        }
        @if let Looked::Wrong(error) = looked {
            @if !error.findings().is_empty() {
                section aria-labelledby="where" { h2 #where { "Where" } (yaml::source(&form.text, error.findings())) }
            }
        }
    };
    Frame { title: "Submit a spec", tab: Tab::Submit, visitor: Some(visitor) }.around(&body)
}

fn fields(form: &SubmitForm, asked: &ExtraFields) -> Markup {
    html! {
        div.fields {
            div {
                label for="file" { "Or a file: a spec, or a tar archive with spec.yaml" }
                input #file type="file" name="file" aria-describedby=[asked.file.then_some("again")];
                @if asked.file { p.hint #again { "Choose the archive once more: the browser does not keep it." } }
            }
            div {
                label for="name" { "Name of the experiment" }
                input #name type="text" name="name" value=(form.name) maxlength="200" placeholder="the spec's id";
            }
            div {
                label for="replicas" { "Replicas" }
                input #replicas type="number" name="replicas" value=(form.replicas) min="1" max="10000"
                    placeholder="as the spec says";
            }
        }
    }
}

/// A field for the value of each secret. It is empty, whatever was in it before.
fn secrets(names: &[String]) -> Markup {
    html! {
        fieldset {
            legend { "Secrets of the spec" }
            p.hint #sealed {
                "They are not kept here. What you enter is sealed for this experiment, and shown to nobody, not on this page either."
            }
            div.fields.same {
                @for name in names {
                    div {
                        label for={ "secret-" (name) } { "Value of " (untrusted::line(name, 200)) }
                        input id={ "secret-" (name) } type="password" name={ (SECRET) (name) } required autocomplete="off"
                            spellcheck="false" aria-describedby="sealed";
                    }
                }
            }
        }
    }
}

/// Renders findings, above the form.
fn told(looked: &Looked) -> Markup {
    match looked {
        Looked::Not => html! {},
        Looked::Right(warnings) => html! {
            div.notice.good role="status" {
                p { "The spec is valid." }
                @if !warnings.is_empty() { ul { @for warning in warnings { li { (untrusted_html::short_prose(warning, 400)) } } } }
            }
        },
        Looked::Wrong(error) if error.findings().is_empty() => html! {
            div.notice.bad #findings role="alert" { p.message { (untrusted_html::prose(error.message())) } }
        },
        Looked::Wrong(error) => html! { div.notice.bad #findings role="alert" { (findings(error.findings())) } },
    }
}

/// Renders findings about a spec, each with its line.
pub(in crate::web) fn findings(findings: &[Finding]) -> Markup {
    html! {
        p { "The spec is not valid:" }
        ul.findings {
            @for finding in findings {
                li {
                    a href={ "#L" (finding.line) } { "line " (finding.line) } " "
                    @if !finding.path.is_empty() { code { (untrusted::line(&finding.path, 200)) } " " }
                    (untrusted_html::short_prose(&finding.message, 400))
                    @if let Some(help) = &finding.help { span.quiet { " — " (untrusted_html::short_prose(help, 400)) } }
                    " " span.tag { (finding.severity) " " (finding.code) }
                }
            }
        }
    }
}
