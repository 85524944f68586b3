//! Control groups: what holds a sandbox to its limits.
//!
//! Both versions are known. The groups of a sandbox are `touchstone/<data directory>/<owner>/<name>`, so that a sweep knows
//! whose they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::backend::Limits;
use crate::entropy;
use crate::memory_events::{Files, MemoryEvents, OutOfMemory};

/// Mount point of control groups.
const MOUNTED: &str = "/sys/fs/cgroup";
/// The folder of ours.
const OURS: &str = "touchstone";
/// The time of which a share is given, in microseconds.
const PERIOD: u64 = 100_000;

/// The control groups that this process may make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cgroups {
    /// The folders of ours, one for each hierarchy; none when there is none that we may write to.
    hierarchies: Vec<Hierarchy>,
    data_dir: Uuid,
    owner: Uuid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    kind: Kind,
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All controllers in one hierarchy.
    Unified,
    Memory,
    Pids,
    Cpu,
}

/// The groups of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Group {
    folders: Vec<(PathBuf, Kind)>,
}

impl Cgroups {
    /// Finds those that this process may make.
    pub(super) fn find(data_dir: Uuid, owner: Uuid) -> Self {
        let mounted = Path::new(MOUNTED);
        let hierarchies = if mounted.join("cgroup.controllers").exists() {
            unified(mounted).into_iter().collect()
        } else {
            let kinds = [("memory", Kind::Memory), ("pids", Kind::Pids), ("cpu", Kind::Cpu)];
            let found = kinds.map(|(name, kind)| {
                let folder = mounted.join(name).join(OURS);
                is_ours(&folder).then_some(Hierarchy { kind, folder })
            });
            // Half of them would be no limit at all.
            found.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
        };
        Self { hierarchies, data_dir, owner }
    }

    /// Returns true if limits are enforced.
    pub(super) fn is_there(&self) -> bool {
        !self.hierarchies.is_empty()
    }

    /// Makes groups without limits.
    pub(super) fn make(&self, name: &str) -> io::Result<Group> {
        let mut group = Group::default();
        for hierarchy in &self.hierarchies {
            let folder = self.folder(hierarchy).join(name);
            fs::create_dir_all(&folder)?;
            if hierarchy.kind == Kind::Unified {
                delegate(&self.hierarchies[0].folder, &folder)?;
            }
            group.folders.push((folder, hierarchy.kind));
        }
        Ok(group)
    }

    fn folder(&self, hierarchy: &Hierarchy) -> PathBuf {
        hierarchy.folder.join(self.data_dir.to_string()).join(self.owner.to_string())
    }

    /// Removes the groups of owners for which `gone` says so, but for those with processes in them, of sandboxes that are kept;
    /// how many.
    pub(super) fn sweep(&self, gone: impl Fn(Uuid) -> bool) -> io::Result<usize> {
        let mut removed = 0;
        for hierarchy in &self.hierarchies {
            let folder = hierarchy.folder.join(self.data_dir.to_string());
            for owner in names(&folder)? {
                let Ok(id) = owner.parse() else { continue };
                if !gone(id) {
                    continue;
                }
                for name in names(&folder.join(&owner))? {
                    let group = folder.join(&owner).join(name);
                    if !is_used(&group) && remove(&group).is_ok() {
                        removed += 1;
                    }
                }
                let _ = fs::remove_dir(folder.join(&owner));
            }
            let _ = fs::remove_dir(&folder);
        }
        Ok(removed)
    }

    /// Removes what this owner had once none of its sandboxes is left.
    pub(super) fn forget(&self) {
        for hierarchy in &self.hierarchies {
            let folder = self.folder(hierarchy);
            if fs::remove_dir(&folder).is_ok() {
                let _ = folder.parent().map(fs::remove_dir);
            }
        }
    }
}

impl Group {
    /// The folders, for whoever is to be in it.
    pub(super) fn folders(&self) -> Vec<String> {
        self.folders.iter().map(|(folder, _)| folder.display().to_string()).collect()
    }

