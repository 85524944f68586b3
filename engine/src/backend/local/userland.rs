//! Userland of sandboxes: the programs of this machine, and of everything else only what programs need.
//!
//! `/usr` is the host's. The rest of the root is a folder that is put together once: the files of `/etc` that programs look
//! at (a list of what is allowed, and of that only what everybody may read), and empty folders. So neither homes nor keys,
//! logs, sockets or other people's data are there to be found.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use doorkeeper::plan::Step;
use scenario::hex;
use sha2::{Digest as _, Sha256};

use super::{HOST, roots};
use crate::data_dir::DataDir;

/// Entries of `/etc` that programs look at.
const ALLOWED: [&str; 61] = [
    "R",
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "ca-certificates",
    "ca-certificates.conf",
    "debconf.conf",
    "debian_version",
    "dpkg",
    "emacs",
    "ethertypes",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "inputrc",
    "issue",
    "java",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "locale.gen",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "magic.mime",
    "mailcap",
    "manpath.config",
    "mariadb",
    "maven",
    "mime.types",
    "my.cnf",
    "mysql",
    "nanorc",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "php",
    "postgresql-common",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "redhat-release",
    "rpc",
    "ruby",
    "services",
    "shells",
    "skel",
    "ssl",
    "terminfo",
];
/// Entries of those that stay hidden.
const FORBIDDEN: [&str; 2] = ["ssl/private", "mysql/debian.cnf"];
/// Larger files are not configuration.
const LARGEST: u64 = 4 << 20;
/// Folders of the root that are links into `/usr`, or folders of their own.
const SYSTEM: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// Empty folders.
const FOLDERS: [(&str, u32); 20] = [
    ("dev", 0o755),
    ("home", 0o755),
    ("media", 0o755),
    ("mnt", 0o755),
    ("opt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("var", 0o755),
    ("var/cache", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
    ("var/spool", 0o755),
    ("var/tmp", 0o1777),
    ("workspace", 0o777),
    (".touchstone", 0o755),
];

/// Userland that sandboxes are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Userland {
    /// The folder that is the root.
    root: PathBuf,
    /// Folders of the host that are over it.
    layers: Vec<String>,
    name: String,
    digest: String,
}

impl Userland {
    /// Puts it together, unless it is there already; or takes a folder or an archive with a system.
    pub(super) fn prepare(data_dir: &DataDir, rootfs: Option<&Path>) -> io::Result<Self> {
        if let Some(rootfs) = rootfs {
            let root = roots::folder(data_dir, rootfs)?;
            let digest = format!("sha256:{}", digest(&[root.display().to_string()]));
            return Ok(Self { digest, name: rootfs.display().to_string(), root, layers: Vec::new() });
        }
        let listing = listing(Path::new("/etc"))?;
        let lines: Vec<String> = listing.iter().map(|(path, stamp)| format!("{path} {stamp}")).collect();
        let digest = digest(&lines);
        let folder = data_dir.path().join("userland");
        let root = folder.join(&digest[..16]);
        if !root.exists() {
            fs::create_dir_all(&folder)?;
            // Under another name first: another process may be doing the same.
            let temporary = tempfile::Builder::new().prefix(".new-").tempdir_in(&folder)?;
            assemble(temporary.path(), &listing)?;
            match fs::rename(temporary.path(), &root) {
                Ok(()) => {
                    let _ = temporary.keep();
                }
                Err(_) if root.exists() => {}
                Err(error) => return Err(error),
            }
        }
        let separate = |name: &&&str| fs::symlink_metadata(Path::new("/").join(name)).is_ok_and(|found| found.is_dir());
        let mut layers = vec!["/usr".to_owned()];
        layers.extend(SYSTEM.iter().filter(separate).map(|name| format!("/{name}")));
        Ok(Self { root, layers, name: host_name(), digest: format!("sha256:{digest}") })
    }

    /// Returns its name for people.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the digest that distinguishes it from others.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the steps that make a root from it.
    pub(super) fn steps(&self) -> Vec<Step> {
        let layer = |target: &str, lower: String| Step::Layer { target: target.to_owned(), lower };
        let mut steps = vec![layer("/", self.root.display().to_string())];
        steps.extend(self.layers.iter().map(|path| layer(path, path.clone())));
        steps
    }
}

/// Returns the machine's own name of its system.
fn host_name() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    pretty.map_or_else(|| HOST.to_owned(), |name| format!("{HOST}: {}", name.trim_matches('"')))
}

