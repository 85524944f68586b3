//! Removes what owners left behind that have gone.

use std::collections::{BTreeSet, HashMap};

use bollard::query_parameters::{ListContainersOptionsBuilder, ListVolumesOptionsBuilder};
use futures::{StreamExt as _, stream};

use super::DockerBackend;
use super::call::call;
use super::label;
use crate::backend::{Reach, Swept, local};
use crate::error::EngineError;
use crate::kept;
use crate::owner::{self, Life};

/// A resource of this data directory, with its labels.
struct LabelledResource {
    /// Name or id that the engine has for it.
    name: String,
    labels: HashMap<String, String>,
}

impl LabelledResource {
    fn label(&self, name: &str) -> &str {
        self.labels.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// Counts of a sweep, and its first problem.
#[derive(Default)]
struct Progress {
    swept: Swept,
    problem: Option<EngineError>,
}

impl Progress {
    /// Returns the result, unless it failed. Keeps the first problem, which is the one that is reported.
    fn done<T>(&mut self, result: Result<T, EngineError>) -> Option<T> {
        match result {
            Ok(done) => Some(done),
            Err(problem) => {
                self.problem.get_or_insert(problem);
                None
            }
        }
    }
}

impl DockerBackend {
    /// Removes what belongs to this data directory and is within reach. Everything is tried before the first problem is
    /// returned.
    pub(super) async fn sweep_within(&self, reach: Reach) -> Result<Swept, EngineError> {
        let data_dir = self.0.owner.data_dir();
        let (swept, undone) = self.0.undone.remove(self).await;
        let mut progress = Progress { swept, problem: None };
        progress.done(undone);
        // Before the containers: a container is there before it is marked.
        let mut marked = kept::marked(data_dir).map_err(EngineError::files("list the sandboxes that are kept"))?;
        // Those that were made without Docker are no business of it, though it has no containers of theirs.
        marked.retain(|sandbox| !local::is_local(data_dir, sandbox).unwrap_or(true));
        let containers = self.containers().await?;
        let used: BTreeSet<_> = containers.iter().map(|container| container.label(label::SANDBOX).to_owned()).collect();
        let (kept, removed): (BTreeSet<_>, BTreeSet<_>) = marked.into_iter().partition(|name| used.contains(name));
        self.forget_marks(&removed, &mut progress);
        self.sweep_containers(reach, &kept, containers, &mut progress).await;
        // Listed once the containers have gone, and with them their volumes without a name.
        let volumes = self.volumes().await?;
        let volumes = self.within(reach, &kept, volumes, &mut progress);
        let names = volumes.into_iter().map(|volume| volume.name).collect();
        progress.swept.volumes += self.remove_all(names, Kind::Volume, &mut progress).await;
        // What could not be removed stays marked: then it is known what it is.
        if reach == Reach::GoneAndKept && progress.problem.is_none() {
            self.forget_marks(&kept, &mut progress);
        } else {
            progress.swept.kept = kept.len();
        }
        let forgotten = owner::forget_the_gone(data_dir).map_err(EngineError::files("remove stray folders"));
        progress.swept.folders += progress.done(forgotten).unwrap_or_default();
        progress.problem.map_or(Ok(progress.swept), Err)
    }

    /// Removes containers: services first, because they are in the network of another one.
    async fn sweep_containers(
        &self,
        reach: Reach,
        kept: &BTreeSet<String>,
        containers: Vec<LabelledResource>,
        progress: &mut Progress,
    ) {
        let doomed = self.within(reach, kept, containers, progress);
        let (services, others): (Vec<_>, Vec<_>) =
            doomed.into_iter().partition(|container| container.label(label::KIND) == "service");
        for group in [services, others] {
            let names = group.into_iter().map(|container| container.name).collect();
            progress.swept.containers += self.remove_all(names, Kind::Container, progress).await;
        }
    }

    /// Forgets that sandboxes were kept that are not there any more, and removes their doors.
    fn forget_marks(&self, sandboxes: &BTreeSet<String>, progress: &mut Progress) {
        let data_dir = self.0.owner.data_dir();
        for sandbox in sandboxes {
            let removed = owner::remove_doors(data_dir, sandbox);
            let forgotten = removed.and_then(|removed| kept::unmark(data_dir, sandbox).map(|()| removed));
            let forgotten = forgotten.map_err(EngineError::files(format!("forget the kept sandbox `{sandbox}`")));
            progress.swept.folders += progress.done(forgotten).unwrap_or_default();
        }
    }

    /// Removes many things, some at once. Returns how many it was.
    async fn remove_all(&self, names: Vec<String>, kind: Kind, progress: &mut Progress) -> usize {
        let at_once = self.0.settings.destroying.max(1);
        let removals = names.into_iter().map(|name| async move {
            let _slot = self.0.destroying.acquire().await.map_err(|_| EngineError::Cancelled)?;
            match kind {
                Kind::Container => self.remove_container(&name).await,
                Kind::Volume => self.remove_volume(&name).await,
            }
        });
        let results: Vec<_> = stream::iter(removals).buffer_unordered(at_once).collect().await;
        results.into_iter().filter_map(|result| progress.done(result)).count()
    }

    async fn containers(&self) -> Result<Vec<LabelledResource>, EngineError> {
        let filters = self.filters();
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let listed = call("list containers", self.0.docker.list_containers(Some(options))).await?;
        let found = |container: bollard::models::ContainerSummary| {
            Some(LabelledResource { name: container.id?, labels: container.labels.unwrap_or_default() })
        };
        Ok(listed.into_iter().filter_map(found).collect())
    }

    async fn volumes(&self) -> Result<Vec<LabelledResource>, EngineError> {
        let filters = self.filters();
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let listed = call("list volumes", self.0.docker.list_volumes(Some(options))).await?;
        let found = |volume: bollard::models::Volume| LabelledResource { name: volume.name, labels: volume.labels };
        Ok(listed.volumes.unwrap_or_default().into_iter().map(found).collect())
    }

    fn filters(&self) -> HashMap<String, Vec<String>> {
        let ours = format!("{}={}", label::DATA, self.0.owner.data_dir().id());
        HashMap::from([("label".to_owned(), vec![ours])])
    }

    /// Filters the resources that are to be removed.
    fn within(
        &self,
        reach: Reach,
        kept: &BTreeSet<String>,
        found: Vec<LabelledResource>,
        progress: &mut Progress,
    ) -> Vec<LabelledResource> {
        found.into_iter().filter(|found| progress.done(self.is_within(reach, kept, found)).unwrap_or(false)).collect()
    }

    /// Returns true if the resource is to be removed: a kept sandbox when those are within reach, else leftovers of a
    /// dead owner.
    fn is_within(&self, reach: Reach, kept: &BTreeSet<String>, found: &LabelledResource) -> Result<bool, EngineError> {
        let data_dir = self.0.owner.data_dir();
        let sandbox = found.label(label::SANDBOX);
        if kept.contains(sandbox) {
            return Ok(reach == Reach::GoneAndKept);
        }
        let Ok(owner) = found.label(label::OWNER).parse() else { return Ok(false) };
        let life = owner::life_of(data_dir, owner).map_err(EngineError::files("look at an owner's lock"))?;
        // Asked after its owner's end: what it kept is marked by now.
        let is_kept = kept::is_marked(data_dir, sandbox).map_err(EngineError::files("look for a kept sandbox"))?;
        Ok(life == Life::Gone && !is_kept)
    }
}

/// Kind of a resource that is removed.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Container,
    Volume,
}