    /// Lists the paths at which a box finds its own groups, with the folders that they are.
    pub(super) fn places(&self) -> impl Iterator<Item = (String, PathBuf)> {
        self.folders.iter().map(|(folder, kind)| {
            let place = match kind {
                Kind::Unified => MOUNTED.to_owned(),
                Kind::Memory => format!("{MOUNTED}/memory"),
                Kind::Pids => format!("{MOUNTED}/pids"),
                Kind::Cpu => format!("{MOUNTED}/cpu"),
            };
            (place, folder.clone())
        })
    }

    /// Sets all limits.
    pub(super) fn limit(&self, limits: Limits, memory: u64) -> io::Result<()> {
        self.limit_memory(memory)?;
        self.set("pids.max", &limits.pids.to_string())?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred cores")]
        let quota = ((limits.cpus * 1e5).round() as u64).max(1000);
        for (folder, kind) in &self.folders {
            match kind {
                Kind::Unified => fs::write(folder.join("cpu.max"), format!("{quota} {PERIOD}"))?,
                Kind::Cpu => {
                    fs::write(folder.join("cpu.cfs_period_us"), PERIOD.to_string())?;
                    fs::write(folder.join("cpu.cfs_quota_us"), quota.to_string())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets how much memory may be used.
    pub(super) fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        for (folder, kind) in &self.folders {
            match kind {
                Kind::Unified => {
                    fs::write(folder.join("memory.max"), bytes.to_string())?;
                    // Not every kernel counts it.
                    let _ = fs::write(folder.join("memory.swap.max"), "0");
                }
                Kind::Memory => {
                    let both = folder.join("memory.memsw.limit_in_bytes");
                    // Neither may be above the other, whichever way they go.
                    let _ = fs::write(&both, bytes.to_string());
                    fs::write(folder.join("memory.limit_in_bytes"), bytes.to_string())?;
                    let _ = fs::write(&both, bytes.to_string());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        let has = |kind: Kind| matches!(kind, Kind::Unified | Kind::Pids);
        self.folders
            .iter()
            .filter(|(_, kind)| has(*kind))
            .try_for_each(|(folder, _)| fs::write(folder.join(file), value))
    }

    /// Tells if the kernel killed a process in it for lack of memory, and whose memory was used up.
    pub(super) fn out_of_memory(&self) -> Option<OutOfMemory> {
        self.folders.iter().find_map(|(folder, kind)| {
            let names = match kind {
                Kind::Unified => Files::V2,
                Kind::Memory => Files::V1,
                Kind::Pids | Kind::Cpu => return None,
            };
            let events = MemoryEvents::of(names, |file| fs::read_to_string(folder.join(file)).ok())?;
            MemoryEvents::default().ended_since(events)
        })
    }

    /// Removes it. Whoever is in it has ended.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.folders.iter().try_for_each(|(folder, _)| remove(folder))
    }
}

/// Returns true if processes are in a group.
fn is_used(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|processes| !processes.trim().is_empty())
}

/// Returns true if groups can be made in a folder, which may be another user's.
fn is_ours(folder: &Path) -> bool {
    let trial = folder.join(format!("trial-{}", entropy::hex(8)));
    fs::create_dir_all(&trial).is_ok() && fs::remove_dir(&trial).is_ok()
}

/// The one hierarchy, when our folder in it has the controllers that are needed.
fn unified(mounted: &Path) -> Option<Hierarchy> {
    let folder = mounted.join(OURS);
    is_ours(&folder).then_some(())?;
    delegate(mounted, &folder.join("x")).ok()?;
    let controllers = fs::read_to_string(folder.join("cgroup.controllers")).ok()?;
    let needed = ["memory", "pids", "cpu"];
    let has = |name: &&str| controllers.split_whitespace().any(|controller| controller == *name);
    needed.iter().all(has).then_some(Hierarchy { kind: Kind::Unified, folder })
}

/// Hands the controllers down, from a folder to the one above another.
fn delegate(from: &Path, to: &Path) -> io::Result<()> {
    let mut folders: Vec<&Path> = to.ancestors().skip(1).take_while(|folder| folder.starts_with(from)).collect();
    folders.reverse();
    for folder in folders {
        fs::write(folder.join("cgroup.subtree_control"), "+memory +pids +cpu")?;
    }
    Ok(())
}

/// Removes a group, which the kernel allows a moment after its last process has ended. On a busy machine that moment is long.
fn remove(folder: &Path) -> io::Result<()> {
    for _ in 0..1000 {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
    fs::remove_dir(folder)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
