//! Requests to the engine for the containers of a sandbox.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount, MountType, MountVolumeOptions,
    MountVolumeOptionsDriverConfig,
};

use super::seccomp;
use crate::backend::names::{HOSTNAME, NAME_FILES};
use crate::backend::{
    DOOR, DOORKEEPER, Image, KEPT, Limits, SERVICE_CPUS, SERVICE_MEMORY, SOURCE, TOOL_PROGRAM, WORKSPACE,
};

/// Capabilities of the doorkeeper: become other users, end their processes, read their files.
const DOORKEEPER_CAPABILITIES: [&str; 4] = ["SETUID", "SETGID", "KILL", "DAC_OVERRIDE"];
/// Capabilities of a service: hand its files to its own user, and become that user. Postgres does not start without
/// them.
const SERVICE_CAPABILITIES: [&str; 5] = ["CHOWN", "SETUID", "SETGID", "FOWNER", "DAC_OVERRIDE"];

/// The size of each volume of a service.
const SERVICE_VOLUME: u64 = 2 * 1024 * 1024 * 1024;
/// Processes of a service.
const SERVICE_PIDS: i64 = 1024;
/// Size of a container's log that the engine keeps.
const LOG_SIZE: &str = "1m";

/// The labels of what is made.
pub(super) type Labels = HashMap<String, String>;

/// A box for a doorkeeper.
pub(super) struct DoorkeeperBox<'a> {
    /// Image that it is made from.
    pub(super) image: &'a Image,
    /// Its labels.
    pub(super) labels: Labels,
    /// Resources that it may use.
    pub(super) limits: Limits,
    /// The doorkeeper's program on the host.
    pub(super) doorkeeper: &'a Path,
    /// The folder with its socket on the host.
    pub(super) door: &'a Path,
    /// The volume that is its workspace, with the labels that it gets.
    pub(super) workspace: Option<(&'a str, Labels)>,
    /// Volumes of a service that must stay while it is started again, with their labels.
    pub(super) kept_volumes: (&'a [String], Labels),
    /// A volume to copy the workspace from.
    pub(super) source: Option<&'a str>,
    /// True when everything but the workspace, `/tmp` and `/run` is read-only.
    pub(super) read_only: bool,
    /// True when the doorkeeper's program is mounted once more, as `touchstone-tool`.
    pub(super) has_tools: bool,
    /// OCI runtime that starts it.
    pub(super) runtime: &'a str,
}

impl DoorkeeperBox<'_> {
    /// Returns the request to make the container.
    pub(super) fn body(self) -> ContainerCreateBody {
        let mounts = self.mounts();
        // What is written into the workspace is memory too, so the container gets that on top.
        let memory = as_i64(self.limits.memory.saturating_add(self.limits.disk));
        let host_config = HostConfig {
            network_mode: Some("none".to_owned()),
            cap_add: Some(DOORKEEPER_CAPABILITIES.map(ToOwned::to_owned).to_vec()),
            mounts: Some(mounts),
            memory: Some(memory),
            memory_swap: Some(memory),
            nano_cpus: Some(nano_cpus(self.limits.cpus)),
            pids_limit: Some(self.limits.pids),
            readonly_rootfs: Some(self.read_only),
            tmpfs: self.read_only.then(|| scratch(self.limits.disk)),
            runtime: Some(self.runtime.to_owned()),
            ..hardened()
        };
        ContainerCreateBody {
            image: Some(self.image.id.clone()),
            entrypoint: Some(vec![DOORKEEPER.to_owned()]),
            cmd: Some(vec![format!("{DOOR}/socket"), WORKSPACE.to_owned()]),
            hostname: Some(HOSTNAME.to_owned()),
            user: Some("0:0".to_owned()),
            working_dir: Some("/".to_owned()),
            labels: Some(self.labels),
            healthcheck: Some(no_healthcheck()),
            host_config: Some(host_config),
            ..ContainerCreateBody::default()
        }
    }

    fn mounts(&self) -> Vec<Mount> {
        let mut mounts = vec![bind(self.doorkeeper, DOORKEEPER), bind(self.door, DOOR)];
        if self.has_tools {
            mounts.push(bind(self.doorkeeper, TOOL_PROGRAM));
        }
        let beside = |name: &str| self.door.with_file_name(name);
        mounts.extend(NAME_FILES.map(|name| bind(&beside(name), &format!("/etc/{name}"))));
        if let Some((name, labels)) = &self.workspace {
            mounts.push(memory_volume(Some(name), WORKSPACE, self.limits.disk, labels.clone()));
            for path in self.image.volumes.iter().filter(|path| path.as_str() != WORKSPACE) {
                mounts.push(memory_volume(None, path, self.limits.disk, labels.clone()));
            }
        }
        let (kept, labels) = &self.kept_volumes;
        mounts.extend(kept.iter().enumerate().map(|(index, name)| {
            memory_volume(Some(name), &format!("{KEPT}/{index}"), SERVICE_VOLUME, labels.clone())
        }));
        if let Some(source) = self.source {
            let volume = MountType::VOLUME;
            mounts.push(Mount {
                target: Some(SOURCE.to_owned()),
                source: Some(source.to_owned()),
                typ: Some(volume),
                read_only: Some(true),
                ..Mount::default()
            });
        }
        mounts
    }
}

