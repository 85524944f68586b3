//! Rules that are looked at when a run ends, or that tell of events.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::alert::{Condition, InvalidWindow, Window};
use scenario::untrusted;
use serde::{Deserialize, Serialize};
use store::{Alert, Listed, NewAlert, Page, Store, StoreError};
use utoipa::ToSchema;

use crate::api::owned::{self, Owned};
use crate::app::App;
use crate::auth::{Caller, Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::page::{Listing, PageQuery};
use crate::{fields, webhooks};

/// The event of a call that waits for a person.
pub(crate) const APPROVAL_REQUESTED: &str = "approval.requested";
/// The event of a call that does not wait any more.
pub(crate) const APPROVAL_DECIDED: &str = "approval.decided";

/// The most alerts of an owner: each is evaluated for each run.
const MOST: usize = 500;

/// An alert that is to be made.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct AlertRequest {
    /// Its id; one is made when it is missing.
    id: Option<String>,
    /// Its name, for people.
    #[schema(example = "nightly got worse")]
    name: String,
    /// The spec whose runs are looked at; all without it.
    eval_id: Option<String>,
    /// When it fires: comparisons of metrics with numbers, changes against an earlier run, `and`, `or`, `not`, parentheses.
    #[schema(example = "pass_rate < 90% or drop in pass_rate > 5%")]
    condition: String,
    /// The events that it tells of instead of ends of runs: `approval.requested`, `approval.decided`. Such an alert has no condition.
    events: Vec<EventName>,
    /// The oldest age of a run that this one is compared with.
    #[schema(example = "24h")]
    window: Option<String>,
    /// The kind of notification: `webhook`, `slack` or `log`.
    #[schema(example = "webhook")]
    notify: Option<String>,
    /// Where a message is sent; for `slack`, an incoming webhook of theirs.
    webhook_url: Option<String>,
    /// The channel, for `slack`.
    slack_channel: Option<String>,
}

/// An event that an alert can tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum EventName {
    /// A call waits for a person.
    #[serde(rename = "approval.requested")]
    ApprovalRequested,
    /// A call does not wait any more.
    #[serde(rename = "approval.decided")]
    ApprovalDecided,
}

impl EventName {
    fn word(self) -> &'static str {
        match self {
            Self::ApprovalRequested => APPROVAL_REQUESTED,
            Self::ApprovalDecided => APPROVAL_DECIDED,
        }
    }
}

/// An alert.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AlertBody {
    /// Its id.
    #[schema(example = "alert_0f3b2c")]
    id: String,
    /// Its name, for people.
    name: String,
    /// The spec whose runs are looked at; empty for all.
    eval_id: String,
    /// The condition under which it fires; empty for one that tells of events.
    condition: String,
    /// The events that it tells of.
    events: Vec<String>,
    /// The oldest age of an earlier run; empty when not given.
    window: String,
    /// The kind of notification.
    notify: String,
    /// Where a message is sent.
    webhook_url: String,
    /// The channel.
    slack_channel: String,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
    /// The key that messages are signed with. Shown once, when the alert is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Make an alert
///
/// It is looked at whenever a run ends, or tells of the `events` that it names. A message is signed: the header `X-Touchstone-Signature` is `t=…,v1=…`, where `v1` is
/// the HMAC-SHA256 of `t`, a dot and the body, with the `secret` that is returned here, and only here.
#[utoipa::path(post, path = "/v1/alerts", tag = "alerts", request_body = AlertRequest,
    responses((status = 201, body = AlertBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Submitter(caller): Submitter,
    JsonBody(request): JsonBody<AlertRequest>,
) -> Result<(StatusCode, Json<AlertBody>), ApiError> {
    let new = read(&app, &caller, request)?;
    if app.store.alert(&new.id).await?.is_some() {
        return Err(ApiError::conflict(format!("there is an alert `{}` already", new.id)));
    }
    let own = app.store.alerts(Some(&caller.owner), Page { after: None, most: MOST as u64 }).await?;
    if own.items.len() >= MOST {
        return Err(ApiError::conflict(format!(
            "there are {MOST} alerts already, which is the most; remove some first"
        )));
    }
    let secret = new.webhook_url.is_some().then(|| app.master_key.webhook_secret(&new.id));
    let alert = app.store.create_alert(&new, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(AlertBody { secret, ..alert.shown() })))
}

