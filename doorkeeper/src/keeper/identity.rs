//! User, group and capabilities of the doorkeeper.
//!
//! The agent is uid 0 of the sandbox without any capability. Under the same uid it could lower the doorkeeper's limits,
//! raise its score for the out-of-memory killer, or stop it. So the doorkeeper moves itself to a user of its own.

use doorkeeper::protocol::DOORKEEPER_UID;
use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getgid, getpid, getrlimit, getuid, set_child_subreaper, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_keep_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::sys;

/// The capabilities that the doorkeeper keeps: to start commands as anybody, to end them, and to read their files.
const KEPT: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::KILL).union(CapabilitySet::DAC_OVERRIDE);
/// Least limit of pending signals and timers.
const LEAST_SIGNALS: u64 = 1024;
/// Least limit of bytes in message queues: room for two queues that are made without options.
const LEAST_QUEUES: u64 = 204_800;
/// Capabilities that it needs to become another user.
const NEEDED: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// User, group and capabilities of the doorkeeper.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its user.
    uid: u32,
    /// Its group.
    gid: u32,
    /// The capabilities it has; `None` when it cannot be anybody else.
    capabilities: Option<CapabilitySet>,
    /// True when it is PID 1, so that every process of the sandbox is below it.
    pub(crate) is_init: bool,
}

impl Identity {
    /// Settles who this process is, for good.
    pub(crate) fn assume() -> Result<Self, Errno> {
        rustix::process::umask(Mode::from_raw_mode(0o022));
        set_no_new_privs(true)?;
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        share(Resource::Sigpending, LEAST_SIGNALS)?;
        share(Resource::Msgqueue, LEAST_QUEUES)?;
        let is_init = getpid().is_init();
        if !is_init {
            set_child_subreaper(Some(getpid()))?;
        }
        let permitted = capabilities(None)?.permitted;
        let kept = permitted.contains(NEEDED).then_some(permitted.intersection(KEPT));
        if let Some(kept) = kept {
            become_doorkeeper(kept)?;
        }
        Ok(Self { uid: getuid().as_raw(), gid: getgid().as_raw(), capabilities: kept, is_init })
    }

    /// Returns true if commands and files can have another owner than the doorkeeper itself.
    pub(crate) fn is_privileged(&self) -> bool {
        self.capabilities.is_some()
    }

    /// Returns true if commands and files can have this owner.
    pub(crate) fn can_be(&self, uid: u32, gid: u32) -> bool {
        // The highest number means "unchanged" to the kernel.
        let valid = uid != u32::MAX && gid != u32::MAX;
        valid && (self.is_privileged() || (uid, gid) == (self.uid, self.gid))
    }

    /// Works on files as their owner: there is no capability to give files away.
    pub(crate) fn as_owner<T>(&self, uid: u32, gid: u32, work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        if !self.can_be(uid, gid) {
            return Err(Errno::PERM);
        }
        if self.capabilities.is_none() {
            return work();
        }
        let result = sys::set_file_owner(uid, gid).and_then(|()| keep_proc_ours()).and_then(|()| work());
        self.restore().and(result)
    }

    /// Restores its own user and capabilities. The kernel drops file capabilities when the file owner stops being root.
    fn restore(&self) -> Result<(), Errno> {
        sys::set_file_owner(self.uid, self.gid)?;
        keep_proc_ours()?;
        self.capabilities.map_or(Ok(()), hold)
    }
}

/// Lowers a limit that the kernel counts for all processes of a user together to a quarter: other sandboxes on this
/// machine use the same user as the agent, and one must not take all of it.
fn share(resource: Resource, least: u64) -> Result<(), Errno> {
    let Rlimit { current, .. } = getrlimit(resource);
    let part = current.map_or(least, |current| (current / 4).max(least).min(current));
    setrlimit(resource, Rlimit { current: Some(part), maximum: Some(part) })
}

/// Moves to the doorkeeper's user, with no more than these capabilities.
fn become_doorkeeper(kept: CapabilitySet) -> Result<(), Errno> {
    shrink_bounding_set();
    set_keep_capabilities(true)?;
    set_thread_groups(&[])?;
    let (uid, gid) = (Uid::from_raw(DOORKEEPER_UID), Gid::from_raw(DOORKEEPER_UID));
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    set_keep_capabilities(false)?;
    clear_ambient_capability_set()?;
    hold(kept)?;
    keep_proc_ours()
}

/// Takes all other capabilities out of reach. The container did that already; this is for boxes that did not, and
/// without the capability to do so it changes nothing.
fn shrink_bounding_set() {
    for capability in CapabilitySet::all().difference(KEPT).iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
}

/// Reduces the capabilities to these, all of them effective.
fn hold(kept: CapabilitySet) -> Result<(), Errno> {
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}

/// Keeps `/proc/1` out of the agent's hands.
///
/// A process that changed its user is not dumpable, and then its files in `/proc` belong to root. The agent is root
/// without capabilities, so it could write `/proc/1/oom_score_adj`. When the process is dumpable they belong to the
/// doorkeeper's user; and uid 0 without capabilities can neither open them for writing, nor trace, limit or signal it.
fn keep_proc_ours() -> Result<(), Errno> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
}
