//! Starting a command.
//!
//! The child reports a failed step over a pipe; exec closes the pipe. The doorkeeper does not block on that: an agent
//! with the same user could stop the child in between, and then the doorkeeper would stand still with it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use doorkeeper::protocol::{DOORKEEPER_UID, Failure, Spawn};
use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getgroups;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, no_new_privs, set_capabilities,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::failure::{failed, refused, show};
use super::identity::Identity;
use super::terminal::Terminal;
use crate::sys::{self, Fork};

/// OOM score of commands: when memory is short, the kernel ends them before the doorkeeper.
const OOM_SCORE: &[u8] = b"500";

/// A command whose process exists.
pub(crate) struct Child {
    /// The process.
    pub(crate) pid: i32,
    /// Pipe on which it reports a failure before exec.
    pub(crate) report: OwnedFd,
    /// Our ends of its standard streams.
    pub(crate) streams: Streams,
}

/// Our ends of the standard streams of a command.
pub(crate) enum Streams {
    /// A pipe each.
    Pipes {
        /// Write end of its standard input.
        stdin: OwnedFd,
        /// Read end of its standard output.
        stdout: OwnedFd,
        /// Read end of its standard error.
        stderr: OwnedFd,
    },
    /// A terminal for all three streams.
    Terminal(OwnedFd),
}

/// A step of a child before it becomes the command.
#[derive(Clone, Copy)]
enum Step {
    /// Takes its standard streams.
    Streams,
    /// Makes a session of its own, with its terminal if it has one.
    Session,
    /// Becomes another user without capabilities.
    User,
    /// Changes to its folder.
    Directory,
    /// Becomes the program.
    Program,
}

/// All steps, in the order of their numbers.
const STEPS: [Step; 5] = [Step::Streams, Step::Session, Step::User, Step::Directory, Step::Program];

/// Starts a command.
pub(crate) fn start(spawn: &Spawn, identity: &Identity) -> Result<Child, Failure> {
    check(spawn, identity)?;
    let program = show(&spawn.arguments[0]);
    fork(spawn, identity).map_err(|errno| failed(errno, format!("start {program}")))
}

/// Refuses commands that cannot or may not be started.
fn check(spawn: &Spawn, identity: &Identity) -> Result<(), Failure> {
    if spawn.arguments.first().is_none_or(Vec::is_empty) {
        return Err(refused("start a command: no program was given"));
    }
    let variables = spawn.environment.iter().flat_map(|(name, value)| [name, value]);
    let mut texts = spawn.arguments.iter().chain(variables).chain([&spawn.directory]);
    if texts.any(|text| text.contains(&0)) {
        return Err(failed(Errno::INVAL, "start a command: an argument, variable or folder has a zero byte"));
    }
    if spawn.uid == DOORKEEPER_UID {
        return Err(refused(format!("no command may run as user {DOORKEEPER_UID}, which is the doorkeeper's")));
    }
    if !identity.can_be(spawn.uid, spawn.gid) {
        return Err(refused(format!("cannot start a command as user {}, group {}", spawn.uid, spawn.gid)));
    }
    Ok(())
}

/// Makes the streams and the process.
fn fork(spawn: &Spawn, identity: &Identity) -> Result<Child, Errno> {
    let (report, child_report) = pipe_with(PipeFlags::CLOEXEC)?;
    let (streams, [child_stdin, child_stdout, child_stderr]) = match spawn.terminal {
        Some(size) => terminal(Terminal::make(size, (spawn.uid, spawn.gid), identity)?)?,
        None => pipes()?,
    };
    fcntl_setfl(&report, fcntl_getfl(&report)? | OFlags::NONBLOCK)?;
    match sys::fork()? {
        Fork::Parent(pid) => Ok(Child { pid, report, streams }),
        Fork::Child => become_command(spawn, identity, [&child_stdin, &child_stdout, &child_stderr, &child_report]),
    }
}

