//! The few things of the kernel that have no safe interface in our libraries. All unsafe code is here.
#![expect(unsafe_code, reason = "fork, wait4, signals and file system users are only to be had from the C library")]

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::thread::UnshareFlags;

/// Signals that interrupt the doorkeeper's waiting; all others are blocked for good.
const HEARD: [i32; 3] = [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT];

/// The highest number of a signal.
const LAST_SIGNAL: i32 = 64;

/// The two processes after a fork.
pub(crate) enum Fork {
    /// The new one.
    Child,
    /// The old one, with the number of the new one.
    Parent(i32),
}

/// A process that ended.
pub(crate) struct Ended {
    /// Its number.
    pub(crate) pid: i32,
    /// Wait status, as the kernel writes it.
    pub(crate) status: i32,
    /// Processor time in user mode, in microseconds.
    pub(crate) user_us: u64,
    /// Processor time in the kernel, in microseconds.
    pub(crate) system_us: u64,
    /// The most memory that it had.
    pub(crate) max_rss_kib: u64,
}

/// Returns the error of the last call of the C library.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Turns the C library's -1 into an error.
fn check(result: i32) -> Result<i32, Errno> {
    if result == -1 { Err(last_error()) } else { Ok(result) }
}

/// Makes a copy of this process.
pub(crate) fn fork() -> Result<Fork, Errno> {
    // SAFETY: the doorkeeper has a single thread, so the child may do whatever the parent could have done.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// Ends a forked child at once, without running the exit handlers of its parent.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit only ends the process.
    unsafe { libc::_exit(code) }
}

/// Makes a mount and all that are below it read-only, without setuid programs and without devices.
pub(crate) fn seal_tree(path: &std::ffi::CStr) -> Result<(), Errno> {
    /// The kernel's `struct mount_attr`.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    let attributes = Attributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path ends with a zero, and the kernel only reads the attributes, whose size it is told.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    check(i32::try_from(result).unwrap_or(-1)).map(drop)
}

/// Takes one ended child, if there is one.
pub(crate) fn wait_any() -> Option<Ended> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for writing, and all zeroes is a valid rusage.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    let microseconds = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
    (pid > 0).then(|| Ended {
        pid,
        status,
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        max_rss_kib: usage.ru_maxrss.unsigned_abs(),
    })
}

/// Waits until a child ends. `None` when there is none.
pub(crate) fn wait_for_any() -> Option<Ended> {
    loop {
        let mut status = 0;
        // SAFETY: the pointer is valid for writing.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        if pid > 0 {
            return Some(Ended { pid, status, user_us: 0, system_us: 0, max_rss_kib: 0 });
        }
        if last_error() != Errno::INTR {
            return None;
        }
    }
}

/// Leaves namespaces for new ones.
pub(crate) fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    // SAFETY: the flags name namespaces only, and this process has a single thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Moves a descriptor to another number, under which it stays open.
pub(crate) fn move_descriptor(descriptor: OwnedFd, number: u32) -> Result<(), Errno> {
    let number = i32::try_from(number).map_err(|_| Errno::BADF)?;
    // SAFETY: nobody owns the new number: this process opens few descriptors, and this one is far above them.
    check(unsafe { libc::dup2(descriptor.as_raw_fd(), number) }).map(drop)
}

/// Closes standard output.
pub(crate) fn close_standard_output() {
    // SAFETY: nothing is written there any more, and what is opened next may have its number.
    unsafe {
        libc::close(1);
    }
}

/// Takes all capabilities out of reach of this process and of all that it makes.
pub(crate) fn clear_bounding_set() {
    for capability in 0..=63 {
        // SAFETY: prctl takes numbers. It fails for those that the kernel does not know.
        unsafe {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
    }
}

/// Switches the loopback interface of the network namespace on.
pub(crate) fn raise_loopback() -> Result<(), Errno> {
    let mut request = MaybeUninit::<libc::ifreq>::zeroed();
    // SAFETY: all zeroes is a valid request; the name fits and ends with a zero; the socket is closed again.
    unsafe {
        let request = request.assume_init_mut();
        for (target, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *target = byte.cast_signed();
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        let socket =
            OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?);
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const *request)).map(drop)
    }
}

