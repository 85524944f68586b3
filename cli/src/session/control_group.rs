//! The limits of the control groups that this process is in: memory and processors, in versions 1 and 2.
//!
//! A process is held to the least of all limits between its own group and the root. In a container the root of what can be
//! seen is the container's own group, so every group is looked at from the process's own up to where its hierarchy is
//! mounted.

use std::path::{Path, PathBuf};

/// The groups of this process.
const GROUPS: &str = "/proc/self/cgroup";
/// The file that lists the mounts of hierarchies.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Resource limits of a process and its children; `None` where nothing limits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct GroupLimits {
    /// Bytes of memory.
    pub(super) memory: Option<u64>,
    /// Thousandths of cores.
    pub(super) cpu_milli: Option<u64>,
}

impl GroupLimits {
    /// Returns the limits of all groups that this process is in. `read` gives the content of a file if it exists.
    pub(super) fn of_this_process(read: impl Fn(&Path) -> Option<String>) -> Self {
        let (groups, mounts) =
            (read(Path::new(GROUPS)).unwrap_or_default(), read(Path::new(MOUNTS)).unwrap_or_default());
        let mounts: Vec<_> = mounts.lines().filter_map(Mount::parse).collect();
        let mut limits = Self::default();
        for (controllers, path) in groups.lines().filter_map(group) {
            for mount in mounts.iter().filter(|mount| mount.has(controllers)) {
                for folder in mount.folders(path) {
                    limits = limits.least(Self::of_folder(&folder, &read));
                }
            }
        }
        limits
    }

    /// The limits of one group, whatever version it has.
    fn of_folder(folder: &Path, read: &impl Fn(&Path) -> Option<String>) -> Self {
        let file = |name: &str| read(&folder.join(name));
        let number = |name: &str| file(name)?.trim().parse::<u64>().ok();
        let hierarchical = || {
            let statistics = file("memory.stat")?;
            statistics.lines().find_map(|line| line.strip_prefix("hierarchical_memory_limit "))?.trim().parse().ok()
        };
        let memory = [number("memory.max"), number("memory.high"), number("memory.limit_in_bytes"), hierarchical()];
        let old_quota = || share(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
        let quota = || {
            let text = file("cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            share(quota.parse().ok()?, period.parse().ok()?)
        };
        Self { memory: memory.into_iter().flatten().min(), cpu_milli: quota().or_else(old_quota) }
    }

    fn least(self, other: Self) -> Self {
        let least = |one: Option<u64>, two: Option<u64>| one.into_iter().chain(two).min();
        Self { memory: least(self.memory, other.memory), cpu_milli: least(self.cpu_milli, other.cpu_milli) }
    }
}

/// The thousandths of cores that a quota is. One that is too small to be set is none.
fn share(quota: u64, period: u64) -> Option<u64> {
    quota.checked_mul(1000)?.checked_div(period).map(|milli| milli.max(1))
}

/// The controllers of a group, and its path in its hierarchy.
fn group(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(':')?;
    rest.split_once(':')
}

/// The mount of a hierarchy.
#[derive(Debug)]
struct Mount {
    /// The group that is seen as the root.
    root: String,
    place: PathBuf,
    /// True for the unified hierarchy (version 2).
    is_unified: bool,
    options: String,
}

impl Mount {
    /// Reads a line of `/proc/self/mountinfo`.
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, place) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (name, _source, options) = (kind.next()?, kind.next()?, kind.next().unwrap_or_default());
        let is_group = matches!(name, "cgroup" | "cgroup2");
        is_group.then(|| Self {
            root: plain(root),
            place: plain(place).into(),
            is_unified: name == "cgroup2",
            options: options.to_owned(),
        })
    }

    /// Returns true if groups with these controllers are in this mount. Groups of version 2 name none.
    fn has(&self, controllers: &str) -> bool {
        if self.is_unified || controllers.is_empty() {
            return self.is_unified && controllers.is_empty();
        }
        let mut limiting = controllers.split(',').filter(|name| matches!(*name, "memory" | "cpu"));
        limiting.any(|name| self.options.split(',').any(|option| option == name))
    }

    /// The folder of a group and of those above it, as far as they can be seen.
    fn folders(&self, path: &str) -> Vec<PathBuf> {
        // A path that leads out of what is seen says nothing about where the group is in it.
        let inside = Path::new(path).strip_prefix(&self.root).ok().filter(|inside| !inside.starts_with(".."));
        let folder = self.place.join(inside.unwrap_or(Path::new("")));
        folder.ancestors().take_while(|folder| folder.starts_with(&self.place)).map(Path::to_owned).collect()
    }
}

