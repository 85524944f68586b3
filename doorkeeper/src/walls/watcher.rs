//! The process outside the box.

use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Write as _};

use doorkeeper::plan::{Ids, NAMESPACES, Plan};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::{NoBox, mounts, refused};
use crate::sys;

/// First byte of a founder's message for people.
const COMPLAINT: u8 = b'!';
/// First byte of a plan.
const PLAN: u8 = b'P';
/// Largest message: a plan is a few thousand bytes.
const LONGEST: usize = 128 * 1024;

/// A line between two of the processes.
pub(super) struct Line(Cell<Option<OwnedFd>>);

impl Line {
    /// Both ends of one.
    pub(super) fn pair() -> Result<(Self, Self), Errno> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(Cell::new(Some(one))), Self(Cell::new(Some(other)))))
    }

    fn with<T>(&self, work: impl FnOnce(&OwnedFd) -> Result<T, NoBox>) -> Result<T, NoBox> {
        let end = self.0.take().ok_or(NoBox::Alone)?;
        let result = work(&end);
        self.0.set(Some(end));
        result
    }

    /// Sends a message of one byte.
    pub(super) fn say(&self, word: u8) -> Result<(), NoBox> {
        self.send(&[word])
    }

    fn send(&self, bytes: &[u8]) -> Result<(), NoBox> {
        self.with(|end| retry_on_intr(|| rustix::io::write(end, bytes)).map(|_| ()).map_err(|_| NoBox::Alone))
    }

    fn receive(&self) -> Result<Vec<u8>, NoBox> {
        let mut bytes = vec![0; LONGEST];
        let read = self.with(|end| retry_on_intr(|| rustix::io::read(end, &mut bytes)).map_err(|_| NoBox::Alone))?;
        bytes.truncate(read);
        match bytes.first() {
            None => Err(NoBox::Alone),
            Some(&COMPLAINT) => Err(NoBox::Told(String::from_utf8_lossy(&bytes[1..]).into_owned())),
            Some(_) => Ok(bytes),
        }
    }

    /// Waits for a word.
    pub(super) fn hear(&self, word: u8) -> Result<(), NoBox> {
        if self.receive()?.first() == Some(&word) { Ok(()) } else { Err(NoBox::Alone) }
    }

    /// Passes a plan on.
    fn tell_plan(&self, plan: &[u8]) -> Result<(), NoBox> {
        self.send(&[&[PLAN], plan].concat())
    }

    /// Waits for a plan.
    pub(super) fn hear_plan(&self) -> Result<Vec<u8>, NoBox> {
        let mut bytes = self.receive()?;
        if bytes.first() != Some(&PLAN) {
            return Err(NoBox::Alone);
        }
        Ok(bytes.split_off(1))
    }

    /// Sends the number of a process.
    pub(super) fn tell_pid(&self, pid: i32) -> Result<(), NoBox> {
        self.send(format!("p{pid}").as_bytes())
    }

    /// Waits for the number of a process.
    fn hear_pid(&self) -> Result<i32, NoBox> {
        let bytes = self.receive()?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        text.strip_prefix('p').and_then(|pid| pid.parse().ok()).ok_or(NoBox::Alone)
    }

    /// Sends the reason why there is no box.
    pub(super) fn complain(&self, problem: &str) {
        let mut bytes = vec![COMPLAINT];
        bytes.extend(problem.bytes().take(LONGEST - 1));
        let _ = self.send(&bytes);
    }

    /// Hangs up.
    pub(super) fn close(&self) {
        drop(self.0.take());
    }
}

