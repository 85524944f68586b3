//! Making the box that the doorkeeper is in, where there is no container engine to do it.
//!
//! Three processes make a box. The **watcher**, which the worker started, stays outside with the worker's rights. It
//! maps the users of the box for the kernel, holds the layers that the box writes to, and ends as the box ends. The
//! **founder** leaves the host's namespaces and makes the **doorkeeper**, the first process of the box, which puts its
//! root together, gives up every right that it does not need, and then works as a doorkeeper. All of them are this
//! program, which has a single thread: namespaces and threads do not mix.

mod ceilings;
mod filter;
mod land;
mod mounts;
mod quotas;
mod watcher;

use std::fmt;
use std::io::{self, Read as _};

use doorkeeper::plan::{Beside, FIRST_OPEN, Plan, Unreadable, WAIT};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, LinkNameSpaceType, UnshareFlags, move_into_link_name_space, set_capabilities,
    set_no_new_privs, set_thread_res_gid, set_thread_res_uid,
};

use self::watcher::Line;
use crate::keeper::{self, Ending};
use crate::sys::{self, Fork};

/// The first port that anybody may listen on.
const UNPRIVILEGED: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Reason why there is no box.
#[derive(Debug)]
pub(crate) enum NoBox {
    /// The plan could not be read.
    Plan(io::Error),
    /// The bytes that were read are no plan.
    Unreadable(Unreadable),
    /// The kernel refused something.
    Refused {
        /// The operation.
        what: String,
        /// The kernel's error.
        errno: Errno,
    },
    /// Landlock could not confine the box to its files.
    Land(landlock::RulesetError),
    /// Another of the three processes reported a problem.
    Told(String),
    /// Another of the three processes ended.
    Alone,
}

impl fmt::Display for NoBox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => write!(formatter, "could not read the plan of the box: {error}"),
            Self::Unreadable(error) => write!(formatter, "{error}"),
            Self::Refused { what, errno } => write!(formatter, "could not {what}: {errno}"),
            Self::Land(error) => write!(formatter, "could not keep the box to its files: {error}"),
            Self::Told(why) => write!(formatter, "{why}"),
            Self::Alone => write!(formatter, "a process that makes the box ended"),
        }
    }
}

/// Makes an error of an operation that the kernel refused.
fn refused(what: impl Into<String>) -> impl FnOnce(Errno) -> NoBox {
    move |errno| NoBox::Refused { what: what.into(), errno }
}

/// The way a process that makes a box ends.
pub(crate) enum End {
    /// The box could not be made.
    NoBox(NoBox),
    /// The watcher saw the box end like this.
    Watched(u8),
    /// The doorkeeper was asked to end.
    Kept(Result<(), Ending>),
}

/// Reads a plan from standard input and makes its box. A spare one begins with a first plan, and waits for the rest.
pub(crate) fn raise(is_spare: bool) -> End {
    let plan = if is_spare { read_first() } else { read() };
    match plan.and_then(|plan| begin(&plan, is_spare)) {
        Ok(end) => end,
        Err(problem) => End::NoBox(problem),
    }
}

fn read() -> Result<Plan, NoBox> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(NoBox::Plan)?;
    Plan::decode(&bytes).map_err(NoBox::Unreadable)
}

/// Reads the first plan of a spare box, and none of the bytes after it.
fn read_first() -> Result<Plan, NoBox> {
    let mut bytes = Vec::new();
    let mut input = io::stdin().lock();
    while !bytes.ends_with(WAIT) {
        let mut byte = [0];
        input.read_exact(&mut byte).map_err(NoBox::Plan)?;
        bytes.extend_from_slice(&byte);
    }
    bytes.truncate(bytes.len() - WAIT.len());
    Plan::decode(&bytes).map_err(NoBox::Unreadable)
}

/// Forks the founder and the doorkeeper, and becomes the watcher.
fn begin(plan: &Plan, is_spare: bool) -> Result<End, NoBox> {
    let (watchers, founders) = Line::pair().map_err(refused("make a line between processes"))?;
    match sys::fork().map_err(refused("make a process"))? {
        Fork::Parent(founder) => {
            drop(founders);
            watcher::watch(plan, founder, &watchers, is_spare).map(End::Watched)
        }
        Fork::Child => {
            drop(watchers);
            match found(plan, &founders, is_spare) {
                Ok(end) => Ok(end),
                Err(problem) => {
                    // The watcher tells the worker.
                    founders.complain(&problem.to_string());
                    sys::exit_now(1)
                }
            }
        }
    }
}

/// The founder: leaves the host's namespaces, and makes the doorkeeper.
fn found(plan: &Plan, line: &Line, is_spare: bool) -> Result<End, NoBox> {
    // What is to stay open is found while the host can still be seen, and before anybody is somebody else.
    let opened = plan.open.iter().map(|folder| open_folder(folder)).collect::<Result<Vec<_>, _>>()?;
    let others = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    match &plan.beside {
        Some(beside) => join(beside, plan)?,
        None => sys::unshare(UnshareFlags::NEWUSER).map_err(refused(
            "make a user namespace (the kernel must allow it to this user: see kernel.unprivileged_userns_clone, \
             user.max_user_namespaces and, on Ubuntu, kernel.apparmor_restrict_unprivileged_userns)",
        ))?,
    }
    line.say(b'u')?;
    line.hear(b'm')?;
    become_first_user(plan)?;
    sys::unshare(others).map_err(refused("make namespaces"))?;
    if plan.beside.is_none() {
        sys::unshare(UnshareFlags::NEWNET | UnshareFlags::NEWCGROUP).map_err(refused("make a network namespace"))?;
    }
    match sys::fork().map_err(refused("make the first process of the box"))? {
        Fork::Parent(pid) => {
            line.tell_pid(pid)?;
            sys::exit_now(0)
        }
        Fork::Child if is_spare => settle_later(line),
        Fork::Child => settle(plan, line, opened),
    }
}

