//! Translates paths of our files to paths on the engine's own host.
//!
//! The engine mounts files of the data directory into sandboxes, and looks for them on its host. When this process is a
//! container of that engine itself, they are elsewhere there: in a volume, or in a folder that was mounted. The engine
//! knows where.

use std::fs;
use std::path::{Path, PathBuf};

use bollard::Docker;
use bollard::models::{ContainerCreateBody, ContainerInspectResponse, MountPoint, MountType};

use super::call::call_if_there;
use crate::error::EngineError;

/// Length of the part of its id that a container has as its host name when nobody gives it one.
const SHORT_ID: usize = 12;
/// Length of an id.
const ID: usize = 64;
/// Files that an engine mounts into every container, from a folder that is called like the container.
const GIVEN: [&str; 3] = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"];

/// Paths of our files on the engine's host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostPaths {
    /// The paths are the same there.
    Same,
    /// This is a container: the files are in mounts. Each mount has its path here and its path there.
    Mounted(Vec<(PathBuf, PathBuf)>),
}

impl HostPaths {
    /// Finds out whether this process is a container of that engine, and where its data directory is then.
    pub(super) async fn find(docker: &Docker, data_dir: &Path) -> Result<Self, EngineError> {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        for id in own_ids(&mountinfo, &hostname) {
            let inspected = call_if_there("look for this container", docker.inspect_container(&id, None)).await?;
            if let Some(container) = inspected.filter(|container| is_called(container, &id)) {
                let paths = Self::Mounted(mounted(container.mounts.unwrap_or_default()));
                paths.on_host(data_dir)?;
                return Ok(paths);
            }
        }
        Ok(Self::Same)
    }

    /// Returns the path of a file of ours on the engine's host.
    fn on_host(&self, path: &Path) -> Result<PathBuf, EngineError> {
        let Self::Mounted(mounts) = self else { return Ok(path.to_owned()) };
        let below = |(here, there): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(here).ok()?;
            let whole = if rest.as_os_str().is_empty() { there.clone() } else { there.join(rest) };
            Some((here.components().count(), whole))
        };
        let deepest = mounts.iter().filter_map(below).max_by_key(|(depth, _)| *depth);
        deepest.map(|(_, there)| there).ok_or_else(|| {
            EngineError::UnfitEngine(format!(
                "Touchstone runs in a container, and `{}` is not on a volume of it: sandboxes could not be given what is in it; mount a named volume there",
                path.display()
            ))
        })
    }

    /// Translates the mounts of a request: files of ours get their paths on the engine's host.
    pub(super) fn translated(&self, mut body: ContainerCreateBody) -> Result<ContainerCreateBody, EngineError> {
        let mounts = body.host_config.as_mut().and_then(|config| config.mounts.as_mut());
        for mount in mounts.into_iter().flatten().filter(|mount| mount.typ == Some(MountType::BIND)) {
            if let Some(source) = &mount.source {
                mount.source = Some(self.on_host(Path::new(source))?.display().to_string());
            }
        }
        Ok(body)
    }
}

/// The ids that this process may have as a container. Only the engine knows whether one of them is a container's.
fn own_ids(mountinfo: &str, hostname: &str) -> Vec<String> {
    let given = mountinfo.lines().filter_map(given_from);
    let mut ids: Vec<String> =
        given.filter_map(|path| path.split('/').find(|part| is_hex(part, ID))).map(str::to_owned).collect();
    ids.extend(Some(hostname.trim()).filter(|name| is_hex(name, SHORT_ID)).map(str::to_owned));
    ids.dedup();
    ids
}

/// Returns the path on its disk of a file that every container is given, from a line of mounts. The fields of a line
/// are: two numbers, the device, the path on its disk, and the path where it is mounted.
fn given_from(line: &str) -> Option<&str> {
    let mut fields = line.split(' ').skip(3);
    let (from, to) = (fields.next()?, fields.next()?);
    GIVEN.contains(&to).then_some(from)
}

