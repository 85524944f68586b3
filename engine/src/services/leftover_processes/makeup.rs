//! Makeup of a process, from the kernel: names and command lines can be chosen freely.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::backend::Process;

/// Makeup of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Makeup {
    /// Start of the process, in ticks: a number can be used again.
    began: u64,
    /// The file that it runs.
    exe: PathBuf,
    /// Auxiliary vector that the kernel gave the program when it was started, with random addresses: only a fork has
    /// the same.
    auxiliary: Vec<u8>,
    /// The variables that it was started with.
    environment: Vec<u8>,
    /// The files whose code it has mapped.
    code: BTreeSet<Vec<u8>>,
}

impl Makeup {
    /// Reads the makeup of a process; `None` where that is not possible, as where the engine sees other processes than
    /// we do.
    pub(super) fn of(process: &Process) -> Option<Self> {
        let own = PathBuf::from(format!("/proc/{}", process.pid));
        let name = fs::read(own.join("comm")).ok()?;
        let status = Status::read(process.pid)?;
        // Otherwise the number is somebody else's.
        let is_same = String::from_utf8_lossy(&name).trim_end() == process.program && status.parent == process.parent;
        if !is_same {
            return None;
        }
        Some(Self {
            began: status.began,
            exe: fs::read_link(own.join("exe")).ok()?,
            auxiliary: fs::read(own.join("auxv")).ok()?,
            environment: fs::read(own.join("environ")).ok()?,
            code: code(&fs::read(own.join("maps")).ok()?),
        })
    }

    /// Returns true if both are the same process, and it still runs the same program.
    pub(super) fn is_still(&self, before: &Self) -> bool {
        (self.began, &self.exe, &self.auxiliary) == (before.began, &before.exe, &before.auxiliary)
    }

    /// Returns true if it is a copy that `other`, or a copy of that, made of itself.
    pub(super) fn is_fork_of(&self, other: &Self) -> bool {
        !self.auxiliary.is_empty() && self.exe == other.exe && self.auxiliary == other.auxiliary
    }

    /// Returns true if both run the same file.
    pub(super) fn runs_same(&self, other: &Self) -> bool {
        self.exe == other.exe
    }

    /// Returns true if it was started just as `other` was.
    pub(super) fn is_started_like(&self, other: &Self) -> bool {
        self.exe == other.exe && self.environment == other.environment
    }

    /// The code that it has mapped.
    pub(super) fn code(&self) -> impl Iterator<Item = &[u8]> {
        self.code.iter().map(Vec::as_slice)
    }
}

/// Returns true if a process has ended and is only waiting to be reaped. One whose first thread has ended may have
/// others.
pub(super) fn is_over(process: &Process) -> bool {
    let threads = || fs::read_dir(format!("/proc/{}/task", process.pid)).map(Iterator::count);
    Status::read(process.pid).is_some_and(|status| {
        status.parent == process.parent && status.state == b'Z' && threads().is_ok_and(|count| count == 1)
    })
}

/// Returns true if a file of code existed, as it is, before a time in seconds: the kernel notes when a file was last
/// changed, and nobody in a sandbox can make that earlier.
pub(super) fn is_older(process: &Process, path: &[u8], time: i64) -> bool {
    let relative = Path::new(OsStr::from_bytes(path.strip_prefix(b"/").unwrap_or(path)));
    let path = PathBuf::from(format!("/proc/{}/root", process.pid)).join(relative);
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.ctime() < time)
}

/// The files of a list of mappings that can be executed.
fn code(maps: &[u8]) -> BTreeSet<Vec<u8>> {
    let file = |line: &[u8]| {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let rights = fields.nth(1)?;
        let path = fields.nth(3)?.trim_ascii_start();
        (rights.contains(&b'x') && path.starts_with(b"/")).then(|| path.to_vec())
    };
    maps.split(|byte| *byte == b'\n').filter_map(file).collect()
}

/// Fields of `/proc/…/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    state: u8,
    parent: u32,
    began: u64,
}

impl Status {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The fields stand behind the name, which can hold anything.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<_> = std::str::from_utf8(&stat[end + 1..]).ok()?.split_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pretend_to_be_other_fields() {
        let stat = b"7 (a) Z 1 (\xff) S 42 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n";
        assert_eq!(Status::parse(stat), Some(Status { state: b'S', parent: 42, began: 12345 }));
    }

    #[test]
    fn only_code_of_files_counts() {
        let maps = b"00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a b\n\
            00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/c\n\
            7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
            7f0000002000-7f0000003000 r-xp 00000000 00:05 9 /memfd:x (deleted)\n\
            7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]\n";
        let found: Vec<_> = code(maps).into_iter().map(|path| String::from_utf8(path).unwrap()).collect();
        assert_eq!(found, ["/memfd:x (deleted)", "/usr/bin/a b"]);
    }

    #[test]
    fn a_process_is_its_own_and_a_started_one_is_no_fork() {
        let own = |pid: u32| {
            let program = fs::read(format!("/proc/{pid}/comm")).unwrap();
            let program = String::from_utf8_lossy(&program).trim_end().to_owned();
            Process { pid, parent: Status::read(pid).unwrap().parent, program, arguments: String::new() }
        };
        let me = own(std::process::id());
        let makeup = Makeup::of(&me).unwrap();
        assert!(makeup.is_still(&makeup) && makeup.is_fork_of(&makeup));
        assert!(Makeup::of(&Process { parent: 0, ..me.clone() }).is_none(), "the number is somebody else's");
        let mut child = std::process::Command::new("/proc/self/exe");
        let mut child = child.arg("--list").stdout(std::process::Stdio::piped()).spawn().unwrap();
        if let Some(other) = Makeup::of(&own(child.id())) {
            assert!(!other.is_fork_of(&makeup));
        }
        child.wait().unwrap();
        assert!(is_older(&me, b"/proc/1/comm", i64::MAX) && !is_older(&me, b"/proc/1/comm", 0));
    }
}