/// A service beside a sandbox.
pub(super) struct ServiceBox<'a> {
    /// Image that it is made from.
    pub(super) image: &'a Image,
    /// Replaces the image's command.
    pub(super) command: Option<Vec<String>>,
    /// Its environment, besides the image's.
    pub(super) environment: Vec<String>,
    /// Its labels.
    pub(super) labels: Labels,
    /// The labels of its volumes.
    pub(super) volume_labels: Labels,
    /// The names of its volumes, where they are kept while it is started again.
    pub(super) kept_volumes: &'a [String],
    /// A script on the host that is found before programs of the image, and where it is found.
    pub(super) shims: Vec<(PathBuf, String)>,
    /// The container whose network it is in.
    pub(super) network_of: &'a str,
    /// OCI runtime that starts it.
    pub(super) runtime: &'a str,
}

impl ServiceBox<'_> {
    /// Returns the request to make the container.
    pub(super) fn body(self) -> ContainerCreateBody {
        let name = |index: usize| self.kept_volumes.get(index).map(String::as_str);
        let volume = |(index, path): (usize, &String)| {
            memory_volume(name(index), path, SERVICE_VOLUME, self.volume_labels.clone())
        };
        let shims = self.shims.iter().map(|(script, place)| bind(script, place));
        let host_config = HostConfig {
            network_mode: Some(format!("container:{}", self.network_of)),
            cap_add: Some(SERVICE_CAPABILITIES.map(ToOwned::to_owned).to_vec()),
            mounts: Some(self.image.volumes.iter().enumerate().map(volume).chain(shims).collect()),
            memory: Some(as_i64(SERVICE_MEMORY)),
            memory_swap: Some(as_i64(SERVICE_MEMORY)),
            pids_limit: Some(SERVICE_PIDS),
            nano_cpus: Some(nano_cpus(SERVICE_CPUS)),
            runtime: Some(self.runtime.to_owned()),
            ..hardened()
        };
        ContainerCreateBody {
            image: Some(self.image.id.clone()),
            cmd: self.command,
            env: Some(self.environment),
            labels: Some(self.labels),
            healthcheck: Some(no_healthcheck()),
            host_config: Some(host_config),
            ..ContainerCreateBody::default()
        }
    }
}

/// Returns the settings that every container has: no capability, no way to more privileges, our filter of system calls,
/// bounded logs.
fn hardened() -> HostConfig {
    let logs = HashMap::from([("max-size".to_owned(), LOG_SIZE.to_owned()), ("max-file".to_owned(), "1".to_owned())]);
    HostConfig {
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges".to_owned(), seccomp::option()]),
        log_config: Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: Some(logs) }),
        privileged: Some(false),
        ..HostConfig::default()
    }
}

/// A health check of the image would start processes that nobody asked for.
fn no_healthcheck() -> HealthConfig {
    HealthConfig { test: Some(vec!["NONE".to_owned()]), ..HealthConfig::default() }
}

fn bind(from: &Path, to: &str) -> Mount {
    Mount {
        target: Some(to.to_owned()),
        source: Some(from.display().to_string()),
        typ: Some(MountType::BIND),
        read_only: Some(true),
        ..Mount::default()
    }
}