fn digest(lines: &[String]) -> String {
    hex(Sha256::digest(lines.join("\n")))
}

/// The files of `/etc` that are allowed, with what changes when they do.
fn listing(etc: &Path) -> io::Result<Vec<(String, String)>> {
    let mut listing = Vec::new();
    for name in ALLOWED {
        list(etc, name, &mut listing)?;
    }
    listing.sort();
    Ok(listing)
}

fn list(etc: &Path, name: &str, listing: &mut Vec<(String, String)>) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(etc.join(name)) else { return Ok(()) };
    let is_open = found.mode() & 0o004 != 0;
    if FORBIDDEN.contains(&name) || !(is_open || found.is_symlink()) {
        return Ok(());
    }
    if found.is_dir() {
        listing.push((name.to_owned(), "folder".to_owned()));
        for entry in fs::read_dir(etc.join(name))? {
            list(etc, &format!("{name}/{}", entry?.file_name().to_string_lossy()), listing)?;
        }
    } else if found.is_symlink() {
        let to = fs::read_link(etc.join(name))?;
        listing.push((name.to_owned(), format!("link {}", to.display())));
    } else if found.is_file() && found.len() <= LARGEST {
        listing.push((name.to_owned(), format!("{} {} {}", found.len(), found.mtime(), found.mtime_nsec())));
    }
    Ok(())
}

fn assemble(root: &Path, listing: &[(String, String)]) -> io::Result<()> {
    fs::set_permissions(root, fs::Permissions::from_mode(0o755))?;
    for (name, mode) in FOLDERS.iter().chain(&[("etc", 0o755)]) {
        fs::create_dir(root.join(name))?;
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(*mode))?;
    }
    for name in SYSTEM {
        if let Ok(to) = fs::read_link(Path::new("/").join(name)) {
            symlink(to, root.join(name))?;
        }
    }
    symlink("/run", root.join("var/run"))?;
    symlink("/run", root.join("var/lock"))?;
    symlink("/proc/self/mounts", root.join("etc/mtab"))?;
    for (name, stamp) in listing {
        let (from, to) = (Path::new("/etc").join(name), root.join("etc").join(name));
        if stamp == "folder" {
            fs::create_dir(&to)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
        } else if let Some(target) = stamp.strip_prefix("link ") {
            symlink(target, &to)?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    // What is mounted over them must be there.
    for name in super::super::names::NAME_FILES {
        fs::write(root.join("etc").join(name), "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FORBIDDEN, Userland, listing};
    use crate::data_dir::DataDir;

    #[test]
    fn only_what_programs_need_and_everybody_may_read_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        let userland = Userland::prepare(&data_dir, None).expect("a userland");
        let again = Userland::prepare(&data_dir, None).expect("a userland");
        assert_eq!(userland, again, "it is put together once");
        for there in ["etc/passwd", "usr", "tmp", "workspace", "etc/resolv.conf"] {
            assert!(userland.root.join(there).exists(), "{there}");
        }
        for absent in ["etc/shadow", "etc/ssh", "etc/sudoers", "etc/machine-id", "home/x", "var/lib/dpkg"] {
            assert!(!userland.root.join(absent).exists(), "{absent}");
        }
    }

    #[test]
    fn what_is_forbidden_is_not_listed() {
        let etc = tempfile::tempdir().expect("a folder");
        for folder in ["ssl/private", "ssl/certs"] {
            std::fs::create_dir_all(etc.path().join(folder)).expect("a folder");
        }
        std::fs::write(etc.path().join("ssl/private/key"), "x").expect("a file");
        std::fs::write(etc.path().join("ssl/certs/a"), "x").expect("a file");
        std::fs::write(etc.path().join("passwd"), "x").expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(etc.path().join("passwd"), mode).expect("a mode");
        let names: Vec<_> = listing(etc.path()).expect("a list").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["ssl", "ssl/certs", "ssl/certs/a"]);
        assert!(FORBIDDEN.iter().all(|name| !Path::new(name).is_absolute()));
    }
}
