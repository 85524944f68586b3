//! Services from programs of this machine, which stand in for the images of the same name.
//!
//! Programs are started by the scripts of our own images, which take the environment of the official ones, or in a
//! quicker way where there is one (`postgres.rs`). Templates of databases are kept (`templates.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use doorkeeper::plan::Step;
use scenario::hex;
use sha2::{Digest as _, Sha256};

use crate::error::EngineError;

/// Folder of our files for a service; below `/usr` nobody but root could put them.
const OURS: &str = "/.touchstone/service";
/// The script that starts a service.
pub(super) const ENTRYPOINT: &str = "/.touchstone/service/entrypoint.sh";
/// Size limit of a service's data.
const DATA: u64 = 2 << 30;
/// Size limit of the folders for its sockets.
const SOCKETS: u64 = 1 << 20;

/// A program that can be a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name for people.
    pub(super) name: &'static str,
    /// The images that it stands in for, without a tag.
    pub(super) images: &'static [&'static str],
    /// The program, by name.
    pub(super) program: &'static str,
    /// Folders besides those of every sandbox in which it can be, `*` for any version.
    folders: &'static [&'static str],
    /// The Debian package that has it.
    pub(super) package: &'static str,
    /// User who runs it: name, and number.
    pub(super) user: (&'static str, u32),
    /// The script that starts it.
    entrypoint: &'static str,
    /// Files that it needs: where, and what is in them.
    files: &'static [(&'static str, &'static str)],
    /// Folders that it writes to: where, and how much.
    writes: &'static [(&'static str, u64)],
    /// Its environment, besides `PATH`.
    environment: &'static [(&'static str, &'static str)],
    /// Template of its data, for a database.
    pub(super) template: Option<Template>,
}

/// Template of a database's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Template {
    /// The folder that it is laid out in.
    pub(super) folder: &'static str,
    /// Fills that folder, which is empty. The variable `PASSWORD` has one for the first user.
    pub(super) script: &'static str,
}

