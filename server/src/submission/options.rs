//! Options of a run.

use std::borrow::Cow;

use scenario::plan::{AgentOverride, Filter, PlanOptions};
use serde::Deserialize;
use serde_json::{Map, Value};
use store::{Settings, StoredAgent};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::error::ApiError;

/// The length limit of an experiment's name in characters.
pub(crate) const MOST_NAME: usize = 200;
/// The largest distance of a priority from the default.
const MOST_PRIORITY: i64 = 100;
/// The most filters.
const MOST_FILTERS: usize = 100;

/// Options of a run. `null` means what the spec says.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Options {
    /// The experiment's name; the spec's id by default.
    #[schema(max_length = 200)]
    pub(crate) name: Option<String>,
    /// Jobs with a higher number are done first; 0 is usual.
    #[schema(minimum = -100, maximum = 100)]
    pub(crate) priority: Option<i64>,
    /// The number of replicas per cell, instead of the spec's.
    #[schema(minimum = 1, maximum = 10_000)]
    pub(crate) replicas: Option<usize>,
    /// The seed, instead of the spec's own.
    pub(crate) seed: Option<u64>,
    /// Values of parameters, instead of the matrix's.
    #[schema(value_type = Option<Object>)]
    pub(crate) parameters: Option<Map<String, Value>>,
    /// The agent that replaces the spec's.
    #[schema(value_type = Option<AgentSchema>)]
    pub(crate) agent: Option<AgentOverride>,
    /// A pass rate that every cell must reach, besides its own bar.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) min_pass_rate: Option<f64>,
    /// Only scenarios whose id, cell, spec, suite or tag matches one of these; `*` and `?` stand for anything.
    pub(crate) filter: Option<Vec<String>>,
    /// Only these cells of the spec's `chaos_matrix`, and profiles or `no-chaos` in their place.
    pub(crate) chaos: Option<Vec<String>>,
}

/// The schema of [`AgentOverride`] for the description of the API.
pub(crate) struct AgentSchema;

impl PartialSchema for AgentSchema {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "The agent that replaces the spec's: `noop`, `oracle`, `cheat:NAME`, or a line for `sh -c` with a blank or a slash in it; `cmd:` stands before one that has neither.",
            ))
            .examples(AgentOverride::PLAIN.iter().filter_map(AgentOverride::name))
            .pattern(Some(AgentOverride::FORM))
            .max_length(Some(AgentOverride::MOST_BYTES))
            .into()
    }
}

impl ToSchema for AgentSchema {
    fn name() -> Cow<'static, str> {
        "OtherAgent".into()
    }
}

impl Options {
    /// Converts them to stored settings.
    pub(crate) fn settings(&self) -> Result<Settings, ApiError> {
        let filter = self.filter.clone().unwrap_or_default();
        if filter.len() > MOST_FILTERS {
            return Err(ApiError::invalid(format!("`filter` has more than {MOST_FILTERS} patterns")));
        }
        let chaos = self.chaos.clone().unwrap_or_default();
        if chaos.len() > MOST_FILTERS {
            return Err(ApiError::invalid(format!("`chaos` has more than {MOST_FILTERS} names")));
        }
        let priority = self.priority.unwrap_or(0);
        if !(-MOST_PRIORITY..=MOST_PRIORITY).contains(&priority) {
            return Err(ApiError::invalid(format!("`priority` must be from -{MOST_PRIORITY} to {MOST_PRIORITY}")));
        }
        if self.min_pass_rate.is_some_and(|rate| !(0.0..=1.0).contains(&rate)) {
            return Err(ApiError::invalid("`min_pass_rate` must be from 0 to 1"));
        }
        Ok(Settings {
            agent: self.agent.clone().map(StoredAgent::from),
            agent_files: None,
            backend: None,
            parameters: self.parameters.clone().unwrap_or_default().into_iter().collect(),
            replicas: self.replicas,
            min_pass_rate: self.min_pass_rate,
            rerun_of: None,
            filter,
            chaos,
            priority,
        })
    }

    /// The name, or else the spec's id.
    pub(crate) fn name(&self, spec_id: &str) -> Result<String, ApiError> {
        match self.name.as_deref().map(str::trim) {
            None | Some("") => Ok(spec_id.to_owned()),
            Some(name) if name.chars().count() > MOST_NAME => {
                Err(ApiError::invalid(format!("`name` has more than {MOST_NAME} characters")))
            }
            Some(name) => Ok(name.to_owned()),
        }
    }
}

/// Converts settings to options of a plan.
pub(super) fn plan_options(settings: &Settings, seed: Option<u64>) -> PlanOptions {
    let chaos = (!settings.chaos.is_empty()).then(|| settings.chaos.clone());
    PlanOptions {
        seed,
        replicas: settings.replicas,
        parameters: settings.parameters.clone(),
        chaos,
        ..PlanOptions::default()
    }
}

/// The filters of an experiment.
pub(super) fn filters(settings: &Settings) -> Result<Vec<Filter>, ApiError> {
    settings
        .filter
        .iter()
        .map(|pattern| Filter::new(pattern).map_err(|error| ApiError::invalid(error.to_string())))
        .collect()
}
