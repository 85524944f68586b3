//! Submitting a spec: paste or upload it, see what is wrong with it, and run it.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use http_body_util::Limited;
use maud::{Markup, html};
use scenario::untrusted;

use super::layout::{Frame, Tab};
use super::session::Visitor;
use super::yaml;
use crate::api::runs::{Submission, prepare};
use crate::app::App;
use crate::error::{ApiError, Finding};
use crate::extract::require_media;
use crate::submission::{Given, Options, ReadSpec, Upload, read_spec, unpack_aside};

/// How many bytes the other fields of the form may have together.
const FIELDS: usize = 2 << 20;

/// What stands in the form before anybody wrote something.
const BEGINNING: &str = "\
version: 1
id: my-first-spec
base: debian:bookworm-slim
task:
  prompt: Write a greeting to hello.txt.
agent:
  type: cli
  command: echo hello > hello.txt
invariants:
  greeted:
    description: The file has a greeting.
    check: { type: file_content, path: hello.txt, contains: hello }
";

/// What the form brings.
#[derive(Debug, Default)]
struct SubmitForm {
    token: String,
    text: String,
    file: Option<Bytes>,
    name: String,
    replicas: String,
    run: bool,
}

/// What came of looking at a spec.
#[derive(Debug)]
enum Looked {
    /// Nobody looked yet.
    Not,
    /// It is right; what is questionable about it.
    Right(Vec<String>),
    /// It is not.
    Wrong(ApiError),
}

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/submit", get(form).post(submit))
}

async fn form(visitor: Visitor) -> Result<Markup, ApiError> {
    visitor.require_submit()?;
    let form = SubmitForm { text: BEGINNING.to_owned(), ..SubmitForm::default() };
    Ok(page(&visitor, &form, &Looked::Not))
}

async fn submit(State(app): State<App>, visitor: Visitor, request: Request) -> Result<Response, ApiError> {
    visitor.require_submit()?;
    let _room = app.uploads.try_acquire().map_err(|_| ApiError::busy("many uploads are under way; try again soon"))?;
    let mut form = receive(&app, request).await?;
    visitor.require_token(&form.token)?;
    match look(&app, &visitor, &mut form).await {
        Ok(Done::Begun(id)) => Ok(Redirect::to(&format!("/experiments/{id}")).into_response()),
        Ok(Done::Looked(warnings)) => Ok(page(&visitor, &form, &Looked::Right(warnings)).into_response()),
        Err(error) if error.is_ours() => Err(error),
        Err(error) => {
            let status = if error.findings().is_empty() { error.status() } else { StatusCode::BAD_REQUEST };
            Ok((status, page(&visitor, &form, &Looked::Wrong(error))).into_response())
        }
    }
}

/// What was done with a form.
enum Done {
    /// An experiment was begun.
    Begun(String),
    /// The spec is right, and that is all that was asked.
    Looked(Vec<String>),
}

async fn look(app: &App, visitor: &Visitor, form: &mut SubmitForm) -> Result<Done, ApiError> {
    let upload = match form.file.take().filter(|file| !file.is_empty()) {
        Some(file) => unpack_aside(file).await?,
        None => Upload::alone(form.text.clone()),
    };
    form.text.clone_from(&upload.content.text);
    let ReadSpec { warnings, .. } = read_spec(&upload.content.text, upload.bundle.as_ref())?;
    let replicas = match form.replicas.trim() {
        "" => None,
        number => Some(number.parse().map_err(|_| ApiError::invalid("the number of replicas is a whole number"))?),
    };
    if !form.run {
        return Ok(Done::Looked(warnings));
    }
    let options = Options { name: Some(form.name.clone()), replicas, ..Options::default() };
    let submission = Submission { upload, secrets: Given::default(), owner: None, options };
    let (experiment, run) = prepare(app, &visitor.caller.owner, submission).await?;
    let begun = app.store.submit(&experiment, &run, app.clock.now()).await?;
    Ok(Done::Begun(begun.experiment.to_string()))
}

