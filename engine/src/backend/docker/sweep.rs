//! Removes what owners left behind that have gone.

use std::collections::HashMap;

use bollard::query_parameters::{ListContainersOptionsBuilder, ListVolumesOptionsBuilder};

use super::DockerBackend;
use super::call::call;
use super::label;
use crate::backend::Swept;
use crate::error::EngineError;
use crate::owner::{self, Life};

impl DockerBackend {
    /// Removes what belongs to this data directory and whose owner has gone.
    pub(super) async fn sweep_the_gone(&self) -> Result<Swept, EngineError> {
        let mut swept = Swept::default();
        for name in self.stray_containers().await? {
            self.remove_container(&name).await?;
            swept.containers += 1;
        }
        for name in self.stray_volumes().await? {
            self.remove_volume(&name).await?;
            swept.volumes += 1;
        }
        swept.folders =
            owner::forget_the_gone(self.0.owner.data_dir()).map_err(EngineError::files("remove stray folders"))?;
        Ok(swept)
    }

    async fn stray_containers(&self) -> Result<Vec<String>, EngineError> {
        let filters = self.filters();
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let listed = call("list containers", self.0.docker.list_containers(Some(options))).await?;
        let mut stray = Vec::new();
        for container in listed {
            if self.is_stray(&container.labels.unwrap_or_default())? {
                stray.extend(container.id);
            }
        }
        Ok(stray)
    }

    async fn stray_volumes(&self) -> Result<Vec<String>, EngineError> {
        let filters = self.filters();
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let listed = call("list volumes", self.0.docker.list_volumes(Some(options))).await?;
        let mut stray = Vec::new();
        for volume in listed.volumes.unwrap_or_default() {
            if self.is_stray(&volume.labels)? {
                stray.push(volume.name);
            }
        }
        Ok(stray)
    }

    fn filters(&self) -> HashMap<String, Vec<String>> {
        let ours = format!("{}={}", label::DATA, self.0.owner.data_dir().id());
        HashMap::from([("label".to_owned(), vec![ours])])
    }

    fn is_stray(&self, labels: &HashMap<String, String>) -> Result<bool, EngineError> {
        let Some(id) = labels.get(label::OWNER).and_then(|id| id.parse().ok()) else { return Ok(false) };
        let life =
            owner::life_of(self.0.owner.data_dir(), id).map_err(EngineError::files("look at an owner's lock"))?;
        Ok(life == Life::Gone)
    }
}
