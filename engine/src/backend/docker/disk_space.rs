//! Room on disk: how much there is, and what can go to make more.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::errors::Error;
use bollard::query_parameters::{ListContainersOptionsBuilder, ListImagesOptionsBuilder, RemoveImageOptionsBuilder};

use super::DockerBackend;
use super::bake::CACHE;
use super::baked_images::{self, Cached, evictable, is_unused};
use super::call::{call, call_if_there};
use super::label;
use crate::backend::Space;
use crate::error::EngineError;

impl DockerBackend {
    /// Removes images with packages until so many bytes are free, or none can go any more.
    pub(super) async fn free_space(&self, watermark: u64) -> Result<Space, EngineError> {
        let mut space = Space { free: self.free().await?, evicted: Vec::new() };
        if space.free >= watermark {
            return Ok(space);
        }
        for image in evictable(self.cached_images().await?, now(), Duration::ZERO) {
            if self.remove_cached(&image.name, Duration::ZERO).await? {
                space.evicted.push(image.name);
                space.free = self.free().await?;
            }
            if space.free >= watermark {
                break;
            }
        }
        Ok(space)
    }

    /// Removes images with packages that were not used for so long.
    pub(super) async fn evict_unused(&self, unused_for: Duration) -> Result<Vec<String>, EngineError> {
        let mut evicted = Vec::new();
        for image in evictable(self.cached_images().await?, now(), unused_for) {
            if self.remove_cached(&image.name, unused_for).await? {
                evicted.push(image.name);
            }
        }
        let (data_dir, left) = (self.0.owner.data_dir(), self.cached_images().await?);
        baked_images::forget_others(data_dir, &left, now())
            .map_err(EngineError::files("forget images that are gone"))?;
        Ok(evicted)
    }

    /// The bytes that are free where there are the fewest. What the engine's own folder has cannot always be seen.
    async fn free(&self) -> Result<u64, EngineError> {
        let data_dir = self.0.owner.data_dir().path();
        let own =
            free_at(data_dir).map_err(EngineError::files(format!("see what `{}` has free", data_dir.display())))?;
        let info = call("ask the Docker engine about itself", self.0.docker.info()).await?;
        let root = info.docker_root_dir.and_then(|root| free_at(Path::new(&root)).ok());
        Ok(root.map_or(own, |root| root.min(own)))
    }

    /// Lists all images that were made for their packages.
    async fn cached_images(&self) -> Result<Vec<Cached>, EngineError> {
        let filters = HashMap::from([("label", vec![format!("{}=cache", label::KIND)])]);
        let options = ListImagesOptionsBuilder::default().filters(&filters).build();
        let images = call("list images", self.0.docker.list_images(Some(options))).await?;
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let containers = call("list containers", self.0.docker.list_containers(Some(options))).await?;
        let used: BTreeSet<_> = containers.into_iter().filter_map(|container| container.image_id).collect();
        let mut cached = Vec::new();
        for image in images {
            let made = UNIX_EPOCH + Duration::from_secs(image.created.unsigned_abs());
            for name in image.repo_tags.into_iter().filter(|name| is_cached(name)) {
                let noted = baked_images::last_use(self.0.owner.data_dir(), &name);
                cached.push(Cached { name, used: noted.unwrap_or(made), in_use: used.contains(&image.id) });
            }
        }
        Ok(cached)
    }

    /// Removes an image, unless it is in use; whether it did.
    async fn remove_cached(&self, name: &str, unused_for: Duration) -> Result<bool, EngineError> {
        // Since it was listed, somebody may have come to use it.
        let noted = baked_images::last_use(self.0.owner.data_dir(), name);
        if noted.is_some_and(|used| !is_unused(used, now(), unused_for)) {
            return Ok(false);
        }
        let options = RemoveImageOptionsBuilder::default().force(false).build();
        let removing = async {
            match self.0.docker.remove_image(name, Some(options), None).await {
                // A container uses it.
                Err(Error::DockerResponseServerError { status_code: 409, .. }) => Ok(false),
                other => other.map(|_| true),
            }
        };
        let removed = call_if_there(&format!("remove the image `{name}`"), removing).await?;
        Ok(removed.unwrap_or(false))
    }
}

/// Returns true if the name is that of an image with packages.
fn is_cached(name: &str) -> bool {
    name.strip_prefix(CACHE).is_some_and(|rest| rest.starts_with(':'))
}

/// Returns the number of bytes that an unprivileged user can still write at a path.
fn free_at(path: &Path) -> std::io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// The time, which tells what was used long ago.
#[expect(clippy::disallowed_methods, reason = "it is compared with the times of files, and decides no verdict")]
fn now() -> SystemTime {
    SystemTime::now()
}
