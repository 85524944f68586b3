//! Tells whose memory was used up when the kernel killed processes of a control group.
//!
//! The kernel counts in a group every process of it that was ended for want of memory, whether the group itself was at its
//! limit, one above it was, or the whole machine had no memory left. The first is the doing of who is in the group; the others
//! are not. Version 2 counts apart how often the group itself ran out. Version 1 tells the most that the group ever used: what
//! never came near its limit has not run out. Its own count of failed charges is not kept by all kernels.

/// The files of a group that tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// Files of version 1.
    V1,
    /// Files of version 2.
    V2,
}

impl Files {
    /// Returns the names of all: the count of killed processes, and those that show whether the group was at its limit.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::V1 => &["memory.oom_control", "memory.max_usage_in_bytes", "memory.limit_in_bytes"],
            Self::V2 => &["memory.events"],
        }
    }
}

/// The key under which ended processes are counted.
const ENDED: &str = "oom_kill";

/// The key under which it is counted how often a group itself ran out.
const RAN_OUT: &str = "oom";
/// Distance from its limit at which a group counts as having run out: the kernel hands memory out in pieces.
const NEAR: u64 = 2 << 20;

/// Tells whose memory was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutOfMemory {
    /// The memory of the group.
    Own,
    /// The memory of a group above it, or of the machine.
    Outside,
}

/// Counters of the kernel for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MemoryEvents {
    /// Processes that it ended for want of memory.
    ended: u64,
    own: OwnLimit,
}

/// Knowledge about the limit of a group itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum OwnLimit {
    /// Nothing is known.
    #[default]
    Unknown,
    /// The group ran out so often.
    RanOut(u64),
    /// The group was at its limit once, or never was.
    Reached(bool),
}

impl MemoryEvents {
    /// Reads the counters from the files of a group; `None` when they are not there.
    pub(crate) fn of(files: Files, read: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let [counts, others @ ..] = files.names() else { return None };
        let counts = read(counts)?;
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let own = match others {
            [most, limit] => match (number(most), number(limit)) {
                (Some(most), Some(limit)) => OwnLimit::Reached(most.saturating_add(NEAR) >= limit),
                _ => OwnLimit::Unknown,
            },
            _ if has(&counts, RAN_OUT) => OwnLimit::RanOut(value(&counts, RAN_OUT)),
            _ => OwnLimit::Unknown,
        };
        Some(Self { ended: value(&counts, ENDED), own })
    }

    /// Tells if processes were killed since, and whose memory was used up then. Where that cannot be told it was the
    /// group's own: its processes could have used it up.
    pub(crate) fn ended_since(self, later: Self) -> Option<OutOfMemory> {
        if later.ended <= self.ended {
            return None;
        }
        let was_below = match (self.own, later.own) {
            // A counter that fell was changed by somebody, and tells nothing.
            (OwnLimit::RanOut(before), OwnLimit::RanOut(later)) => later == before,
            (_, OwnLimit::RanOut(later)) => later == 0,
            (_, OwnLimit::Reached(reached)) => !reached,
            (_, OwnLimit::Unknown) => false,
        };
        Some(if was_below { OutOfMemory::Outside } else { OutOfMemory::Own })
    }
}

fn has(text: &str, key: &str) -> bool {
    text.lines().any(|line| line.split_once(' ').is_some_and(|(name, _)| name == key))
}

/// The number that stands behind a key.
pub(crate) fn value(text: &str, key: &str) -> u64 {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(name, _)| *name == key).find_map(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks whose memory was used up between two looks at the files of a group.
    fn check(files: Files, before: &[(&str, &str)], later: &[(&str, &str)], expected: Option<OutOfMemory>) {
        let look = |contents: &[(&str, &str)]| {
            let read = |name: &str| contents.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned());
            MemoryEvents::of(files, read).expect("a group")
        };
        assert_eq!(look(before).ended_since(look(later)), expected, "{before:?} {later:?}");
    }

    #[test]
    fn version_2_counts_what_ran_out_by_itself() {
        let events = |oom, ended| format!("low 0\nhigh 0\nmax 9\noom {oom}\noom_kill {ended}\noom_group_kill 0\n");
        let checked = |before: (u64, u64), later: (u64, u64), expected| {
            let (before, later) = (events(before.0, before.1), events(later.0, later.1));
            check(Files::V2, &[("memory.events", &before)], &[("memory.events", &later)], expected);
        };
        checked((0, 0), (0, 0), None);
        checked((0, 0), (1, 1), Some(OutOfMemory::Own));
        checked((0, 0), (0, 1), Some(OutOfMemory::Outside));
        checked((3, 3), (3, 4), Some(OutOfMemory::Outside));
        checked((3, 3), (4, 5), Some(OutOfMemory::Own));
        // It ran out, and something else gave way.
        checked((3, 3), (4, 3), None);
        // An old kernel that counts no such thing.
        check(
            Files::V2,
            &[("memory.events", "oom_kill 0\n")],
            &[("memory.events", "oom_kill 1\n")],
            Some(OutOfMemory::Own),
        );
    }

    #[test]
    fn version_1_tells_how_near_its_limit_a_group_came() {
        let checked = |ended: (u64, u64), most: u64, limit: &str, expected| {
            let control = |ended| format!("oom_kill_disable 0\nunder_oom 0\noom_kill {ended}\n");
            let (before, later, most) = (control(ended.0), control(ended.1), most.to_string());
            let files = |control| {
                [
                    ("memory.oom_control", control),
                    ("memory.max_usage_in_bytes", &*most),
                    ("memory.limit_in_bytes", limit),
                ]
            };
            check(Files::V1, &files(&*before), &files(&*later), expected);
        };
        let (limit, bytes) = ("100663296\n", 100_663_296);
        checked((0, 0), bytes, limit, None);
        checked((0, 1), bytes, limit, Some(OutOfMemory::Own));
        checked((0, 1), bytes - 4096, limit, Some(OutOfMemory::Own));
        checked((0, 2), bytes / 2, limit, Some(OutOfMemory::Outside));
        checked((1, 1), bytes / 2, limit, None);
        checked((0, 1), bytes, "nonsense", Some(OutOfMemory::Own));
        let counted = |ended: &'static str| [("memory.oom_control", ended)];
        check(Files::V1, &counted("oom_kill 0\n"), &counted("oom_kill 1\n"), Some(OutOfMemory::Own));
    }

    #[test]
    fn keys_are_whole_words() {
        assert_eq!(value("oom_kill_disable 1\nunder_oom 0\noom_kill 3\n", "oom_kill"), 3);
        assert_eq!(value("max 7\n", "max"), 7);
        assert_eq!(value("", "max"), 0);
    }
}