async fn receive(app: &App, request: Request) -> Result<SubmitForm, ApiError> {
    require_media(request.headers(), &["multipart/form-data"])?;
    let most = app.config.upload_bytes + FIELDS;
    let request = request.map(|body| Body::new(Limited::new(body, most)));
    let broken = |error: axum::extract::multipart::MultipartError| ApiError::invalid(error.body_text());
    let mut parts =
        Multipart::from_request(request, &()).await.map_err(|error| ApiError::invalid(error.body_text()))?;
    let mut form = SubmitForm::default();
    while let Some(field) = parts.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        let bytes = field.bytes().await.map_err(broken)?;
        if name == "file" {
            form.file = Some(bytes);
            continue;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match name.as_str() {
            "token" => form.token = text,
            // Browsers send every end of a line as two characters.
            "spec" => form.text = text.replace("\r\n", "\n"),
            "name" => form.name = text,
            "replicas" => form.replicas = text,
            "do" => form.run = text == "run",
            _ => {}
        }
    }
    Ok(form)
}

fn page(visitor: &Visitor, form: &SubmitForm, looked: &Looked) -> Markup {
    let is_wrong = matches!(looked, Looked::Wrong(_));
    let body = html! {
        h1 { "Submit a spec" }
        (told(looked))
        form.stack method="post" action="/submit" enctype="multipart/form-data" {
            input type="hidden" name="token" value=(visitor.token);
            label for="spec" { "Spec" }
            textarea #spec name="spec" rows="18" spellcheck="false" autocomplete="off"
                aria-invalid=[is_wrong.then_some("true")] aria-describedby=[is_wrong.then_some("findings")] { "\n" (form.text) }
            div.fields {
                div {
                    label for="file" { "Or a file: a spec, or a tar archive with spec.yaml" }
                    input #file type="file" name="file";
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
            div.actions {
                button.primary type="submit" name="do" value="run" { "Run" }
                button type="submit" name="do" value="check" { "Check only" }
            }
        }
        p.quiet { "Secrets of the spec are those that are kept here: " code { "PUT /v1/secrets/NAME" } "." }
        @if let Looked::Wrong(error) = looked {
            @if !error.findings().is_empty() {
                section aria-labelledby="where" { h2 #where { "Where" } (yaml::source(&form.text, error.findings())) }
            }
        }
    };
    Frame { title: "Submit a spec", tab: Tab::Submit, visitor: Some(visitor) }.around(&body)
}

/// What was found, above the form.
fn told(looked: &Looked) -> Markup {
    match looked {
        Looked::Not => html! {},
        Looked::Right(warnings) => html! {
            div.notice.good role="status" {
                p { "The spec is valid." }
                @if !warnings.is_empty() { ul { @for warning in warnings { li { (untrusted::line(warning, 400)) } } } }
            }
        },
        Looked::Wrong(error) if error.findings().is_empty() => html! {
            div.notice.bad #findings role="alert" { p.message { (super::foreign::text(error.message())) } }
        },
        Looked::Wrong(error) => html! { div.notice.bad #findings role="alert" { (findings(error.findings())) } },
    }
}

/// What is wrong with a spec, each finding with the line where it is.
pub(super) fn findings(findings: &[Finding]) -> Markup {
    html! {
        p { "The spec is not valid:" }
        ul.findings {
            @for finding in findings {
                li {
                    a href={ "#L" (finding.line) } { "line " (finding.line) } " "
                    @if !finding.path.is_empty() { code { (untrusted::line(&finding.path, 200)) } " " }
                    (untrusted::line(&finding.message, 400))
                    @if let Some(help) = &finding.help { span.quiet { " — " (untrusted::line(help, 400)) } }
                    " " span.tag { (finding.severity) " " (finding.code) }
                }
            }
        }
    }
}
