//! Changes over an image: the container's own layer.
//!
//! The layer is a folder of the engine. Where it can be read (as root, on the engine's machine) it is looked at directly,
//! which takes as long as there are changes; otherwise the engine is asked, which compares the whole image.

use std::path::PathBuf;

use bollard::query_parameters::InspectContainerOptionsBuilder;

use super::DockerBackend;
use super::call::call;
use crate::backend::ImageChanges;
use crate::backend::layer::{Layer, is_ours, read};
use crate::error::EngineError;

impl DockerBackend {
    /// The paths that were changed, each with a number that changes with it.
    pub(super) async fn layer_changes(&self, name: &str) -> Result<ImageChanges, EngineError> {
        if let Some(Layer { changes: paths, incomplete, times_tell, .. }) = self.read_layer(name).await? {
            return Ok(ImageChanges { paths, incomplete, times_tell });
        }
        let changes = call("list what changed in a container", self.0.docker.container_changes(name)).await?;
        let paths = changes.unwrap_or_default().into_iter().map(|change| change.path);
        let paths = paths.filter(|path| !is_ours(path)).map(|path| (path.into_bytes(), 0)).collect();
        Ok(ImageChanges { paths, ..ImageChanges::default() })
    }

    /// Returns the number of bytes that were written. Asks the engine only when `thorough` is set, because that is
    /// slow.
    pub(super) async fn layer_bytes(&self, name: &str, thorough: bool) -> Result<Option<u64>, EngineError> {
        if let Some(layer) = self.read_layer(name).await? {
            return Ok(Some(layer.size()));
        }
        if !thorough {
            return Ok(None);
        }
        let options = InspectContainerOptionsBuilder::default().size(true).build();
        let inspected = call("measure a container", self.0.docker.inspect_container(name, Some(options))).await?;
        Ok(inspected.size_rw.and_then(|size| u64::try_from(size).ok()))
    }

    /// The layer, when this process may read it.
    async fn read_layer(&self, name: &str) -> Result<Option<Layer>, EngineError> {
        if !self.0.settings.reads_layers {
            return Ok(None);
        }
        let inspected = call("look at a container", self.0.docker.inspect_container(name, None)).await?;
        let folder = inspected.graph_driver.and_then(|driver| driver.data.get("UpperDir").map(PathBuf::from));
        let Some(folder) = folder else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || read(&folder));
        Ok(read.await.ok().and_then(Result::ok))
    }
}