/// Helps the founder, tells the worker about the box, and waits for its end: the exit code of its first process.
pub(super) fn watch(plan: &Plan, founder: i32, line: &Line, is_spare: bool) -> Result<u8, NoBox> {
    // The doorkeeper is the founder's child, and becomes ours when the founder has ended.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(refused("adopt processes"))?;
    line.hear(b'u')?;
    if plan.beside.is_none() {
        write_ids(&founder.to_string(), plan)?;
    }
    for cgroup in &plan.cgroups {
        let path = format!("{cgroup}/cgroup.procs");
        fs::write(&path, founder.to_string())
            .map_err(|error| NoBox::Refused { what: format!("write `{path}`"), errno: errno(&error) })?;
    }
    line.say(b'm')?;
    let first = line.hear_pid()?;
    let held = if is_spare {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(NoBox::Plan)?;
        if bytes.is_empty() {
            // Nobody wanted it, and it goes with the line.
            return Ok(0);
        }
        line.tell_plan(&bytes)?;
        line.hear(b'l')?;
        hold(&Plan::decode(&bytes).map_err(NoBox::Unreadable)?, first)?
    } else {
        line.say(b'c')?;
        line.hear(b'l')?;
        hold(plan, first)?
    };
    line.say(b'g')?;
    // Until the doorkeeper hangs up, something can still go wrong.
    match line.receive() {
        Err(NoBox::Alone) => {}
        Err(problem) => return Err(problem),
        Ok(_) => return Err(NoBox::Alone),
    }
    tell(first, &held);
    Ok(wait_for(first))
}

/// Writes the maps of users and groups of a process's box.
pub(super) fn write_ids(founder: &str, plan: &Plan) -> Result<(), NoBox> {
    let is_single = |ids: &[Ids]| ids.len() == 1 && ids[0].count == 1;
    if is_single(&plan.groups) {
        // Who may not choose groups may not leave some either.
        let _ = fs::write(format!("/proc/{founder}/setgroups"), "deny");
    }
    for (file, all) in [("gid_map", &plan.groups), ("uid_map", &plan.users)] {
        let lines: String = all.iter().map(|ids| format!("{} {} {}\n", ids.inside, ids.outside, ids.count)).collect();
        let path = format!("/proc/{founder}/{file}");
        fs::write(&path, lines)
            .map_err(|error| NoBox::Refused { what: format!("write `{path}`"), errno: errno(&error) })?;
    }
    Ok(())
}

/// Opens the changes to the box's layers, the watched path, and its namespaces, while its first process still sees them
/// and may be inspected.
fn hold(plan: &Plan, first: i32) -> Result<Vec<OwnedFd>, NoBox> {
    let layers = (0..mounts::layers(plan).count()).map(|number| mounts::upper(plan, number));
    let watched = (!plan.watched.is_empty()).then(|| mounts::inside(plan, &plan.watched));
    let folders = layers.chain(watched).map(|path| (format!("/proc/{first}/root{path}"), OFlags::DIRECTORY));
    let namespaces = NAMESPACES.map(|name| (format!("/proc/{first}/ns/{name}"), OFlags::empty()));
    let open_one = |(path, kind): (String, OFlags)| {
        open(&path, OFlags::RDONLY | OFlags::CLOEXEC | kind, Mode::empty()).map_err(refused(format!("open `{path}`")))
    };
    folders.chain(namespaces).map(open_one).collect()
}

/// Reports to the worker, on standard output: the first process, and the numbers of our descriptors that hold the rest.
fn tell(first: i32, held: &[OwnedFd]) {
    let descriptors: Vec<String> = held.iter().map(|one| one.as_raw_fd().to_string()).collect();
    let mut output = std::io::stdout();
    let _ = writeln!(output, "{first} {}", descriptors.join(" "));
    let _ = output.flush();
    // Nothing more is said, and who reads to the end must not wait for the box to end.
    sys::close_standard_output();
}

fn wait_for(first: i32) -> u8 {
    loop {
        let Some(ended) = sys::wait_for_any() else { return 1 };
        if ended.pid == first {
            let code = if libc::WIFEXITED(ended.status) {
                libc::WEXITSTATUS(ended.status)
            } else {
                128 + libc::WTERMSIG(ended.status)
            };
            return u8::try_from(code).unwrap_or(1);
        }
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}