/// A path without the marks that stand for spaces and the like.
fn plain(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const MIB: u64 = 1 << 20;
    /// Value of version 1 when nothing limits memory.
    const UNLIMITED: &str = "9223372036854771712\n";
    const V2: &str = "29 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
    const V1: &str = "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";

    /// Checks the limits of a process with these groups and mounts, where these files exist.
    fn check(groups: &str, mounts: &str, files: &[(&str, &str)], memory: Option<u64>, cpu_milli: Option<u64>) {
        let mut there: HashMap<PathBuf, String> = HashMap::new();
        there.insert(GROUPS.into(), groups.to_owned());
        there.insert(MOUNTS.into(), mounts.to_owned());
        there.extend(files.iter().map(|(path, content)| (PathBuf::from(path), (*content).to_owned())));
        let limits = GroupLimits::of_this_process(|path| there.get(path).cloned());
        assert_eq!(limits, GroupLimits { memory, cpu_milli }, "{groups} {files:?}");
    }

    #[test]
    fn a_machine_without_limits_has_none() {
        check("", "", &[], None, None);
        check("0::/\n", V2, &[], None, None);
        let unlimited = [("/sys/fs/cgroup/a/memory.max", "max\n"), ("/sys/fs/cgroup/a/cpu.max", "max 100000\n")];
        check("0::/a\n", V2, &unlimited, None, None);
        let unlimited = [("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")];
        check("4:memory:/\n3:cpu,cpuacct:/\n", V1, &unlimited, None, None);
    }

    #[test]
    fn version_2_is_read_from_the_own_group_up_to_the_root() {
        let container = [("/sys/fs/cgroup/memory.max", "734003200\n"), ("/sys/fs/cgroup/cpu.max", "150000 100000\n")];
        check("0::/\n", V2, &container, Some(700 * MIB), Some(1500));
        let nested = [
            ("/sys/fs/cgroup/kubepods/memory.max", "2147483648\n"),
            ("/sys/fs/cgroup/kubepods/pod/memory.max", "max\n"),
            ("/sys/fs/cgroup/kubepods/pod/memory.high", "1073741824\n"),
            ("/sys/fs/cgroup/kubepods/pod/box/memory.max", "1610612736\n"),
            ("/sys/fs/cgroup/kubepods/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/kubepods/pod/box/cpu.max", "400000 100000\n"),
            ("/sys/fs/cgroup/other/memory.max", "1\n"),
        ];
        check("0::/kubepods/pod/box\n", V2, &nested, Some(1024 * MIB), Some(500));
        // Its own group was left behind when its namespace was made.
        check("0::/../../elsewhere\n", V2, &container, Some(700 * MIB), Some(1500));
    }

    #[test]
    fn version_1_is_read_where_each_controller_is() {
        let groups = "4:memory:/pod/box\n3:cpu,cpuacct:/pod\n2:name=systemd:/pod\n0::/\n";
        let files = [
            ("/sys/fs/cgroup/memory/pod/box/memory.limit_in_bytes", UNLIMITED),
            ("/sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "734003200\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED),
            ("/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "250000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n"),
        ];
        check(groups, V1, &files, Some(700 * MIB), Some(2500));
    }

    #[test]
    fn in_a_container_of_version_1_the_mount_begins_at_its_own_group() {
        let mounts = "31 30 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        let files = [("/sys/fs/cgroup/memory/memory.limit_in_bytes", "734003200\n")];
        check("4:memory:/docker/abc\n", mounts, &files, Some(700 * MIB), None);
        // A limit further up cannot be seen as a folder, and is told all the same.
        let files = [
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", UNLIMITED),
            ("/sys/fs/cgroup/memory/memory.stat", "cache 0\nhierarchical_memory_limit 314572800\ntotal_rss 1\n"),
        ];
        check("4:memory:/docker/abc\n", mounts, &files, Some(300 * MIB), None);
    }

    #[test]
    fn both_versions_at_once_and_odd_places_are_read() {
        let mounts = "29 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      31 30 0:27 / /mnt/control\\040groups/memory rw - cgroup none rw,memory\n\
                      1 1 8:1 / / rw - ext4 /dev/root rw,memory";
        let files = [("/mnt/control groups/memory/x/memory.limit_in_bytes", "104857600")];
        check("4:memory:/x\n0::/\n", mounts, &files, Some(100 * MIB), None);
        check("nonsense\n4:memory\n\n", "nonsense - \n - cgroup2", &files, None, None);
        let zero = [("/sys/fs/cgroup/cpu.max", "1000 0\n"), ("/sys/fs/cgroup/memory.max", "-5\n")];
        check("0::/\n", V2, &zero, None, None);
    }
}
