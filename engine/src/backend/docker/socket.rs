//! The socket of a Docker engine: where it is, and which users may connect to it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::error::EngineError;

/// Socket of the engine when `DOCKER_HOST` names no other.
const DEFAULT: &str = "/var/run/docker.sock";

/// Returns the path of the socket that `DOCKER_HOST` names; `None` for an engine that is reached over a network.
pub fn path() -> Option<PathBuf> {
    path_of(&std::env::var("DOCKER_HOST").unwrap_or_default())
}

/// Returns the group that a user has to join to connect to a socket; `None` when no group is needed, or none would help.
pub fn group_to_join(path: &Path, user: u32, group: u32) -> Option<u32> {
    match access(&socket(path)?, user, group) {
        Access::Group(needed) => Some(needed),
        Access::Open | Access::Closed => None,
    }
}

/// Tells if a user can connect to a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The user can connect.
    Open,
    /// A member of this group can connect.
    Group(u32),
    /// No group gives access.
    Closed,
}

/// Decides as the kernel does: the bits of the owner count for the owner only, those of the group for its members only.
fn access(socket: &Permissions, user: u32, group: u32) -> Access {
    let may_write = |bits: u32| socket.mode & bits != 0;
    let is = |open: bool| if open { Access::Open } else { Access::Closed };
    if user == socket.user {
        return is(may_write(0o200));
    }
    match group == socket.group {
        true => is(may_write(0o020)),
        false if may_write(0o002) => Access::Open,
        false if may_write(0o020) => Access::Group(socket.group),
        false => Access::Closed,
    }
}

/// The owner, the group and the mode of a socket.
#[derive(Debug, Clone, Copy)]
struct Permissions {
    user: u32,
    group: u32,
    mode: u32,
}

impl From<&Metadata> for Permissions {
    fn from(metadata: &Metadata) -> Self {
        Self { user: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o7777 }
    }
}

fn path_of(host: &str) -> Option<PathBuf> {
    if host.contains("://") { host.strip_prefix("unix://").map(PathBuf::from) } else { Some(DEFAULT.into()) }
}

fn socket(path: &Path) -> Option<Permissions> {
    let metadata = fs::metadata(path).ok()?;
    metadata.file_type().is_socket().then(|| Permissions::from(&metadata))
}

/// Explains why no engine answers at an address, with what to do about it.
pub(super) fn unreachable(address: &str, reason: String) -> EngineError {
    let no_engine = |reason| EngineError::NoEngine { address: address.to_owned(), reason };
    let Some(path) = path_of(address) else { return no_engine(reason) };
    if path.is_dir() {
        let path = path.display();
        return no_engine(format!(
            "`{path}` is a directory, not a socket; Docker makes one when a container mounts a path that does not exist: remove it on the engine's machine, and mount the engine's socket (DOCKER_SOCKET for docker-compose.yml)"
        ));
    }
    let refused = UnixStream::connect(&path).err().filter(|error| error.kind() == io::ErrorKind::PermissionDenied);
    match refused.and_then(|_| socket(&path)) {
        Some(permissions) => EngineError::ShutEngine(how_to_open(&path, &permissions)),
        None => no_engine(reason),
    }
}

fn how_to_open(path: &Path, socket: &Permissions) -> String {
    let (path, Permissions { user, group, mode }) = (path.display(), *socket);
    let next = if mode & 0o020 != 0 {
        format!(
            "it belongs to the group {group}: join it (in a container: `--group-add {group}`, or start it as root with the capabilities SETUID and SETGID and TOUCHSTONE_RUN_AS=1000:1000, as docker-compose.yml does, and it joins by itself)"
        )
    } else {
        format!(
            "only the user {user} may use it (group {group}, mode {mode:04o}): on the engine's machine, give it to a group with `chgrp docker` and `chmod 660`, or set `\"group\": \"docker\"` in the engine's daemon.json, then start again"
        )
    };
    format!("the socket of the Docker engine, `{path}`, is not open to this user; {next}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Access, Permissions, access, how_to_open, path_of};

    #[test]
    fn a_user_joins_a_group_only_where_that_opens_the_socket() {
        let check = |user, group, mode, expected| {
            let socket = Permissions { user, group, mode };
            assert_eq!(access(&socket, 1000, 1000), expected, "{user}:{group} {mode:o}");
        };
        check(0, 998, 0o660, Access::Group(998));
        check(0, 4_000_000_000, 0o770, Access::Group(4_000_000_000));
        check(0, 0, 0o660, Access::Group(0));
        check(0, 0, 0o600, Access::Closed);
        check(0, 998, 0o640, Access::Closed);
        check(0, 998, 0o666, Access::Open);
        check(0, 1000, 0o660, Access::Open);
        check(0, 1000, 0o606, Access::Closed);
        check(1000, 998, 0o600, Access::Open);
        check(1000, 998, 0o060, Access::Closed);
    }

    #[test]
    fn only_an_engine_of_this_machine_has_a_socket() {
        assert_eq!(path_of("").as_deref(), Some(Path::new("/var/run/docker.sock")));
        assert_eq!(path_of("unix:///run/user/7/docker.sock").as_deref(), Some(Path::new("/run/user/7/docker.sock")));
        assert_eq!(path_of("tcp://192.0.2.1:2375"), None);
        assert_eq!(path_of("ssh://host"), None);
    }

    #[test]
    fn a_socket_that_is_not_open_is_explained_with_what_to_do() {
        let told = |mode| how_to_open(Path::new("/d.sock"), &Permissions { user: 0, group: 7, mode });
        assert!(told(0o660).contains("--group-add 7"), "{}", told(0o660));
        assert!(told(0o600).contains("only the user 0 may use it (group 7, mode 0600)"), "{}", told(0o600));
    }
}
