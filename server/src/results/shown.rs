//! Bodies of results, made once and shared.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use scenario::report::{Report, json_value, junit, markdown, summary_value};
use scenario::score::{ExperimentVerdict, Metrics};
use serde_json::{Value, json};
use store::{Experiment, Run, RunId};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Form, Outputs, Tag, report_of, status, unrun};
use crate::app::App;
use crate::cache::Cache;
use crate::error::ApiError;

/// How many bytes of bodies are remembered.
const REMEMBERED: usize = 64 << 20;
/// How many runs can be worked on at once.
const LOCKS: usize = 64;
/// A body of a run that goes on, with more scenarios than this, is shown for a while although it could be newer: it takes long
/// to make, and as often as a scenario ends.
const MANY: usize = 200;
/// How long it is shown, for each scenario more.
const EACH: Duration = Duration::from_millis(1);
/// But no longer than this.
const LONGEST: Duration = Duration::from_secs(2);

/// The results of an experiment in one form.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// What they show.
    pub(crate) tag: Tag,
    /// The body.
    pub(crate) body: Bytes,
    /// Until when it is good enough for a run that goes on.
    until: Instant,
}

/// Bodies, as far as they are remembered.
#[derive(Debug)]
pub(crate) struct Shows {
    bodies: Cache<(RunId, Form), Arc<Shown>>,
    /// Whoever makes the body of a run holds one of them, so that others wait instead of making it too.
    locks: Vec<Mutex<()>>,
    outputs: Outputs,
}

impl Default for Shows {
    fn default() -> Self {
        let locks = (0..LOCKS).map(|_| Mutex::default()).collect();
        Self { bodies: Cache::new(REMEMBERED), locks, outputs: Outputs::default() }
    }
}

impl Shows {
    /// What agents printed.
    pub(crate) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// What would be shown of a run now: a body that is good for a while, or the newest.
    pub(crate) fn tag_of(&self, run: Option<&Run>, form: Form) -> Tag {
        let now = Tag::of(run);
        let known = run.and_then(|run| self.bodies.get(&(run.id, form)));
        known.filter(|shown| shown.is_good(now)).map_or(now, |shown| shown.tag)
    }

    /// The results of a run in a form.
    pub(crate) async fn of(
        &self,
        app: &App,
        experiment: &Experiment,
        run: &Run,
        form: Form,
    ) -> Result<Arc<Shown>, ApiError> {
        let key = (run.id, form);
        let tag = Tag::of(Some(run));
        let known = || self.bodies.get(&key).filter(|shown| shown.is_good(tag));
        if let Some(shown) = known() {
            return Ok(shown);
        }
        let _alone = self.lock(&key).lock().await;
        if let Some(shown) = known() {
            return Ok(shown);
        }
        let outputs = (form == Form::Json).then_some(&self.outputs);
        let report = report_of(app, experiment, run, outputs).await?;
        let body = Bytes::from(render(experiment, run, &report, form));
        let more = u32::try_from(report.rows.len().saturating_sub(MANY)).unwrap_or(u32::MAX);
        let until = Instant::now() + EACH.saturating_mul(more).min(LONGEST);
        let shown = Arc::new(Shown { tag, body, until });
        self.bodies.put(key, Arc::clone(&shown), shown.body.len());
        Ok(shown)
    }

    fn lock(&self, key: &(RunId, Form)) -> &Mutex<()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0);
        &self.locks[index]
    }
}

impl Shown {
    /// Whether it can be shown for this state of the run.
    fn is_good(&self, now: Tag) -> bool {
        let is_recent = || self.tag.is_open() && now.is_open() && Instant::now() < self.until;
        self.tag == now || is_recent()
    }
}

fn render(experiment: &Experiment, run: &Run, report: &Report, form: Form) -> String {
    match form {
        Form::Json => about(experiment, run, report, json_value(report)).to_string(),
        Form::Summary => about(experiment, run, report, summary_value(report)).to_string(),
        Form::Junit => junit(report),
        Form::Markdown => markdown(report),
    }
}

/// The results, and where the run stands.
fn about(experiment: &Experiment, run: &Run, report: &Report, mut results: Value) -> Value {
    let unrun = unrun(run, report);
    results["name"] = experiment.name.as_str().into();
    results["status"] = status(Some(run)).into();
    results["errors"] = (report.score.errors + unrun).into();
    results["not_run"] = unrun.into();
    if unrun > 0 && report.score.verdict == ExperimentVerdict::Pending {
        results["verdict"] = json!(ExperimentVerdict::Error);
    }
    if let Some(ended_at) = run.ended_at {
        results["ended_at"] = ended_at.to_string().into();
    }
    if let Some(reason) = &run.reason {
        results["reason"] = reason.as_str().into();
    }
    results
}

/// The results of an experiment that was not run yet.
pub(crate) fn never_run(experiment: &Experiment) -> Value {
    json!({
        "ran_at": experiment.created_at.to_string(),
        "spec_id": experiment.spec.spec_id,
        "experiment_id": experiment.id,
        "run": 0,
        "seed": experiment.seed,
        "verdict": ExperimentVerdict::Pending,
        "total_scenarios": 0,
        "passed": 0,
        "failed": 0,
        "flaky": 0,
        "errors": 0,
        "not_run": 0,
        "metrics": Metrics::default(),
        "cells": [],
        "scenarios": [],
        "name": experiment.name,
        "status": status(None),
    })
}
