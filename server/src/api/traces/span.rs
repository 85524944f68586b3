//! Spans: rows by where they stand in a tree.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use scenario::untrusted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{StoredTrace, TraceFilter};
use utoipa::{IntoParams, ToSchema};

use super::read::{TraceBody, found, wanted};
use super::shown::row;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Envelope, PageQuery};

/// The number of rows of a tree read at once, and the most in all.
const ROWS: (u64, usize) = (200, 5000);

/// Which spans. What is empty is not asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SpansQuery {
    /// The span around all.
    trace_id: Option<String>,
    /// The span itself.
    span_id: Option<String>,
    /// The span around it.
    parent_span_id: Option<String>,
    /// The span around all, again.
    root_span_id: Option<String>,
    /// Which tool.
    tool: Option<String>,
    /// The kind.
    event_type: Option<String>,
}

/// A tree of spans.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpansBody {
    /// The span around all.
    trace_id: String,
    /// The spans, in the order in which they began. The beginning and the end of one are shown together.
    #[schema(value_type = Vec<TraceBody>)]
    spans: Vec<Value>,
    /// True when there are more.
    incomplete: bool,
}

/// Spans, newest first
#[utoipa::path(get, path = "/v1/spans", tag = "traces", params(SpansQuery, PageQuery),
    responses((status = 200, body = Envelope<TraceBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(query): QueryParams<SpansQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Envelope<Value>>, ApiError> {
    let filter = TraceFilter {
        owner: caller.sees(),
        span_id: wanted(query.span_id.as_deref()),
        parent_span_id: wanted(query.parent_span_id.as_deref()),
        root_span_id: wanted(query.trace_id.as_deref()).or(wanted(query.root_span_id.as_deref())),
        tool: wanted(query.tool.as_deref()),
        event_type: wanted(query.event_type.as_deref()),
        newest_first: true,
        ..TraceFilter::default()
    };
    found(&app, &filter, &page).await.map(Json)
}

/// All spans of a tree
#[utoipa::path(get, path = "/v1/traces/{root_span_id}", tag = "traces",
    params(("root_span_id" = String, Path, description = "The span around all")),
    responses((status = 200, body = SpansBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn tree(
    State(app): State<App>,
    Reader(caller): Reader,
    At(root): At<String>,
) -> Result<Json<SpansBody>, ApiError> {
    let filter = TraceFilter { owner: caller.sees(), root_span_id: Some(&root), ..TraceFilter::default() };
    let (at_once, most) = ROWS;
    let mut rows: Vec<StoredTrace> = Vec::new();
    let incomplete = loop {
        let after = rows.last().map(|last| last.number);
        let part = app.store.traces(&filter, after, at_once).await?;
        let is_last = (part.len() as u64) < at_once;
        rows.extend(part);
        if is_last || rows.len() >= most {
            break !is_last;
        }
    };
    if rows.is_empty() {
        let root = untrusted::line(&root, 100);
        return Err(ApiError::not_found(format!("nothing is known of a trace with the root span `{root}`")));
    }
    Ok(Json(SpansBody { trace_id: root, spans: spans(rows), incomplete }))
}

/// One span for all rows with its id. Beginning and end may arrive in any order; what the end says counts.
fn spans(rows: Vec<StoredTrace>) -> Vec<Value> {
    let mut spans: Vec<(jiff::Timestamp, Map<String, Value>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for stored in rows {
        let (at, id, is_start) = (stored.trace.at, stored.trace.span_id.clone(), stored.trace.phase == "start");
        let Value::Object(mut fields) = row(stored) else { continue };
        match places.get(&id).filter(|_| !id.is_empty()) {
            None => {
                places.insert(id, spans.len());
                spans.push((at, fields));
            }
            Some(place) => {
                let (first, known) = &mut spans[*place];
                *first = (*first).min(at);
                if is_start {
                    std::mem::swap(known, &mut fields);
                }
                known.extend(fields);
            }
        }
    }
    spans.sort_by_key(|(at, _)| *at);
    spans.into_iter().map(|(_, fields)| Value::Object(fields)).collect()
}
