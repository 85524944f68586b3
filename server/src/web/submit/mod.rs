//! Submitting a spec: paste or upload it, see what is wrong with it, give the secrets that it needs, and run it.
//!
//! Values of secrets go one way. A page that is shown again has empty fields for them.

mod form;
mod page;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use http::StatusCode;
use maud::Markup;

use super::session::Visitor;
use crate::api::runs::{Submission, prepare};
use crate::app::App;
use crate::error::ApiError;
use crate::submission::{Options, ReadSpec, Upload, read_spec, unkept_secrets, unpack_aside};

use form::{SubmitForm, receive};
pub(super) use page::findings;
use page::{ExtraFields, Looked, page};

/// The initial text of the form.
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

/// The routes.
pub(super) fn routes() -> Router<App> {
    Router::new().route("/submit", get(empty).post(submit))
}

async fn empty(visitor: Visitor) -> Result<Markup, ApiError> {
    visitor.require_submit()?;
    let form = SubmitForm { text: BEGINNING.to_owned(), ..SubmitForm::default() };
    Ok(page(&visitor, &form, &ExtraFields::default(), &Looked::Not))
}

async fn submit(State(app): State<App>, visitor: Visitor, request: Request) -> Result<Response, ApiError> {
    visitor.require_submit()?;
    let _room = app.upload_place(&visitor.caller)?;
    let mut form = receive(&app, request).await?;
    visitor.require_token(&form.token)?;
    let mut asked = ExtraFields::default();
    match look(&app, &visitor, &mut form, &mut asked).await {
        Ok(Done::Begun(id)) => Ok(Redirect::to(&format!("/experiments/{id}")).into_response()),
        Ok(Done::Looked(warnings)) => Ok(page(&visitor, &form, &asked, &Looked::Right(warnings)).into_response()),
        Err(error) if error.is_ours() => Err(error),
        Err(error) => {
            let status = if error.findings().is_empty() { error.status() } else { StatusCode::BAD_REQUEST };
            Ok((status, page(&visitor, &form, &asked, &Looked::Wrong(error))).into_response())
        }
    }
}

/// The result of handling a form.
enum Done {
    /// An experiment was begun.
    Begun(String),
    /// The spec is right, and that is all that was asked.
    Looked(Vec<String>),
}

/// Looks at what a form brings, and runs it if that is wanted. `asked` becomes what the next form asks for besides.
async fn look(app: &App, visitor: &Visitor, form: &mut SubmitForm, asked: &mut ExtraFields) -> Result<Done, ApiError> {
    let owner = &visitor.caller.owner;
    let upload = match form.file.take().filter(|file| !file.is_empty()) {
        Some(file) => unpack_aside(file).await?,
        None => Upload::alone(form.text.clone()),
    };
    form.text.clone_from(&upload.content.text);
    asked.file = upload.bundle.is_some();
    let ReadSpec { spec, warnings } = read_spec(&upload.content.text, upload.bundle.as_ref())?;
    asked.secrets = unkept_secrets(app, owner, &spec).await?;
    let replicas = match form.replicas.trim() {
        "" => None,
        number => Some(number.parse().map_err(|_| ApiError::invalid("the number of replicas is a whole number"))?),
    };
    if !form.run {
        return Ok(Done::Looked(warnings));
    }
    require_given(form, asked)?;
    let options = Options { name: Some(form.name.clone()), replicas, ..Options::default() };
    let submission = Submission { upload, secrets: form.secrets.clone(), owner: None, options };
    let (experiment, run) = prepare(app, owner, submission).await?;
    let begun = app.store.submit(&experiment, &run, app.clock.now()).await?;
    Ok(Done::Begun(begun.experiment.to_string()))
}

/// Refuses to run what needs secrets that nobody gave.
fn require_given(form: &SubmitForm, asked: &ExtraFields) -> Result<(), ApiError> {
    let missing = asked.secrets.iter().filter(|name| !form.secrets.has(name));
    let missing: Vec<_> = missing.map(|name| format!("`{name}`")).collect();
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(ApiError::invalid(format!("the spec needs the secret {one}, which is not kept here"))),
        many => Err(ApiError::invalid(format!("the spec needs secrets that are not kept here: {}", many.join(", ")))),
    }
}
