//! Datasets: records to evaluate with. Each addition is a version.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::{Dataset, Listed, NewDataset, NewRecord, Page, Record, Store, StoreError};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::owned::{self, Owned};
use crate::app::App;
use crate::auth::{Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::fields;
use crate::page::{Listing, PageQuery};
use crate::stream_array;

/// The length limit of a description in characters.
const DESCRIPTION: usize = 10_000;
/// The most records of one request.
const RECORDS: usize = 10_000;
/// The most tags of a record.
const TAGS: usize = 50;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(one, remove))
        .routes(routes!(add_records, records))
}

/// A dataset that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DatasetRequest {
    /// Its name, for people.
    #[schema(example = "refunds")]
    name: String,
    /// Its purpose.
    #[serde(default)]
    description: String,
}

/// A dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DatasetBody {
    /// Its id.
    #[schema(example = "ds_0f3b2c")]
    id: String,
    /// Whose it is.
    user_id: String,
    /// Its name, for people.
    name: String,
    /// Its purpose.
    description: String,
    /// The number of times that records were added.
    version: u32,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
}

/// Records that are to be added.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RecordsRequest {
    /// The records.
    records: Vec<RecordRequest>,
}

/// A record that is to be added.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RecordRequest {
    /// The input.
    input: Map<String, Value>,
    /// The expected output.
    #[serde(default)]
    expected: Option<Map<String, Value>>,
    /// More about it.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// Words by which it is found, without commas.
    #[serde(default)]
    tags: Option<Vec<String>>,
}

/// The result of adding records.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AddedBody {
    /// The number of records.
    added: usize,
    /// The dataset's version now.
    version: u32,
}

/// A record.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordBody {
    /// Its id.
    id: String,
    /// Its dataset.
    dataset_id: String,
    /// The input.
    #[schema(value_type = Object)]
    input: Value,
    /// The expected output.
    #[schema(value_type = Object)]
    expected: Value,
    /// More about it.
    #[schema(value_type = Object)]
    metadata: Value,
    /// Words by which it is found.
    tags: Vec<String>,
    /// The version with which it was added.
    version: u32,
}

/// Which records.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordsQuery {
    /// Those that were there in this version of the dataset; all without it.
    version: Option<u32>,
    /// Those with one of these tags, with commas between them.
    #[param(example = "slow,refund")]
    tags: Option<String>,
}

/// Make a dataset
#[utoipa::path(post, path = "/v1/datasets", tag = "datasets", request_body = DatasetRequest,
    responses((status = 201, body = DatasetBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Submitter(caller): Submitter,
    JsonBody(request): JsonBody<DatasetRequest>,
) -> Result<(StatusCode, Json<DatasetBody>), ApiError> {
    let new = NewDataset {
        id: format!("ds_{}", app.ids.hex(24)),
        owner: caller.owner,
        name: fields::name(&request.name, "name")?,
        description: fields::text(request.description, "description", DESCRIPTION)?,
    };
    let dataset = app.store.create_dataset(&new, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(dataset.shown())))
}

