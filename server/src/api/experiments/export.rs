//! `GET /v1/experiments/{id}/export`: all that is kept about an experiment, made while it is sent.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use scenario::report::{Report, scenario_value};
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Experiment, Page, Run, ScoreFilter, StoredScenario, TraceFilter};
use utoipa::{IntoParams, ToSchema};

use super::schema::ExperimentBody;
use super::{find, find_run};
use crate::api::{scores, traces};
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::results::{Form, never_run, report_of};
use crate::stream::{self, Pieces};

/// The number of rows read at once.
const AT_ONCE: u64 = 200;

/// Options of an export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// Which run, from 1; the newest one without it.
    #[param(minimum = 1)]
    run: Option<u32>,
    /// One object, or a line for each thing.
    #[param(inline)]
    format: Option<ExportFormat>,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// One JSON object.
    Json,
    /// A JSON object on each line, with its `kind`: `header`, `result`, `scenario`, `trace` or `score`.
    Ndjson,
}

/// All that is kept about an experiment
///
/// `{experiment, result, scenarios, traces, scores}`, or with `format=ndjson` a line for each, of which the first has the
/// kind `header`.
#[utoipa::path(get, path = "/v1/experiments/{id}/export", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"), ExportQuery),
    responses((status = 200, content((Object = "application/json"), (String = "application/x-ndjson"))),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn export(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(query): QueryParams<ExportQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let run = find_run(&app, &experiment, query.run).await?;
    let (kind, name) = match query.format.unwrap_or(ExportFormat::Json) {
        // The results alone are `<id>.json`.
        ExportFormat::Json => ("application/json", format!("attachment; filename=\"{}-all.json\"", experiment.id)),
        ExportFormat::Ndjson => {
            ("application/x-ndjson", format!("attachment; filename=\"{}-all.ndjson\"", experiment.id))
        }
    };
    let format = query.format.unwrap_or(ExportFormat::Json);
    // What can fail does so before the answer begins.
    let report = match &run {
        Some(run) => Some(report_of(&app, &experiment, run, None).await?),
        None => None,
    };
    let body = stream::body(move |pieces| async move {
        let mut writer = Writer { pieces, format, before: "" };
        Export { app, experiment, run, report }.write(&mut writer).await
    });
    let mut response = body.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// The exported rows.
struct Export {
    app: App,
    experiment: Experiment,
    run: Option<Run>,
    report: Option<Report>,
}

/// Writes rows in the chosen format.
struct Writer {
    pieces: Pieces,
    format: ExportFormat,
    /// The text before the next item of a list.
    before: &'static str,
}

impl Export {
    async fn write(&self, writer: &mut Writer) -> Result<(), ApiError> {
        let experiment = serde_json::to_value(ExperimentBody::of(&self.experiment, self.run.as_ref()));
        writer.header(&self.experiment, experiment.unwrap_or_default()).await?;
        writer.result(self.result().await?).await?;
        writer.begin("scenarios").await?;
        self.scenarios(writer).await?;
        writer.begin("traces").await?;
        self.traces(writer).await?;
        writer.begin("scores").await?;
        self.scores(writer).await?;
        writer.end().await
    }

    /// The results without the scenarios.
    async fn result(&self) -> Result<Value, ApiError> {
        let Some(run) = &self.run else { return Ok(never_run(&self.experiment)) };
        let shown = self.app.shows.of(&self.app, &self.experiment, run, Form::Summary).await?;
        serde_json::from_slice(&shown.thing).map_err(|error| ApiError::internal(error.to_string()))
    }

    async fn scenarios(&self, writer: &mut Writer) -> Result<(), ApiError> {
        let (Some(report), Some(run)) = (&self.report, &self.run) else { return Ok(()) };
        for row in &report.rows {
            let result = &row.result;
            let stored: Option<StoredScenario> = self.app.store.scenario(run.id, result.scenario.id.as_str()).await?;
            let mut row = row.clone();
            if let Some(stored) = stored {
                self.app.shows.outputs().of(&self.app, &stored).await?.put_into(&mut row.result);
            }
            writer.item("scenario", scenario_value(report, &row)).await?;
        }
        Ok(())
    }

    async fn traces(&self, writer: &mut Writer) -> Result<(), ApiError> {
        let Some(run) = &self.run else { return Ok(()) };
        let filter = TraceFilter { run: Some(run.id), ..TraceFilter::default() };
        let mut after = None;
        loop {
            let traces = self.app.store.traces(&filter, after, AT_ONCE).await?;
            let is_last = (traces.len() as u64) < AT_ONCE;
            for trace in traces {
                after = Some(trace.number);
                writer.item("trace", traces::shown_row(trace)).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    async fn scores(&self, writer: &mut Writer) -> Result<(), ApiError> {
        let Some(run) = &self.run else { return Ok(()) };
        let filter = ScoreFilter { experiment: Some(run.id.experiment), ..ScoreFilter::default() };
        let mut after: Option<String> = None;
        loop {
            let page = Page { after: after.as_deref(), most: AT_ONCE };
            let listed = self.app.store.scores(filter, page).await?;
            for score in listed.items.into_iter().filter(|score| score.new.run == run.id) {
                let value = serde_json::to_value(scores::shown(score)).unwrap_or_default();
                writer.item("score", value).await?;
            }
            match listed.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }
}

impl Writer {
    async fn header(&mut self, experiment: &Experiment, body: Value) -> Result<(), ApiError> {
        match self.format {
            ExportFormat::Json => self.pieces.send(format!("{{\"experiment\":{body}")).await,
            ExportFormat::Ndjson => {
                self.line("header", json!({"experiment_id": experiment.id, "experiment": body})).await
            }
        }
    }

    async fn result(&mut self, result: Value) -> Result<(), ApiError> {
        match self.format {
            ExportFormat::Json => self.pieces.send(format!(",\"result\":{result}")).await,
            ExportFormat::Ndjson => self.line("result", result).await,
        }
    }

    /// Begins a list, and ends the one before it.
    async fn begin(&mut self, list: &str) -> Result<(), ApiError> {
        if self.format == ExportFormat::Ndjson {
            return Ok(());
        }
        let end = if self.before.is_empty() { "" } else { "]" };
        self.before = "\n";
        self.pieces.send(format!("{end},\"{list}\":[")).await
    }

    async fn item(&mut self, kind: &str, value: Value) -> Result<(), ApiError> {
        if self.format == ExportFormat::Ndjson {
            return self.line(kind, value).await;
        }
        let before = std::mem::replace(&mut self.before, ",\n");
        self.pieces.send(format!("{before}{value}")).await
    }

    async fn end(&mut self) -> Result<(), ApiError> {
        match self.format {
            ExportFormat::Json => self.pieces.send("]}\n").await,
            ExportFormat::Ndjson => Ok(()),
        }
    }

    /// A line: its kind first.
    async fn line(&mut self, kind: &str, value: Value) -> Result<(), ApiError> {
        let mut line = json!({ "kind": kind });
        if let (Value::Object(line), Value::Object(value)) = (&mut line, value) {
            line.extend(value.into_iter().filter(|(name, _)| name != "kind"));
        }
        self.pieces.send(format!("{line}\n")).await
    }
}
