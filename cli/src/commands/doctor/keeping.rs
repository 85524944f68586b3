//! Checks of the storage: the disk, and the database.

use engine::data_dir::DataDir;
use rustix::fs::statvfs;

use super::Finding;
use crate::data_dir::StoreOption;
use crate::times::size;

/// With less room than this, no scenario is started.
const NO_ROOM: u64 = 1 << 30;
/// With less room than this, it may soon be so.
const LITTLE_ROOM: u64 = 5 << 30;

/// Checks the free disk space.
pub(super) fn disk(data_dir: &DataDir) -> Vec<Finding> {
    const WHAT: &str = "disk";
    let path = data_dir.path();
    let fix = "make room: `touchstone gc --older-than 7d --images`, or name another folder with `--data-dir`";
    let Ok(room) = statvfs(path) else {
        return vec![Finding::warn(WHAT, format!("nobody says how much room `{}` has", path.display()), fix)];
    };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let found = format!("{} free for `{}`", size(free), path.display());
    vec![match free {
        0..NO_ROOM => Finding::fail(WHAT, format!("{found}: no scenario is started with less than 1 GiB"), fix),
        NO_ROOM..LITTLE_ROOM => Finding::warn(WHAT, found, fix),
        _ => Finding::ok(WHAT, found),
    }]
}

/// Checks that the database answers.
pub(super) async fn database(option: &StoreOption) -> Finding {
    const WHAT: &str = "database";
    let opened = match option.open().await {
        Ok(home) => home,
        Err(error) => {
            return Finding::fail(WHAT, error.to_string(), option.remedy());
        }
    };
    let counted = opened.store.experiments(1, None).await;
    opened.store.close().await;
    match counted {
        Ok(experiments) if experiments.is_empty() => Finding::ok(WHAT, "answers; nothing was run yet"),
        Ok(_) => Finding::ok(WHAT, "answers"),
        Err(error) => Finding::fail(WHAT, error.to_string(), "restore it from a copy, or use another data directory"),
    }
}
