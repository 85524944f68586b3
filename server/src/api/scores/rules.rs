//! Rules by which scenarios are scored afterwards.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use regex::RegexBuilder;
use scenario::untrusted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Listed, NewScoreRule, Page, ScoreRule, Store, StoreError};
use utoipa::ToSchema;

use crate::api::owned::{self, Owned};
use crate::app::App;
use crate::auth::{Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::fields;
use crate::page::{Listing, PageQuery};

/// The kinds of rules: those of Keystone, and the kinds of checks that invariants have.
const KINDS: [&str; 20] = [
    "llm_as_judge",
    "regex",
    "contains",
    "custom",
    "command_exit",
    "file_exists",
    "file_absent",
    "file_content",
    "sql",
    "http_mock_assertions",
    "contains_any",
    "excludes_pattern",
    "latency",
    "valid_json",
    "similarity",
    "excludes_pii",
    "refusal_check",
    "completes",
    "output_not_empty",
    "behavior_unchanged",
];
/// The size limit of a compiled pattern in bytes.
const PATTERN: usize = 1 << 20;
/// The size limit of `config` in bytes.
const CONFIG: usize = 64 * 1024;

/// A rule that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RuleRequest {
    /// Its name, for people.
    #[schema(example = "says sorry")]
    name: String,
    /// The kind of rule: `llm_as_judge`, `regex`, `contains`, `custom`, or a kind of check.
    #[serde(rename = "type")]
    #[schema(example = "contains")]
    kind: String,
    /// Its configuration: `criteria` and `model`, `pattern`, or `text`.
    #[serde(default)]
    #[schema(example = json!({"text": "sorry"}))]
    config: Map<String, Value>,
}

/// A rule.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuleBody {
    /// Its id.
    id: String,
    /// Whose it is.
    user_id: String,
    /// Its name, for people.
    name: String,
    /// The kind of rule.
    #[serde(rename = "type")]
    kind: String,
    /// Its configuration.
    #[schema(value_type = Object)]
    config: Value,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
}

/// Make a score rule
#[utoipa::path(post, path = "/v1/score-rules", tag = "scores", request_body = RuleRequest,
    responses((status = 201, body = RuleBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Submitter(caller): Submitter,
    JsonBody(request): JsonBody<RuleRequest>,
) -> Result<(StatusCode, Json<RuleBody>), ApiError> {
    require_config(&request.kind, &request.config)?;
    let new = NewScoreRule {
        id: format!("rule_{}", app.ids.hex(24)),
        owner: caller.owner,
        name: fields::name(&request.name, "name")?,
        kind: request.kind,
        config: Value::Object(request.config),
    };
    let rule = app.store.create_score_rule(&new, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(rule.shown())))
}

/// All score rules, newest first
#[utoipa::path(get, path = "/v1/score-rules", tag = "scores", params(PageQuery),
    responses((status = 200, body = Vec<RuleBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Listing<RuleBody>, ApiError> {
    owned::list::<ScoreRule>(&app, &caller, &page).await
}

/// A score rule
#[utoipa::path(get, path = "/v1/score-rules/{id}", tag = "scores", params(("id" = String, Path, description = "The rule's id")),
    responses((status = 200, body = RuleBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Json<RuleBody>, ApiError> {
    Ok(Json(owned::owned::<ScoreRule>(&app, &caller, &id).await?.shown()))
}

/// Remove a score rule, and what it said
#[utoipa::path(delete, path = "/v1/score-rules/{id}", tag = "scores", params(("id" = String, Path, description = "The rule's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    owned::remove::<ScoreRule>(&app, &caller, &id).await
}

/// Refuses what a rule of its kind could not do its work with.
fn require_config(kind: &str, config: &Map<String, Value>) -> Result<(), ApiError> {
    if !KINDS.contains(&kind) {
        let kind = untrusted::line(kind, 100);
        return Err(ApiError::invalid(format!("`type` is `{kind}`: it must be one of {}", KINDS.join(", "))));
    }
    if serde_json::to_string(config).map_or(usize::MAX, |text| text.len()) > CONFIG {
        return Err(ApiError::invalid(format!("`config` has more than {CONFIG} bytes")));
    }
    match kind {
        "llm_as_judge" => required(config, kind, "criteria").map(|_| ()),
        "contains" => required(config, kind, "text").map(|_| ()),
        "regex" => {
            let pattern = required(config, kind, "pattern")?;
            let compiled = RegexBuilder::new(pattern).size_limit(PATTERN).build();
            compiled.map(|_| ()).map_err(|error| ApiError::invalid(format!("`config.pattern` is no pattern: {error}")))
        }
        _ => Ok(()),
    }
}

fn required<'c>(config: &'c Map<String, Value>, kind: &str, field: &str) -> Result<&'c str, ApiError> {
    let text = config.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| ApiError::invalid(format!("a rule of type `{kind}` needs a text in `config.{field}`")))
}

impl Owned for ScoreRule {
    type Body = RuleBody;

    const NOUN: &'static str = "score rule";

    async fn find(store: &Store, id: &str) -> Result<Option<Self>, StoreError> {
        store.score_rule(id).await
    }

    async fn list(store: &Store, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Self>, StoreError> {
        store.score_rules(owner, page).await
    }

    async fn remove(store: &Store, id: &str) -> Result<bool, StoreError> {
        store.remove_score_rule(id).await
    }

    fn owner(&self) -> &str {
        &self.new.owner
    }

    fn shown(self) -> RuleBody {
        let ScoreRule { new, created_at } = self;
        RuleBody {
            id: new.id,
            user_id: new.owner,
            name: new.name,
            kind: new.kind,
            config: new.config,
            created_at: created_at.to_string(),
        }
    }
}