/// Enters the users and the network of another box; with users of its own, which are users of that box under other numbers.
fn join(beside: &Beside, plan: &Plan) -> Result<(), NoBox> {
    let find = |path: &str| {
        open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(refused("find the namespaces of the other box"))
    };
    // Both are found first: who has entered one may not look at the host's processes any more.
    let (users, network) = (find(&beside.users)?, find(&beside.network)?);
    match move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User)) {
        // A process that is in no other user namespace than its own may not enter it again.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(errno) => return Err(refused("become a user of the other box")(errno)),
    }
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(refused("enter the network of the other box"))?;
    if plan.users.is_empty() {
        return Ok(());
    }
    sys::unshare(UnshareFlags::NEWUSER).map_err(refused("make a user namespace in that of the other box"))?;
    // The watcher is in neither of the two, so it could not say who is who.
    watcher::write_ids("self", plan)
}

/// Runs the first process of a spare box: does the work that needs no plan, and waits for the plan.
fn settle_later(line: &Line) -> Result<End, NoBox> {
    open_network()?;
    quotas::share_out();
    let plan = Plan::decode(&line.hear_plan()?).map_err(NoBox::Unreadable)?;
    move_in(&plan, line)
}

/// The first process of the box: makes itself at home, and becomes the doorkeeper.
fn settle(plan: &Plan, line: &Line, opened: Vec<OwnedFd>) -> Result<End, NoBox> {
    // The founder has said who we are, so that nobody is confused by what we say.
    line.hear(b'c')?;
    for (descriptor, number) in opened.into_iter().zip(FIRST_OPEN..) {
        sys::move_descriptor(descriptor, number).map_err(refused("keep a folder open"))?;
    }
    if plan.beside.is_none() {
        open_network()?;
        quotas::share_out();
    }
    move_in(plan, line)
}

/// Makes the network usable, in which there is nothing but loopback.
fn open_network() -> Result<(), NoBox> {
    sys::raise_loopback().map_err(refused("switch the loopback interface on"))?;
    // In a network of its own, every port is everybody's.
    std::fs::write(UNPRIVILEGED, "0").map_err(|error| NoBox::Refused {
        what: format!("write `{UNPRIVILEGED}`"),
        errno: Errno::from_io_error(&error).unwrap_or(Errno::INVAL),
    })
}

/// Puts the root together, gives up the rights that are not needed, and becomes the doorkeeper.
fn move_in(plan: &Plan, line: &Line) -> Result<End, NoBox> {
    rustix::system::sethostname(plan.host_name.as_bytes()).map_err(refused("set the name of the box"))?;
    mounts::assemble(plan, line)?;
    set_no_new_privs(true).map_err(refused("refuse new privileges"))?;
    let is_alone = !plan.users.iter().any(|ids| ids.count > 1) && (plan.beside.is_none() || !has_many_users());
    if is_alone {
        // There is no other user to be. Who has the same user must not get at us, nor keep us from their files.
        let kept = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::KILL);
        let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
        // Programs that are started get none of them.
        sys::clear_bounding_set();
        set_capabilities(None, sets).map_err(refused("give capabilities up"))?;
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .map_err(refused("hide the doorkeeper"))?;
    }
    if let Some(ceilings) = plan.ceilings {
        ceilings::hold(ceilings).map_err(refused("hold the box to its limits"))?;
    }
    land::enclose(plan)?;
    filter::install().map_err(refused("filter system calls"))?;
    line.close();
    let arguments = [plan.socket.clone().into(), plan.watched.clone().into()];
    Ok(End::Kept(keeper::keep(arguments.into_iter().filter(|argument: &std::ffi::OsString| !argument.is_empty()))))
}

/// Returns true if the user namespace that this process is in has more than one user.
fn has_many_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    counts.sum::<u64>() > 1
}

/// Becomes the first user of the box.
fn become_first_user(plan: &Plan) -> Result<(), NoBox> {
    let first = |ids: &[doorkeeper::plan::Ids]| ids.first().map(|ids| ids.inside);
    if let Some(gid) = first(&plan.groups) {
        let gid = rustix::fs::Gid::from_raw(gid);
        set_thread_res_gid(gid, gid, gid).map_err(refused("become a group of the box"))?;
    }
    if let Some(uid) = first(&plan.users) {
        let uid = rustix::fs::Uid::from_raw(uid);
        set_thread_res_uid(uid, uid, uid).map_err(refused("become a user of the box"))?;
    }
    Ok(())
}

fn open_folder(path: &str) -> Result<OwnedFd, NoBox> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(refused(format!("open `{path}`")))
}