/// All alerts, newest first
#[utoipa::path(get, path = "/v1/alerts", tag = "alerts", params(PageQuery),
    responses((status = 200, body = Vec<AlertBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Listing<AlertBody>, ApiError> {
    owned::list::<Alert>(&app, &caller, &page).await
}

/// An alert
#[utoipa::path(get, path = "/v1/alerts/{id}", tag = "alerts", params(("id" = String, Path, description = "The alert's id")),
    responses((status = 200, body = AlertBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Json<AlertBody>, ApiError> {
    Ok(Json(owned::owned::<Alert>(&app, &caller, &id).await?.shown()))
}

/// Remove an alert
#[utoipa::path(delete, path = "/v1/alerts/{id}", tag = "alerts", params(("id" = String, Path, description = "The alert's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    owned::remove::<Alert>(&app, &caller, &id).await
}

/// Checks a request; the error has every problem of its first invalid part.
fn read(app: &App, caller: &Caller, request: AlertRequest) -> Result<NewAlert, ApiError> {
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let id = match given(request.id) {
        Some(id) => fields::word(&id, "id").map(|()| id)?,
        None => format!("alert_{}", app.ids.hex(24)),
    };
    let condition = request.condition.trim().to_owned();
    let events = events(&condition, &request.events)?;
    let window = given(request.window);
    if let Some(window) = &window {
        let invalid = |error: InvalidWindow| ApiError::invalid(format!("`window` cannot be understood: {error}"));
        window.parse::<Window>().map_err(invalid)?;
    }
    let notify = given(request.notify).unwrap_or_else(|| "webhook".to_owned());
    let webhook_url = given(request.webhook_url);
    require_way(&notify, webhook_url.as_deref())?;
    if let Some(url) = &webhook_url {
        webhooks::target(url, app.config.private_webhooks)
            .map_err(|error| ApiError::invalid(format!("`webhook_url` cannot be used: {error}")))?;
    }
    let eval_id = given(request.eval_id).map(|id| fields::name(&id, "eval_id")).transpose()?;
    let slack_channel =
        given(request.slack_channel).map(|channel| fields::name(&channel, "slack_channel")).transpose()?;
    Ok(NewAlert {
        id,
        owner: caller.owner.clone(),
        name: fields::name(&request.name, "name")?,
        eval_id,
        condition,
        events,
        window,
        notify,
        webhook_url,
        slack_channel,
    })
}

/// The events that an alert tells of: it has them, or a condition.
fn events(condition: &str, named: &[EventName]) -> Result<Vec<String>, ApiError> {
    if named.is_empty() {
        let parsed = Condition::parse(condition);
        return parsed.map(|_| Vec::new()).map_err(|mistake| ApiError::invalid(format!("`condition`, {mistake}")));
    }
    if !condition.is_empty() {
        return Err(ApiError::invalid("an alert with `events` has no `condition`: make one for each"));
    }
    let mut events: Vec<_> = named.iter().map(|event| event.word().to_owned()).collect();
    events.sort_unstable();
    events.dedup();
    Ok(events)
}

/// Refuses an alert of which nobody would hear.
fn require_way(notify: &str, webhook_url: Option<&str>) -> Result<(), ApiError> {
    match (notify, webhook_url) {
        ("webhook" | "slack", Some(_)) | ("log", None) => Ok(()),
        ("webhook", None) => Err(ApiError::invalid("`notify: webhook` needs `webhook_url`")),
        ("slack", None) => Err(ApiError::invalid(
            "`notify: slack` needs `webhook_url`: make an incoming webhook for the channel, and give its URL",
        )),
        ("log", Some(_)) => {
            Err(ApiError::invalid("`notify: log` writes to the server's log, and has no `webhook_url`"))
        }
        _ => {
            let notify = untrusted::line(notify, 50);
            Err(ApiError::invalid(format!("`notify` is `{notify}`: it must be webhook, slack or log")))
        }
    }
}

impl Owned for Alert {
    type Body = AlertBody;

    const NOUN: &'static str = "alert";

    async fn find(store: &Store, id: &str) -> Result<Option<Self>, StoreError> {
        store.alert(id).await
    }

    async fn list(store: &Store, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Self>, StoreError> {
        store.alerts(owner, page).await
    }

    async fn remove(store: &Store, id: &str) -> Result<bool, StoreError> {
        store.remove_alert(id).await
    }

    fn owner(&self) -> &str {
        &self.new.owner
    }

    fn shown(self) -> AlertBody {
        let Alert { new, created_at } = self;
        AlertBody {
            id: new.id,
            name: new.name,
            eval_id: new.eval_id.unwrap_or_default(),
            condition: new.condition,
            events: new.events,
            window: new.window.unwrap_or_default(),
            notify: new.notify,
            webhook_url: new.webhook_url.unwrap_or_default(),
            slack_channel: new.slack_channel.unwrap_or_default(),
            created_at: created_at.to_string(),
            secret: None,
        }
    }
}