/// All programs that can be services.
pub(super) const PROGRAMS: [Program; 4] = [
    Program {
        name: "Postgres",
        images: &["postgres"],
        program: "postgres",
        folders: &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"],
        package: "postgresql",
        user: ("postgres", 70),
        entrypoint: include_str!("../../../images/postgres/entrypoint.sh"),
        files: &[("/.touchstone/service/postgresql.conf", include_str!("../../../images/postgres/postgresql.conf"))],
        writes: &[("/var/lib/postgresql", DATA), ("/run/postgresql", SOCKETS)],
        environment: &[
            ("LANG", "C.UTF-8"),
            ("PGDATA", "/var/lib/postgresql/data"),
            ("TOUCHSTONE_SETTINGS", "/.touchstone/service/postgresql.conf"),
        ],
        template: Some(Template {
            folder: "/var/lib/postgresql/data",
            script: "initdb --username=postgres --encoding=UTF8 --locale=C.UTF-8 --no-sync --pwfile=<(printf '%s\\n' \"$PASSWORD\") > /dev/null
             echo \"include '$TOUCHSTONE_SETTINGS'\" >> \"$PGDATA/postgresql.conf\"
             printf '%s\\n' 'local all all trust' 'local replication all trust' 'host all all all scram-sha-256' \\
                 'host replication all all scram-sha-256' > \"$PGDATA/pg_hba.conf\"",
        }),
    },
    Program {
        name: "MariaDB",
        images: &["mariadb", "mysql"],
        program: "mariadbd",
        folders: &[],
        package: "mariadb-server-core",
        user: ("mysql", 999),
        entrypoint: include_str!("../../../images/mysql/entrypoint.sh"),
        files: &[("/etc/mysql/my.cnf", include_str!("../../../images/mariadb/my.cnf"))],
        writes: &[("/run/mysqld", SOCKETS)],
        environment: &[
            ("TOUCHSTONE_SERVER", "mariadbd"),
            ("TOUCHSTONE_CLIENT", "mariadb"),
            ("TOUCHSTONE_LAID_OUT", "1"),
        ],
        template: Some(Template {
            folder: "/var/lib/mysql",
            script: "mariadb-install-db --datadir=/var/lib/mysql --auth-root-authentication-method=normal --skip-test-db --force > /dev/null
             echo \"DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');
             DELETE FROM mysql.proxies_priv WHERE Host <> 'localhost';\" | mariadbd --bootstrap 2> /dev/null",
        }),
    },
    Program {
        name: "MySQL",
        images: &["mysql"],
        program: "mysqld",
        folders: &[],
        package: "mysql-server-core",
        user: ("mysql", 999),
        entrypoint: include_str!("../../../images/mysql/entrypoint.sh"),
        files: &[("/etc/mysql/my.cnf", include_str!("../../../images/mysql/my.cnf"))],
        writes: &[("/run/mysqld", SOCKETS), ("/var/lib/mysql-files", SOCKETS)],
        environment: &[
            ("TOUCHSTONE_SERVER", "mysqld"),
            ("TOUCHSTONE_CLIENT", "mysql"),
            ("TOUCHSTONE_LAID_OUT", "1"),
        ],
        template: Some(Template {
            folder: "/var/lib/mysql",
            script: "echo 'SHUTDOWN;' > /tmp/shutdown.sql
             mysqld --initialize-insecure
             mysqld --skip-networking --init-file=/tmp/shutdown.sql
             cd /var/lib/mysql && rm -rf auto.cnf ibtmp1 *.dblwr '#innodb_redo'/*_tmp",
        }),
    },
    Program {
        name: "Redis",
        images: &["redis", "valkey"],
        program: "redis-server",
        folders: &[],
        package: "redis-server",
        user: ("redis", 998),
        entrypoint: include_str!("../../../images/redis/entrypoint.sh"),
        files: &[],
        writes: &[("/data", DATA)],
        environment: &[],
        template: None,
    },
];

/// A program that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstalledProgram {
    pub(super) program: Program,
    /// The folder that it is in.
    pub(super) folder: PathBuf,
}

/// Finds what stands in for an image: `None` when no program does, an error when it is not installed.
pub(super) fn find(reference: &str) -> Option<Result<InstalledProgram, EngineError>> {
    let name = repository(reference);
    let fitting: Vec<&Program> = PROGRAMS.iter().filter(|program| program.images.contains(&name)).collect();
    // The program with the image's own name comes first, when it is here.
    let first = fitting.first()?;
    let found = fitting.iter().rev().find_map(|program| here(program));
    Some(found.ok_or_else(|| EngineError::Unsupported {
        what: format!(
            "`{reference}` without Docker is `{}` of this machine, which is not installed: install the package `{}` (Debian), or use Docker",
            first.program, first.package
        ),
    }))
}

/// Explains why no program of this machine can be the service of an image; `None` when one can, or when a parameter
/// decides.
pub(super) fn missing_program(service: &str, image: &str) -> Option<String> {
    if image.contains("{{") {
        return None;
    }
    match find(image) {
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(format!("the service `{service}`: {error}")),
        None => Some(format!(
            "the service `{service}` is made from the image `{image}`, which needs Docker: without it, services are programs of this machine (postgres, mariadb, mysql, redis)"
        )),
    }
}

/// The name of an image without its registry, folder, tag and digest; ours are named like what they stand in for.
pub(super) fn repository(reference: &str) -> &str {
    let name = reference.split('@').next().unwrap_or(reference);
    let name = name.rsplit('/').next().unwrap_or(name);
    name.split(':').next().unwrap_or(name)
}

/// The program, when it is installed.
pub(super) fn here(program: &Program) -> Option<InstalledProgram> {
    let usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from);
    // The newest version first; what is outside of `/usr` is not in a sandbox.
    let mut folders: Vec<PathBuf> = program.folders.iter().flat_map(|pattern| versions(pattern)).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let is_there = |folder: &PathBuf| {
        // Where MariaDB is installed, `mysqld` is a link to it.
        let path = fs::canonicalize(folder.join(program.program));
        let is_another = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            PROGRAMS.iter().any(|other| other.program != program.program && name == other.program)
        };
        path.is_ok_and(|path| path.is_file() && !is_another(&path))
    };
    let folder = folders.into_iter().chain(usual).find(is_there)?;
    Some(InstalledProgram { program: *program, folder })
}

fn versions(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![PathBuf::from(pattern)] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let fitting = names.filter(|name| name.starts_with(prefix));
    fitting.map(|name| Path::new(parent).join(name).join(after.trim_start_matches('/'))).collect()
}

fn version(folder: &Path) -> u64 {
    let digits: String = folder.to_string_lossy().chars().filter(char::is_ascii_digit).take(6).collect();
    digits.parse().unwrap_or(0)
}

impl InstalledProgram {
    /// Returns a text that distinguishes this version of the program from others.
    pub(super) fn mark(&self) -> String {
        let program = self.folder.join(self.program.program);
        let found = fs::metadata(&program).ok();
        let changed = found.as_ref().and_then(|found| found.modified().ok());
        let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
        let length = found.map_or(0, |found| found.len());
        let folder = self.folder.display().to_string().replace('/', "_");
        format!("{}{folder}-{length}-{}", self.program.program, changed.as_secs())
    }

    /// Returns the steps that add to its box: scripts and files of ours out of a folder, and room to write.
    pub(super) fn steps(&self, files: &Path) -> Vec<Step> {
        let bind = |target: &str, source: PathBuf| Step::Bind {
            target: target.to_owned(),
            source: source.display().to_string(),
            writable: false,
        };
        let mut steps = vec![bind(OURS, files.to_owned())];
        let elsewhere = self.written().into_iter().map(|(target, _)| target).filter(|target| !target.starts_with(OURS));
        steps.extend(elsewhere.map(|target| bind(target, files.join(name(target)))));
        let memory =
            |(target, bytes): &(&str, u64)| Step::Memory { target: (*target).to_owned(), bytes: *bytes, mode: 0o777 };
        steps.extend(self.program.writes.iter().map(memory));
        steps.push(Step::Folder { target: "/docker-entrypoint-initdb.d".to_owned(), mode: 0o755 });
        steps
    }

    /// The files of ours that it needs, and what is in them.
    fn written(&self) -> Vec<(&'static str, String)> {
        let (user, number) = self.program.user;
        let passwd = format!("root:x:0:0:root:/root:/bin/sh\n{user}:x:{number}:{number}::/nonexistent:/bin/sh\n");
        let group = format!("root:x:0:\n{user}:x:{number}:\n");
        let mut files = vec![("/etc/passwd", passwd), ("/etc/group", group)];
        files.push((ENTRYPOINT, self.program.entrypoint.to_owned()));
        files.extend(self.program.files.iter().map(|(path, content)| (*path, (*content).to_owned())));
        files
    }

    /// Writes these files into a folder.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(folder)?;
        for (path, content) in self.written() {
            let file = folder.join(name(path));
            fs::write(&file, content)?;
            let mode = if path == ENTRYPOINT { 0o755 } else { 0o644 };
            fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Returns the digest of these files.
    pub(super) fn digest(&self) -> String {
        let all: String = self.written().iter().map(|(path, content)| format!("{path}\n{content}\n")).collect();
        hex(&Sha256::digest(all)[..8])
    }

    /// Its environment, before that of the spec.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let path = format!("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{}", self.folder.display());
        let own = self.program.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        [("PATH".to_owned(), path), ("HOME".to_owned(), "/tmp".to_owned())].into_iter().chain(own).collect()
    }

    /// Returns its working directory.
    pub(super) fn directory(&self) -> &'static str {
        if self.program.program == "redis-server" { "/data" } else { "/" }
    }
}

/// Returns the name of a file in the folder that it is mounted from.
fn name(path: &str) -> String {
    path.strip_prefix(OURS).unwrap_or(path).trim_start_matches('/').replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::{find, repository};

    #[test]
    fn images_are_known_by_their_names() {
        for (reference, name) in [
            ("postgres:16", "postgres"),
            ("docker.io/library/postgres:16-alpine@sha256:00", "postgres"),
            ("touchstone/mariadb:10.11", "mariadb"),
            ("localhost:5000/redis", "redis"),
            ("debian", "debian"),
        ] {
            assert_eq!(repository(reference), name);
        }
        assert!(find("debian:12").is_none() && find("kafka").is_none());
    }
}
