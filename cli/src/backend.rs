//! The Docker engine of this machine.

use engine::backend::docker::{DockerBackend, DockerSettings};
use engine::data_dir::DataDir;
use engine::owner::Owner;

use crate::output::CommandError;

/// Connects to the Docker engine, to look after what a data directory's processes made there.
pub(crate) async fn connect(data_dir: &DataDir) -> Result<DockerBackend, CommandError> {
    let owner = Owner::register(data_dir.clone())
        .map_err(|error| CommandError::Infrastructure(format!("the data directory cannot be used: {error}")))?;
    let settings = DockerSettings { pull: false, ..DockerSettings::default() };
    DockerBackend::connect(owner, settings).await.map_err(|error| CommandError::Infrastructure(error.to_string()))
}