/// The other end of a terminal, once it may be opened.
pub(crate) fn other_end(terminal: &OwnedFd) -> Result<OwnedFd, Errno> {
    let unlocked = 0;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the kernel only reads the number, and gives a descriptor that nobody else owns.
    unsafe {
        check(libc::ioctl(terminal.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked))?;
        Ok(OwnedFd::from_raw_fd(check(libc::ioctl(terminal.as_raw_fd(), libc::TIOCGPTPEER, flags))?))
    }
}

/// Makes standard input the terminal that controls the session of this process.
pub(crate) fn take_terminal() -> Result<(), Errno> {
    // SAFETY: the call takes numbers only.
    check(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) }).map(drop)
}

/// The number of the process at the other end of a socket, as this process counts; 0 for one that it cannot see.
pub(crate) fn peer_process(socket: &UnixStream) -> Result<i32, Errno> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel writes no more than the size that it is told.
    let result = unsafe {
        let place = (&raw mut peer).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &raw mut size)
    };
    check(result).map(|_| peer.pid)
}

/// Sends a signal, with the meaning that the kernel gives to negative numbers of processes.
pub(crate) fn kill(pid: i32, signal: i32) -> Result<(), Errno> {
    // SAFETY: kill takes two numbers.
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Blocks all signals, and gives a descriptor that is readable when one of those that matter arrived.
pub(crate) fn block_signals() -> Result<OwnedFd, Errno> {
    let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut heard = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the sets are initialised by sigfillset and sigemptyset before they are used, and signalfd gives a
    // descriptor that nobody else owns.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        check(libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut()))?;
        libc::sigemptyset(heard.as_mut_ptr());
        for signal in HEARD {
            libc::sigaddset(heard.as_mut_ptr(), signal);
        }
        let descriptor = check(libc::signalfd(-1, heard.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Resets every signal to its default action and unblocks all, as a command expects to find them.
pub(crate) fn reset_signals() {
    let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
    // What the kernel takes as an action is shorter than this, and all zeroes is the default.
    let default = [0_u64; 8];
    // SAFETY: the set is initialised by sigemptyset, and the kernel only reads from `default`. The C library is passed
    // over because it would leave out the two signals that it uses itself, which can have been ignored by who started us.
    unsafe {
        for signal in 1..=LAST_SIGNAL {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u64>(), 8_usize);
        }
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Makes these the descriptors 0 to 3 of a forked child and closes all others. The last is closed by exec, and given back.
pub(crate) fn arrange_descriptors(descriptors: [&OwnedFd; 4]) -> Result<OwnedFd, Errno> {
    for (target, descriptor) in (0..).zip(descriptors) {
        let source = descriptor.as_raw_fd();
        let flags = if target == 3 { libc::O_CLOEXEC } else { 0 };
        if source != target {
            // SAFETY: the child execs or ends without touching the descriptors that are replaced; the sources are
            // above 2, because 0 to 2 are open since the start.
            check(unsafe { libc::dup3(source, target, flags) })?;
        }
    }
    // SAFETY: as above, and whatever owned descriptor 3 in the parent is never dropped in the child. An old kernel does
    // not know the call; then exec closes them, because all of ours are marked so.
    unsafe {
        libc::syscall(libc::SYS_close_range, 4, u32::MAX, 0);
        Ok(OwnedFd::from_raw_fd(3))
    }
}

/// The real, effective and saved users and groups of this process.
pub(crate) fn user_and_group_ids() -> [u32; 6] {
    let mut ids = [u32::MAX; 6];
    let [real, effective, saved, real_group, effective_group, saved_group] = &mut ids;
    // SAFETY: all pointers are valid for writing.
    unsafe {
        libc::getresuid(real, effective, saved);
        libc::getresgid(real_group, effective_group, saved_group);
    }
    ids
}

/// Sets who owns the files that are made from now on.
pub(crate) fn set_file_owner(uid: u32, gid: u32) -> Result<(), Errno> {
    // SAFETY: the calls take a number. They answer with the previous one and not with an error, so each is made twice.
    let set = unsafe {
        libc::setfsgid(gid);
        libc::setfsuid(uid);
        (libc::setfsuid(uid).cast_unsigned(), libc::setfsgid(gid).cast_unsigned())
    };
    if set == (uid, gid) { Ok(()) } else { Err(Errno::PERM) }
}
