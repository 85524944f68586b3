//! Removes what is left of sandboxes whose owner has gone: the kernel has ended them, but for those that are kept.

use std::fs;
use std::io;
use std::time::Duration;

use doorkeeper::plan::{BOX, SPARE};

use super::LocalBackend;
use super::process::kill;
use super::sandbox::WATCHER;
use crate::backend::{Reach, Swept};
use crate::data_dir::DataDir;
use crate::error::EngineError;
use crate::kept;
use crate::owner::{self, Life};

/// Number of checks whether boxes that were killed have ended.
const LOOKS: usize = 5000;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(2);

impl LocalBackend {
    /// Removes what belongs to this data directory and is within reach.
    pub(super) fn sweep_within(&self, reach: Reach) -> Result<Swept, EngineError> {
        let data_dir = self.0.owner.data_dir();
        let listing = || EngineError::files("list the sandboxes that are kept");
        let mut swept = Swept::default();
        let mut marked = kept::marked(data_dir).map_err(listing())?;
        // Those of Docker are Docker's to remove.
        marked.retain(|sandbox| is_local(data_dir, sandbox).is_ok_and(|is_local| is_local));
        if reach == Reach::GoneAndKept {
            let mut watchers = Vec::new();
            for sandbox in &marked {
                for folder in owner::doors_of(data_dir, sandbox).map_err(listing())? {
                    // The process may have ended, and its number be another's.
                    let Ok(text) = fs::read_to_string(folder.join(WATCHER)) else { continue };
                    let pids: Vec<u32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
                    if let [watcher, first] = pids[..]
                        && is_watcher(watcher)
                    {
                        kill(first);
                        watchers.push(watcher);
                        swept.containers += 1;
                    }
                }
                swept.folders += owner::remove_doors(data_dir, sandbox).map_err(listing())?;
                kept::unmark(data_dir, sandbox).map_err(listing())?;
            }
            wait_for_the_end(&watchers);
        } else {
            swept.kept = marked.len();
        }
        let gone = |id| owner::life_of(data_dir, id).is_ok_and(|life| life == Life::Gone);
        let own = self.0.owner.id();
        let removed = self.0.cgroups.sweep(|id| id != own && gone(id));
        swept.folders += removed.map_err(EngineError::files("remove control groups"))?;
        swept.folders += owner::forget_the_gone(data_dir).map_err(EngineError::files("remove stray folders"))?;
        Ok(swept)
    }
}

/// Returns true if a sandbox that is kept was made here: only those have a file that names their watcher.
pub(in crate::backend) fn is_local(data_dir: &DataDir, sandbox: &str) -> io::Result<bool> {
    Ok(owner::doors_of(data_dir, sandbox)?.iter().any(|folder| folder.join(WATCHER).exists()))
}

/// Waits until watchers have ended, which they do once nobody is left in their boxes: until then their groups are in use. One
/// that takes too long is left to the next sweep.
fn wait_for_the_end(watchers: &[u32]) {
    for _ in 0..LOOKS {
        if !watchers.iter().any(|watcher| is_watcher(*watcher)) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns true if a process is one of ours that watches a box.
fn is_watcher(pid: u32) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let argument = arguments.split(|byte| *byte == 0).nth(1);
    [BOX, SPARE].iter().any(|kind| argument == Some(kind.as_bytes()))
}

impl Drop for super::Inner {
    fn drop(&mut self) {
        self.spares.end();
        self.cgroups.forget();
    }
}