/// Three pipes: our ends, and the command's.
fn pipes() -> Result<(Streams, [OwnedFd; 3]), Errno> {
    let (child_stdin, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout, child_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, child_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    for ours in [&stdin, &stdout, &stderr] {
        // A pipe belongs to who made it. Without this, a command could not open `/dev/stdout`.
        fchmod(ours, Mode::from_raw_mode(0o666))?;
        fcntl_setfl(ours, fcntl_getfl(ours)? | OFlags::NONBLOCK)?;
    }
    Ok((Streams::Pipes { stdin, stdout, stderr }, [child_stdin, child_stdout, child_stderr]))
}

/// A terminal three times: our end, and the command's.
fn terminal(Terminal { ours, commands }: Terminal) -> Result<(Streams, [OwnedFd; 3]), Errno> {
    let copy = || commands.try_clone().map_err(|_| Errno::MFILE);
    let childs = [copy()?, copy()?, copy()?];
    Ok((Streams::Terminal(ours), childs))
}

/// The child: becomes the command, or reports why not.
fn become_command(spawn: &Spawn, identity: &Identity, descriptors: [&OwnedFd; 4]) -> ! {
    match sys::arrange_descriptors(descriptors) {
        Ok(report) => {
            let (step, errno) = prepare_and_exec(spawn, identity);
            tell(&report, step, errno);
        }
        Err(errno) => tell(descriptors[3], Step::Streams, errno),
    }
    sys::exit_now(127)
}

/// Does all steps. Returns only when one of them failed.
fn prepare_and_exec(spawn: &Spawn, identity: &Identity) -> (Step, Errno) {
    // Where this fails, the command is as likely to be ended as the doorkeeper; no reason not to start it.
    let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    if let Err(errno) = begin_session(spawn) {
        return (Step::Session, errno);
    }
    if let Err(errno) = become_user(spawn, identity) {
        return (Step::User, errno);
    }
    if let Err(errno) = rustix::process::chdir(spawn.directory.as_slice()) {
        return (Step::Directory, errno);
    }
    sys::reset_signals();
    (Step::Program, exec(spawn))
}

/// Begins a session; that of a command with a terminal is controlled by it.
fn begin_session(spawn: &Spawn) -> Result<(), Errno> {
    rustix::process::setsid()?;
    if spawn.terminal.is_some() { sys::take_terminal() } else { Ok(()) }
}

/// Becomes the user of the command, without capabilities, and verifies that.
fn become_user(spawn: &Spawn, identity: &Identity) -> Result<(), Errno> {
    if identity.is_privileged() {
        let groups: Vec<Gid> = spawn.groups.iter().copied().map(Gid::from_raw).collect();
        set_thread_groups(&groups)?;
        let (uid, gid) = (Uid::from_raw(spawn.uid), Gid::from_raw(spawn.gid));
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    let none = CapabilitySet::empty();
    let without = CapabilitySets { effective: none, permitted: none, inheritable: none };
    clear_ambient_capability_set()?;
    set_capabilities(None, without)?;
    // A program that root starts would get capabilities from the bounding set, if new privileges were allowed.
    let safe = capabilities(None)? == without && no_new_privs()?;
    if safe && is_user(spawn, identity)? { Ok(()) } else { Err(Errno::PERM) }
}

/// Returns true if this process is the user that the command is to run as.
fn is_user(spawn: &Spawn, identity: &Identity) -> Result<bool, Errno> {
    let (uid, gid) = (spawn.uid, spawn.gid);
    let mut wanted = spawn.groups.clone();
    let mut groups: Vec<u32> = getgroups()?.iter().map(|group| group.as_raw()).collect();
    wanted.sort_unstable();
    groups.sort_unstable();
    let has_groups = wanted == groups || !identity.is_privileged();
    Ok(has_groups && sys::user_and_group_ids() == [uid, uid, uid, gid, gid, gid])
}

/// Becomes the program. Returns only when it could not.
fn exec(spawn: &Spawn) -> Errno {
    let text = |bytes: &Vec<u8>| OsStr::from_bytes(bytes).to_owned();
    let arguments = spawn.arguments.iter().skip(1).map(text);
    let environment = spawn.environment.iter().map(|(name, value)| (text(name), text(value)));
    let mut command = Command::new(OsStr::from_bytes(&spawn.arguments[0]));
    let error = command.args(arguments).env_clear().envs(environment).exec();
    Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
}

/// Reports a step that failed.
fn tell(report: &OwnedFd, step: Step, errno: Errno) {
    let mut message = vec![step as u8];
    message.extend_from_slice(&errno.raw_os_error().to_be_bytes());
    let _ = rustix::io::write(report, &message);
}

/// Reads a child's report: `None` while it may still report, else whether it became the command.
pub(crate) fn read_report(report: &OwnedFd, spawn: &Origin) -> Option<Result<(), Failure>> {
    let mut message = [0; 5];
    match rustix::io::retry_on_intr(|| rustix::io::read(report, &mut message)) {
        Err(Errno::AGAIN) => None,
        Ok(5) => {
            let errno = i32::from_be_bytes([message[1], message[2], message[3], message[4]]);
            Some(Err(explain(message[0], Errno::from_raw_os_error(errno), spawn)))
        }
        _ => Some(Ok(())),
    }
}

/// The parts of a command that messages about its failure name.
pub(crate) struct Origin {
    /// The program.
    pub(crate) program: Vec<u8>,
    /// The folder.
    pub(crate) directory: Vec<u8>,
    /// The user and the group.
    pub(crate) owner: (u32, u32),
}

/// Explains the failed step of a child.
fn explain(step: u8, errno: Errno, origin: &Origin) -> Failure {
    let program = show(&origin.program);
    let (uid, gid) = origin.owner;
    let tried = match STEPS.get(usize::from(step)).unwrap_or(&Step::Program) {
        Step::Streams => format!("start {program}: take its standard streams"),
        Step::Session => format!("start {program}: make a session"),
        Step::User => format!("start {program} as user {uid}, group {gid}, without capabilities"),
        Step::Directory => format!("start {program} in the folder {}", show(&origin.directory)),
        Step::Program => format!("start {program}"),
    };
    failed(errno, tried)
}
