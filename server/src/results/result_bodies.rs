//! Bodies of results, made once and shared.

use std::sync::Arc;

use axum::body::Bytes;
use scenario::report::{Report, json_value, junit, markdown, summary_value};
use scenario::score::{ExperimentVerdict, Metrics};
use serde_json::{Value, json};
use store::{Experiment, Run, RunId};

use super::memo::{Made, Remembered};
use super::{ExperimentStatus, Form, Outputs, Tag, report_of, unrun};
use crate::app::App;
use crate::error::ApiError;

/// The size of the cache of bodies in bytes.
const REMEMBERED: usize = 64 << 20;

/// Bodies, as far as they are remembered.
#[derive(Debug)]
pub(crate) struct Shows {
    bodies: Remembered<(RunId, Form), Bytes>,
    outputs: Outputs,
}

impl Default for Shows {
    fn default() -> Self {
        Self { bodies: Remembered::new(REMEMBERED), outputs: Outputs::default() }
    }
}

impl Shows {
    /// Returns the output of agents.
    pub(crate) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Returns the tag of what a run would show now: a cached body that is still good, or the newest.
    pub(crate) fn tag_of(&self, run: Option<&Run>, form: Form) -> Tag {
        let now = Tag::of(run);
        let known = run.and_then(|run| self.bodies.known(&(run.id, form), now));
        known.map_or(now, |made| made.tag)
    }

    /// The results of a run in a form.
    pub(crate) async fn of(
        &self,
        app: &App,
        experiment: &Experiment,
        run: &Run,
        form: Form,
    ) -> Result<Arc<Made<Bytes>>, ApiError> {
        self.bodies
            .of((run.id, form), Tag::of(Some(run)), async {
                let outputs = (form == Form::Json).then_some(&self.outputs);
                let report = report_of(app, experiment, run, outputs).await?;
                let body = Bytes::from(render(experiment, run, &report, form));
                let bytes = body.len();
                Ok((body, bytes))
            })
            .await
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
    results["status"] = json!(ExperimentStatus::of(Some(run)));
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
        "status": ExperimentStatus::of(None),
    })
}
