//! The task as a file: outside the workspace, and in the folder of the workspace that is ours, where no repository takes it up.

use doorkeeper::protocol::{EntryKind, WriteFile};

use super::setup::write;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::door::DoorError;
use crate::environment::{self, TASK_FILE};
use crate::error::EngineError;
use crate::world::World;

/// The file of a repository that says what is not part of it, without being part of it itself.
const EXCLUDE: &str = ".git/info/exclude";
/// Line that excludes the folder that is ours.
const EXCLUDED: &str = "/.keystone/";
/// Largest size of that file.
const MOST_BYTES: u64 = 1 << 20;

/// Writes the task for the agent, before anything of `setup` is done.
///
/// Git takes up nothing of a folder that says so itself, whichever repository it is in and whoever made that.
pub(super) async fn place(world: &World, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let task = environment::task_file(&attempt.agents_values(), attempt).into_bytes();
    let own = |name: &str| format!("{WORKSPACE}/.keystone/{name}");
    write(world, TASK_FILE, EntryKind::File, 0o644, task.clone()).await?;
    write(world, &own("task.json"), EntryKind::File, 0o644, task).await?;
    write(world, &own(".gitignore"), EntryKind::File, 0o644, b"*\n".to_vec()).await
}

/// Excludes our folder from the repository in the workspace, when fixtures or setup made one: also when the file in
/// that folder is removed. Only a folder is looked at, and nothing that leads out of the workspace; where it cannot be
/// done, the other file is enough.
pub(super) async fn keep_out_of_repository(world: &World) -> Result<(), EngineError> {
    match exclude(world).await {
        Ok(()) | Err(DoorError::Failed(_)) => Ok(()),
        Err(error) => Err(EngineError::door("look for a repository in the workspace")(error)),
    }
}

async fn exclude(world: &World) -> Result<(), DoorError> {
    let door = world.sandbox.door();
    let listed = door.walk(WORKSPACE, b".git", 1, false).await?;
    if listed.entries.first().is_none_or(|entry| entry.kind != EntryKind::Directory) {
        return Ok(());
    }
    let said = match door.read(WORKSPACE, EXCLUDE.as_bytes(), MOST_BYTES).await {
        Ok(said) => said,
        Err(error) if error.errno() == Some(rustix::io::Errno::NOENT) => Vec::new(),
        Err(error) => return Err(error),
    };
    let Some(line) = missing_line(&said) else { return Ok(()) };
    let (uid, gid) = (world.user.uid, world.user.gid);
    let (path, kind, content) = (EXCLUDE.into(), EntryKind::File, line.into_bytes());
    let file = WriteFile { path, kind, uid, gid, mode: 0o644, content, append: !said.is_empty() };
    door.put(WORKSPACE, file).await
}

/// Returns the line that is missing in a file; `None` when it is there.
fn missing_line(said: &[u8]) -> Option<String> {
    if said.split(|byte| *byte == b'\n').any(|line| line == EXCLUDED.as_bytes()) {
        return None;
    }
    let end = if said.is_empty() || said.ends_with(b"\n") { "" } else { "\n" };
    Some(format!("{end}{EXCLUDED}\n"))
}

#[cfg(test)]
mod tests {
    use super::missing_line;

    #[test]
    fn a_line_is_added_once_and_on_its_own() {
        assert_eq!(missing_line(b"").as_deref(), Some("/.keystone/\n"));
        assert_eq!(missing_line(b"*.o\n").as_deref(), Some("/.keystone/\n"));
        assert_eq!(missing_line(b"*.o").as_deref(), Some("\n/.keystone/\n"));
        assert_eq!(missing_line(b"a\n/.keystone/\nb"), None);
    }
}
