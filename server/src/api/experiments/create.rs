//! `POST /v1/experiments`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use store::{ExperimentId, NewExperiment, StoreError};
use utoipa::ToSchema;

use super::schema::ExperimentBody;
use crate::api::specs::{OwnerQuery, missing};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{JsonText, QueryParams, json};
use crate::submission::{Given, Options, plan, seal_given};

/// An experiment that is to be made. Keys that are not known are passed over.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NewExperimentBody {
    #[serde(flatten)]
    target: ExperimentTarget,
    #[serde(flatten)]
    options: Options,
}

/// The spec of an experiment.
#[derive(Debug, Deserialize, ToSchema)]
struct ExperimentTarget {
    /// The spec to run: the newest version of it.
    spec_id: String,
    /// Values of the spec's secrets. They are sealed, and never returned.
    secrets: Option<Given>,
}

impl NewExperimentBody {
    fn read(bytes: &[u8]) -> Result<Self, ApiError> {
        Ok(Self { target: json(bytes)?, options: json(bytes)? })
    }
}

/// Make an experiment of a spec
///
/// It is not run yet: see `POST /v1/experiments/{id}/run`, or `POST /v1/runs` for all in one.
#[utoipa::path(post, path = "/v1/experiments", tag = "experiments", params(OwnerQuery),
    request_body = NewExperimentBody,
    responses((status = 201, body = ExperimentBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Submitter(caller): Submitter,
    QueryParams(query): QueryParams<OwnerQuery>,
    JsonText(body): JsonText,
) -> Result<(StatusCode, Json<ExperimentBody>), ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let NewExperimentBody { target: ExperimentTarget { spec_id, secrets }, options } = NewExperimentBody::read(&body)?;
    let stored = app.store.spec_version(&owner, &spec_id).await?.ok_or_else(|| missing(&spec_id))?;
    let content = app.store.spec(&stored.version.digest).await?;
    let spec = store::read_spec(&content).map_err(StoreError::from)?;
    let settings = options.settings()?;
    let id = ExperimentId(app.ids.id());
    let seed = plan(&spec, &settings, options.seed)?.seed;
    let experiment = NewExperiment::new(id, stored.version, format!("{spec_id}.yaml"), seed, settings)
        .owned_by(owner)
        .named(options.name(&spec_id)?)
        .with_secrets(seal_given(&app, id, &spec, &secrets.unwrap_or_default())?);
    app.store.create_experiment(&experiment, app.clock.now()).await?;
    let kept = app.store.experiment(id).await?;
    Ok((StatusCode::CREATED, Json(ExperimentBody::of(&kept, None))))
}
