//! Baselines by name: runs that later ones are compared with. They outlive their experiments.

mod body;
mod read;
mod save;

use scenario::baseline::BaselineName;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use body::BaselineBody;

use crate::app::App;
use crate::error::ApiError;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(read::list)).routes(routes!(read::one, save::save, save::remove))
}

/// Selects a line of a baseline.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct BranchQuery {
    /// The branch; the baseline itself without it.
    #[param(example = "feature/x")]
    branch: Option<String>,
    /// The owner, for keys with the scope `admin`; the key's own owner otherwise.
    owner: Option<String>,
}

/// The baseline that is meant. An empty branch is none.
fn named(name: &str, branch: Option<&str>) -> Result<BaselineName, ApiError> {
    let branch = branch.filter(|branch| !branch.is_empty());
    BaselineName::new(name, branch).map_err(|error| ApiError::invalid(error.to_string()))
}