/// A volume in memory: made with the container, full when it is full, and gone with its label.
fn memory_volume(name: Option<&str>, path: &str, size: u64, labels: Labels) -> Mount {
    let options = [("type", "tmpfs".to_owned()), ("device", "tmpfs".to_owned()), ("o", tmpfs_options(size))];
    let driver = MountVolumeOptionsDriverConfig {
        name: Some("local".to_owned()),
        options: Some(options.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
    };
    Mount {
        target: Some(path.to_owned()),
        source: name.map(ToOwned::to_owned),
        typ: Some(MountType::VOLUME),
        volume_options: Some(MountVolumeOptions {
            labels: Some(labels),
            driver_config: Some(driver),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}

fn tmpfs_options(size: u64) -> String {
    format!("size={size},nosuid,nodev,mode=0777")
}

/// Returns the folders that stay writable when the rest is read-only.
fn scratch(size: u64) -> HashMap<String, String> {
    let option = |mode: &str| format!("rw,nosuid,nodev,size={size},mode={mode}");
    HashMap::from([("/tmp".to_owned(), option("1777")), ("/run".to_owned(), option("0755"))])
}

fn nano_cpus(cpus: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a spec allows a few hundred cores")]
    let nano = (cpus * 1e9).round() as i64;
    nano.max(1)
}

fn as_i64(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{DoorkeeperBox, ServiceBox};
    use crate::backend::{Image, Limits};

    fn image() -> Image {
        Image {
            record: scenario::evidence::ImageRecord::default(),
            id: "sha256:1".to_owned(),
            entrypoint: Vec::new(),
            command: Vec::new(),
            environment: Vec::new(),
            directory: "/".to_owned(),
            user: "app".to_owned(),
            volumes: vec!["/data".to_owned()],
            ours: false,
        }
    }

    /// Lists the permissions of a container, out of the whole body.
    fn hardening(body: &bollard::models::ContainerCreateBody) -> String {
        let host = body.host_config.as_ref().expect("a host configuration");
        let targets: Vec<_> = host
            .mounts
            .iter()
            .flatten()
            .map(|mount| {
                let kind = mount.typ.map(|kind| kind.to_string()).unwrap_or_default();
                let labelled = mount.volume_options.as_ref().is_some_and(|options| options.labels.is_some());
                format!(
                    "{} {kind} read-only {:?} labelled {labelled}",
                    mount.target.clone().unwrap_or_default(),
                    mount.read_only
                )
            })
            .collect();
        // The profile itself has a test of its own.
        let ours = super::seccomp::option();
        let security = host.security_opt.iter().flatten();
        let security: Vec<_> =
            security.map(|option| if *option == ours { "our seccomp profile" } else { option.as_str() }).collect();
        format!(
            "network {:?}\nadded {:?}\ndropped {:?}\nsecurity {:?}\nprivileged {:?}\npids {:?}\nswap is memory {}\nuser {:?}\n{}",
            host.network_mode,
            host.cap_add,
            host.cap_drop,
            security,
            host.privileged,
            host.pids_limit,
            host.memory == host.memory_swap,
            body.user,
            targets.join("\n")
        )
    }

    #[test]
    fn a_sandbox_is_closed() {
        let image = image();
        let limits = Limits { cpus: 1.5, memory: 1 << 20, disk: 1 << 20, pids: 9 };
        let body = DoorkeeperBox {
            image: &image,
            labels: super::Labels::new(),
            limits,
            doorkeeper: Path::new("/d"),
            door: Path::new("/s"),
            workspace: Some(("w", super::Labels::new())),
            kept_volumes: (&[], Default::default()),
            source: None,
            read_only: false,
            has_tools: true,
            runtime: "runc",
        }
        .body();
        assert_eq!(body.host_config.as_ref().and_then(|host| host.memory), Some(2 << 20));
        insta::assert_snapshot!(hardening(&body));
    }

    #[test]
    fn a_service_may_become_its_own_user_and_no_more() {
        let image = image();
        let body = ServiceBox {
            image: &image,
            command: None,
            environment: Vec::new(),
            labels: super::Labels::new(),
            volume_labels: super::Labels::new(),
            kept_volumes: &[],
            shims: Vec::new(),
            network_of: "box",
            runtime: "runc",
        }
        .body();
        insta::assert_snapshot!(hardening(&body));
    }
}
