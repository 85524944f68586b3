//! Files of a sandbox that somebody works in.

use doorkeeper::protocol::{EntryKind, WriteFile};
use scenario::interactive::{FileBytes, MOST_FILE_BYTES, MOST_PATH_BYTES, Refusal, RefusalKind};

use super::{Session, place};
use crate::backend::WORKSPACE;

/// The permissions of a file that was not there before.
const MODE: u32 = 0o644;

impl Session {
    /// The content of a file: below the workspace, from which no link leads out then, or anywhere when the path is absolute.
    pub async fn read(&self, path: &str) -> Result<FileBytes, Refusal> {
        let _place = place(&self.live.files, "files")?;
        let root = root_of(path)?;
        let most = MOST_FILE_BYTES as u64 + 1;
        let read = self.live.world.sandbox.door().read(root, path.as_bytes(), most).await;
        let content = read.map_err(|error| self.live.refused(&error))?;
        if content.len() > MOST_FILE_BYTES {
            return Err(too_large(path));
        }
        Ok(FileBytes(self.live.world.redactor.bytes(&content)))
    }

    /// Writes a file that belongs to the agent's user, with the folders that lead to it. One that is there is replaced, and
    /// keeps its permissions.
    pub async fn write(&self, path: &str, content: Vec<u8>) -> Result<(), Refusal> {
        let _place = place(&self.live.files, "files")?;
        let root = root_of(path)?;
        if content.len() > MOST_FILE_BYTES {
            return Err(too_large(path));
        }
        let user = &self.live.world.user;
        let file = WriteFile {
            path: path.as_bytes().to_vec(),
            kind: EntryKind::File,
            uid: user.uid,
            gid: user.gid,
            mode: MODE,
            content,
            append: false,
        };
        let written = self.live.world.sandbox.door().put(root, file).await;
        written.map_err(|error| self.live.refused(&error))
    }

    /// Removes a file, or a folder with all that is in it.
    pub async fn remove(&self, path: &str) -> Result<(), Refusal> {
        let _place = place(&self.live.files, "files")?;
        let root = root_of(path)?;
        let user = &self.live.world.user;
        let removed = self.live.world.sandbox.door().remove(root, path.as_bytes(), (user.uid, user.gid)).await;
        removed.map_err(|error| self.live.refused(&error))
    }
}

/// The folder that a path stays in.
fn root_of(path: &str) -> Result<&'static str, Refusal> {
    if path.trim_matches('/').is_empty() || path.contains('\0') || path.len() > MOST_PATH_BYTES {
        return Err(Refusal::new(RefusalKind::Invalid, "a path has a name, no zero bytes, and at most 4096 bytes"));
    }
    Ok(if path.starts_with('/') { "/" } else { WORKSPACE })
}

fn too_large(path: &str) -> Refusal {
    let message = format!("`{path}` has more than {} MiB, which is the most that is passed on", MOST_FILE_BYTES >> 20);
    Refusal::new(RefusalKind::TooLarge, message)
}
