//! The Docker engine of this machine.

use engine::backend::docker::{DockerBackend, DockerSettings};
use engine::data_dir::DataDir;
use engine::owner::Owner;

use crate::output::CommandError;

/// Takes an owner's lock in a data directory.
pub(crate) fn own(data_dir: &DataDir) -> Result<Owner, CommandError> {
    Owner::register(data_dir.clone())
        .map_err(|error| CommandError::Infrastructure(format!("the data directory cannot be used: {error}")))
}

/// Connects to the Docker engine as this owner.
pub(crate) async fn connect_as(owner: Owner, settings: DockerSettings) -> Result<DockerBackend, CommandError> {
    DockerBackend::connect(owner, settings).await.map_err(|error| CommandError::Infrastructure(error.to_string()))
}

/// Connects to the Docker engine, to look after what a data directory's processes made there.
pub(crate) async fn connect(data_dir: &DataDir) -> Result<DockerBackend, CommandError> {
    connect_as(own(data_dir)?, DockerSettings { pull: false, ..DockerSettings::default() }).await
}
