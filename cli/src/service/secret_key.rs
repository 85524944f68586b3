//! The key with which secrets are sealed, and by which our processes know each other.

use std::env;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use engine::data_dir::DataDir;
use engine::entropy;
use store::MasterKey;

use crate::output::CommandError;

/// The variable that may hold the key itself.
const VARIABLE: &str = "TOUCHSTONE_SECRET_KEY";
/// The file of the data directory that has it otherwise.
const FILE: &str = "secret.key";
/// Number of bytes of a key.
const BYTES: usize = 32;

/// Where the key is.
#[derive(Debug, Clone, Args)]
pub(crate) struct SecretKeyOption {
    /// A file with the key that seals stored secrets; `TOUCHSTONE_SECRET_KEY` can hold the key itself, and without either it
    /// is `secret.key` of the data directory, made at the first start.
    #[arg(long, env = "TOUCHSTONE_SECRET_KEY_FILE", value_name = "FILE")]
    secret_key_file: Option<PathBuf>,
}

impl SecretKeyOption {
    /// Returns the key; creates one when none is given and none exists.
    pub(crate) fn resolve(&self, data_dir: &DataDir) -> Result<MasterKey, CommandError> {
        let given = env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty());
        match (&self.secret_key_file, given) {
            (Some(path), _) => read(path).map_err(|problem| named(path, problem)),
            (None, Some(text)) => {
                MasterKey::parse(&text).map_err(|error| CommandError::Usage(format!("{VARIABLE}: {error}")))
            }
            (None, None) => {
                let path = data_dir.path().join(FILE);
                own(&path).map_err(|problem| named(&path, problem))
            }
        }
    }
}

fn named(path: &Path, problem: String) -> CommandError {
    CommandError::Usage(format!("the secret key `{}`: {problem}", path.display()))
}

/// Returns the key of a data directory; the first process creates it.
fn own(path: &Path) -> Result<MasterKey, String> {
    if !path.exists() {
        make(path).map_err(|error| error.to_string())?;
    }
    let mode = fs::metadata(path).map_err(|error| error.to_string())?.mode();
    if mode & 0o077 != 0 {
        return Err(format!("others may read it; `chmod 600 {}` mends that", path.display()));
    }
    read(path)
}

fn read(path: &Path) -> Result<MasterKey, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    MasterKey::parse(&text).map_err(|error| error.to_string())
}

fn make(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(folder)?;
    let mut bytes = [0; BYTES];
    entropy::fill(&mut bytes);
    writeln!(temporary, "{}", MasterKey::new(bytes).to_hex())?;
    temporary.as_file().sync_all()?;
    match temporary.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::own;

    #[test]
    fn a_key_is_made_once_and_open_to_nobody_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret.key");
        let first = own(&path).expect("a key");
        assert_eq!(first.fingerprint(), own(&path).expect("the same key").fingerprint());
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(own(&path).expect_err("open to others").contains("chmod 600"));
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret.key");
        fs::write(&path, "hunter2").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
        let problem = own(&path).expect_err("no key");
        assert!(problem.contains("32 bytes") && !problem.contains("hunter2"), "{problem}");
    }
}
