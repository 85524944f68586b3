//! The doorkeeper's program, which is a part of ours.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use scenario::hex;
use sha2::{Digest as _, Sha256};

use crate::data_dir::DataDir;

/// The program: static, so that it runs in any image.
static PROGRAM: &[u8] = include_bytes!(env!("DOORKEEPER_BINARY"));

/// Puts the program where it can be mounted from, and returns its path. Does nothing when it is there already.
pub(crate) fn install(data_dir: &DataDir) -> io::Result<PathBuf> {
    put(data_dir, "doorkeeper", PROGRAM)
}

/// Puts a program of ours where it can be mounted from, under a name of its content.
pub(crate) fn put(data_dir: &DataDir, name: &str, program: &[u8]) -> io::Result<PathBuf> {
    let digest = hex(&Sha256::digest(program)[..8]);
    let folder = data_dir.path().join("doorkeeper");
    let path = folder.join(format!("{name}-{digest}"));
    if fs::metadata(&path).is_ok_and(|found| found.len() == program.len() as u64) {
        return Ok(path);
    }
    fs::create_dir_all(&folder)?;
    // Written under another name first: another process may be doing the same, and a half-written program must not be
    // started.
    let temporary = tempfile::NamedTempFile::new_in(&folder)?;
    fs::write(temporary.path(), program)?;
    fs::set_permissions(temporary.path(), Permissions::from_mode(0o555))?;
    temporary.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}