fn is_hex(text: &str, letters: usize) -> bool {
    text.len() == letters && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if the container was found by its id. An engine finds containers by their names too, and a name can be
/// anything.
fn is_called(container: &ContainerInspectResponse, id: &str) -> bool {
    container.id.as_deref().is_some_and(|found| found.starts_with(id))
}

/// Lists mounts with their paths here and on the engine's host. Mounts in memory have no path there.
fn mounted(mounts: Vec<MountPoint>) -> Vec<(PathBuf, PathBuf)> {
    let pair = |mount: MountPoint| {
        let there = mount.source.filter(|source| source.starts_with('/'))?;
        let here = PathBuf::from(mount.destination?);
        Some((here.canonicalize().unwrap_or(here), PathBuf::from(there)))
    };
    mounts.into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use bollard::models::{ContainerCreateBody, ContainerInspectResponse, HostConfig, Mount, MountPoint, MountType};

    use super::{HostPaths, is_called, mounted, own_ids};

    const CONTAINER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_container_knows_its_id_from_the_files_that_it_was_given() {
        let line = |root: &str, place: &str| format!("605 580 254:0 {root} {place} rw - ext4 /dev/vda rw");
        let given = line(&format!("/var/lib/docker/containers/{CONTAINER}/hostname"), "/etc/hostname");
        assert_eq!(own_ids(&given, "worker"), [CONTAINER]);
        assert_eq!(own_ids(&given, "0123456789ab\n"), [CONTAINER, "0123456789ab"]);
        // What a machine with an engine has mounted for its containers does not make it one of them.
        let overlay = line("/", &format!("/var/lib/docker/overlay2/{CONTAINER}/merged"));
        assert!(own_ids(&overlay, "build-7").is_empty());
        assert!(own_ids("", "").is_empty());
    }

    #[test]
    fn a_container_that_is_merely_called_like_this_machine_is_another_one() {
        let container =
            ContainerInspectResponse { id: Some(CONTAINER.to_owned()), ..ContainerInspectResponse::default() };
        assert!(is_called(&container, "0123456789ab"));
        assert!(!is_called(&container, "ffffffffffff"));
    }

    fn paths() -> HostPaths {
        let mount = |from: &str, to: &str| MountPoint {
            source: Some(from.to_owned()),
            destination: Some(to.to_owned()),
            ..MountPoint::default()
        };
        HostPaths::Mounted(mounted(vec![
            mount("/srv/all", "/nowhere"),
            mount("/var/lib/docker/volumes/data/_data", "/nowhere/data"),
            mount("", "/memory"),
        ]))
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let found = paths().on_host(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn a_file_is_where_the_deepest_mount_around_it_is() {
        check("/nowhere/data", "/var/lib/docker/volumes/data/_data");
        check("/nowhere/data/doors/a", "/var/lib/docker/volumes/data/_data/doors/a");
        check("/nowhere/database", "/srv/all/database");
        assert_eq!(HostPaths::Same.on_host(Path::new("/x")).ok(), Some(PathBuf::from("/x")));
    }

    #[test]
    fn what_is_on_no_volume_is_refused_with_what_to_do() {
        for path in ["/memory/data", "/home/data"] {
            let error = paths().on_host(Path::new(path)).expect_err("refused").to_string();
            assert!(error.contains(path) && error.contains("mount a named volume there"), "{error}");
        }
    }

    #[test]
    fn only_files_of_ours_are_elsewhere() {
        let mount = |typ, source: &str| Mount { typ: Some(typ), source: Some(source.to_owned()), ..Mount::default() };
        let mounts = vec![mount(MountType::BIND, "/nowhere/data/door"), mount(MountType::VOLUME, "ts-a-1-workspace")];
        let host_config = Some(HostConfig { mounts: Some(mounts), ..HostConfig::default() });
        let body = paths().translated(ContainerCreateBody { host_config, ..ContainerCreateBody::default() });
        let mounts = body.expect("translated").host_config.and_then(|config| config.mounts).expect("mounts");
        let sources: Vec<_> = mounts.into_iter().filter_map(|mount| mount.source).collect();
        assert_eq!(sources, ["/var/lib/docker/volumes/data/_data/door", "ts-a-1-workspace"]);
    }
}
