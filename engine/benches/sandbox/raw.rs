//! The same Docker calls without us: create with the same settings, start, remove, remove the volume.

use std::collections::HashMap;
use std::time::Duration;

use bollard::Docker;
use bollard::models::{
    ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions, MountVolumeOptionsDriverConfig,
};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder,
};
use engine::entropy;
use tokio::time::Instant;

use crate::ours::IMAGE;

/// A connection to the engine.
#[derive(Debug)]
pub(crate) struct Raw {
    docker: Docker,
}

impl Raw {
    /// Connects.
    pub(crate) async fn connect() -> Self {
        Self { docker: Docker::connect_with_defaults().expect("a Docker engine") }
    }

    /// Runs one container from its making to its removal.
    pub(crate) async fn cycle(&self) -> Duration {
        let name = format!("ts-bench-{}", entropy::uuid());
        let started = Instant::now();
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        self.docker.create_container(Some(options), body(&name)).await.expect("created");
        self.docker.start_container(&name, None).await.expect("started");
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        self.docker.remove_container(&name, Some(options)).await.expect("removed");
        let options = RemoveVolumeOptionsBuilder::default().force(true).build();
        self.docker.remove_volume(&name, Some(options)).await.expect("the volume removed");
        started.elapsed()
    }
}

fn body(name: &str) -> ContainerCreateBody {
    let label = || HashMap::from([("touchstone".to_owned(), "bench".to_owned())]);
    let tmpfs = [("type", "tmpfs"), ("device", "tmpfs"), ("o", "size=67108864,nosuid,nodev,mode=0777")];
    let driver = MountVolumeOptionsDriverConfig {
        name: Some("local".to_owned()),
        options: Some(tmpfs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()),
    };
    let workspace = Mount {
        target: Some("/workspace".to_owned()),
        source: Some(name.to_owned()),
        typ: Some(MountType::VOLUME),
        volume_options: Some(MountVolumeOptions {
            labels: Some(label()),
            driver_config: Some(driver),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    };
    ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        entrypoint: Some(vec!["/bin/sleep".to_owned()]),
        cmd: Some(vec!["600".to_owned()]),
        labels: Some(label()),
        host_config: Some(HostConfig {
            network_mode: Some("none".to_owned()),
            cap_drop: Some(vec!["ALL".to_owned()]),
            cap_add: Some(["SETUID", "SETGID", "KILL", "DAC_OVERRIDE"].map(ToOwned::to_owned).to_vec()),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            memory: Some(320 << 20),
            memory_swap: Some(320 << 20),
            nano_cpus: Some(2_000_000_000),
            pids_limit: Some(128),
            mounts: Some(vec![workspace]),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}