/// All datasets, newest first
#[utoipa::path(get, path = "/v1/datasets", tag = "datasets", params(PageQuery),
    responses((status = 200, body = Vec<DatasetBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Listing<DatasetBody>, ApiError> {
    owned::list::<Dataset>(&app, &caller, &page).await
}

/// A dataset
#[utoipa::path(get, path = "/v1/datasets/{id}", tag = "datasets", params(("id" = String, Path, description = "The dataset's id")),
    responses((status = 200, body = DatasetBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Json<DatasetBody>, ApiError> {
    Ok(Json(owned::owned::<Dataset>(&app, &caller, &id).await?.shown()))
}

/// Remove a dataset with its records
#[utoipa::path(delete, path = "/v1/datasets/{id}", tag = "datasets", params(("id" = String, Path, description = "The dataset's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    owned::remove::<Dataset>(&app, &caller, &id).await
}

/// Add records to a dataset
///
/// They are its next version. What was added before stays as it is.
#[utoipa::path(post, path = "/v1/datasets/{id}/records", tag = "datasets", request_body = RecordsRequest,
    params(("id" = String, Path, description = "The dataset's id")),
    responses((status = 201, body = AddedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn add_records(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(request): JsonBody<RecordsRequest>,
) -> Result<(StatusCode, Json<AddedBody>), ApiError> {
    let dataset: Dataset = owned::owned(&app, &caller, &id).await?;
    let added = request.records.len();
    if added > RECORDS {
        return Err(ApiError::too_large(format!("at most {RECORDS} records can be added at once")));
    }
    let records = request.records.into_iter().map(|record| new_record(&app, record)).collect::<Result<Vec<_>, _>>()?;
    if records.is_empty() {
        return Ok((StatusCode::CREATED, Json(AddedBody { added, version: dataset.version })));
    }
    let version = app.store.add_records(&id, &records).await?;
    Ok((StatusCode::CREATED, Json(AddedBody { added, version })))
}

/// The records of a dataset, in the order in which they were added
///
/// All of them, unless `limit` is given; then the header `X-Next-Cursor` says how to go on.
#[utoipa::path(get, path = "/v1/datasets/{id}/records", tag = "datasets",
    params(("id" = String, Path, description = "The dataset's id"), RecordsQuery, PageQuery),
    responses((status = 200, body = Vec<RecordBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn records(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(query): QueryParams<RecordsQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Response, ApiError> {
    owned::owned::<Dataset>(&app, &caller, &id).await?;
    let tags = query.tags.unwrap_or_default();
    let tags: Vec<String> = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(Into::into).collect();
    let version = query.version;
    if page.limit.is_some() || page.after().is_some() {
        let listed = app.store.records(&id, version, &tags, page.page()).await?;
        let items = listed.items.into_iter().map(|record| shown_record((id.clone(), record))).collect();
        return Ok(Listing { items, next: listed.next }.into_response());
    }
    let part = move |after: Option<String>| {
        let (app, id, tags) = (app.clone(), id.clone(), tags.clone());
        async move {
            let page = Page { after: after.as_deref(), most: stream_array::AT_ONCE };
            let listed = app.store.records(&id, version, &tags, page).await?;
            let items = listed.items.into_iter().map(|record| (id.clone(), record)).collect();
            Ok(Listed { items, next: listed.next })
        }
    };
    stream_array::array(part, shown_record).await
}

fn new_record(app: &App, record: RecordRequest) -> Result<NewRecord, ApiError> {
    let tags = record.tags.unwrap_or_default();
    if tags.len() > TAGS || tags.iter().any(|tag| tag.contains(',')) {
        return Err(ApiError::invalid(format!("a record may have at most {TAGS} `tags`, without commas")));
    }
    let tags = tags.iter().map(|tag| fields::name(tag, "tags")).collect::<Result<_, _>>()?;
    let object = |fields: Option<Map<String, Value>>| Value::Object(fields.unwrap_or_default());
    Ok(NewRecord {
        id: format!("rec_{}", app.ids.hex(24)),
        input: Value::Object(record.input),
        expected: object(record.expected),
        metadata: object(record.metadata),
        tags,
    })
}

impl Owned for Dataset {
    type Body = DatasetBody;

    const NOUN: &'static str = "dataset";

    async fn find(store: &Store, id: &str) -> Result<Option<Self>, StoreError> {
        store.dataset(id).await
    }

    async fn list(store: &Store, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Self>, StoreError> {
        store.datasets(owner, page).await
    }

    async fn remove(store: &Store, id: &str) -> Result<bool, StoreError> {
        store.remove_dataset(id).await
    }

    fn owner(&self) -> &str {
        &self.new.owner
    }

    fn shown(self) -> DatasetBody {
        let Dataset { new, version, created_at } = self;
        DatasetBody {
            id: new.id,
            user_id: new.owner,
            name: new.name,
            description: new.description,
            version,
            created_at: created_at.to_string(),
        }
    }
}

fn shown_record((dataset_id, record): (String, Record)) -> RecordBody {
    let Record { new, version } = record;
    let object = |value: Value| if value.is_object() { value } else { json!({}) };
    RecordBody {
        id: new.id,
        dataset_id,
        input: object(new.input),
        expected: object(new.expected),
        metadata: object(new.metadata),
        tags: new.tags,
        version,
    }
}
