//! Attacks on PID 1.

use scenario::evidence::{Fired, Limit};
use scenario::result::{RowStatus, ScenarioResult};
use serde_json::json;
use tokio::time::Instant;

use super::{Attack, NOBODY_ELSE, assert_harmless, assert_limit, report, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    root_without_capabilities_cannot_touch_the_doorkeeper,
    another_user_cannot_touch_the_doorkeeper,
    folders_that_are_moved_away_change_nothing_for_the_doorkeeper,
    memory_that_stays_full_after_the_agent_is_a_limit_and_no_error,
    names_that_fill_the_memory_are_a_limit_and_no_error,
    a_sandbox_that_is_used_up_still_ends_in_time;
    also on local:
    root_without_capabilities_cannot_touch_the_doorkeeper,
    memory_that_stays_full_after_the_agent_is_a_limit_and_no_error,
    names_that_fill_the_memory_are_a_limit_and_no_error;
    on local as root:
    another_user_cannot_touch_the_doorkeeper,
    a_sandbox_that_is_used_up_still_ends_in_time,
}

/// Tries everything that a process can do to another, and prints what came of each: an error's name, or `ok`.
const SYSTEM_CALLS: &str = r#"
import ctypes, errno, json, os, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
report = {}
def attempt(name, work):
    try:
        result = work()
        report[name] = "ok" if result is None else str(result)
    except OSError as error:
        report[name] = errno.errorcode.get(error.errno, str(error.errno))
def call(number, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")
def buffer(*numbers):
    return ctypes.create_string_buffer(struct.pack("Q" * len(numbers), *numbers))
def write(path, text):
    with open(path, "w") as file:
        file.write(text)

for number in range(1, 65):
    attempt("kill %d" % number, lambda: os.kill(1, number))
attempt("tgkill", lambda: call(234, 1, 1, 9))
attempt("rt_sigqueueinfo", lambda: call(129, 1, 9, buffer(*[0] * 16)))
try:
    pidfd = os.pidfd_open(1)
    attempt("pidfd_send_signal", lambda: signal.pidfd_send_signal(pidfd, 9))
    for number in range(0, 12):
        attempt("pidfd_getfd %d" % number, lambda: call(438, pidfd, number, 0))
except OSError as error:
    report["pidfd_open"] = errno.errorcode[error.errno]
# The kernel sends these for whoever owns a socket; the doorkeeper must not take them for somebody's wish.
import fcntl
for number in (2, 15):
    one, other = socket.socketpair()
    fcntl.fcntl(one, 8, 1)
    fcntl.fcntl(one, 10, number)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_NONBLOCK | 0o20000)
    other.send(b"x")
attempt("ptrace attach", lambda: call(101, 16, 1, 0, 0))
attempt("ptrace seize", lambda: call(101, 0x4206, 1, 0, 0))
for name in ["mem", "environ", "maps", "syscall", "stack", "auxv", "pagemap"]:
    attempt("read " + name, lambda: open("/proc/1/" + name, "rb").read(1) and None)
attempt("write mem", lambda: open("/proc/1/mem", "r+b"))
attempt("process_vm_readv", lambda: call(310, 1, buffer(id(report), 8), 1, buffer(4096, 8), 1, 0))
attempt("process_vm_writev", lambda: call(311, 1, buffer(id(report), 8), 1, buffer(4096, 8), 1, 0))
attempt("list fd", lambda: os.listdir("/proc/1/fd") and None)
for number in range(0, 12):
    attempt("open fd %d" % number, lambda: os.open("/proc/1/fd/%d" % number, os.O_RDWR) and None)
for name, number in [("cpu", 0), ("fsize", 1), ("data", 2), ("stack", 3), ("nproc", 6), ("nofile", 7), ("as", 9)]:
    attempt("prlimit " + name, lambda: call(302, 1, number, buffer(1, 1), 0))
for name, text in [("oom_score_adj", "1000"), ("oom_adj", "15"), ("coredump_filter", "0"), ("comm", "x"), ("clear_refs", "1"),
                   ("timerslack_ns", "1"), ("loginuid", "0"), ("autogroup", "19"), ("uid_map", "0 0 1"), ("setgroups", "deny"),
                   ("attr/current", "x"), ("make-it-fail", "1"), ("sched", "0"), ("timens_offsets", "monotonic 9 9")]:
    if os.path.exists("/proc/1/" + name):
        attempt("write " + name, lambda: write("/proc/1/" + name, text))
attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("setpriority of a user", lambda: os.setpriority(os.PRIO_USER, 65532, 19))
attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
attempt("sched_setaffinity", lambda: os.sched_setaffinity(1, {0}))
attempt("sched_setscheduler", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attempt("sched_setscheduler fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("ioprio_set", lambda: call(251, 1, 1, 3 << 13))
attempt("migrate_pages", lambda: call(256, 1, 8, buffer(1), buffer(1)))
attempt("process_madvise", lambda: call(440, pidfd, buffer(4096, 4096), 1, 21, 0))
attempt("kcmp", lambda: call(312, 1, os.getpid(), 0, 0, 0))
attempt("perf_event_open", lambda: call(298, buffer(*[0] * 16), 1, -1, -1, 0))
attempt("setuid", lambda: os.setresuid(65532, 65532, 65532))
attempt("setgid", lambda: os.setresgid(65532, 65532, 65532))
attempt("setgroups", lambda: os.setgroups([65532]))
attempt("setfsuid", lambda: None if libc.setfsuid(65532) == libc.setfsuid(-1) and libc.setfsuid(-1) == 65532 else "EPERM")
attempt("chown", lambda: (open("/tmp/mine", "w"), os.chown("/tmp/mine", 65532, 65532)) and None)
for name, flag in [("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000), ("net", 0x40000000)]:
    attempt("unshare " + name, lambda: call(272, flag))
    attempt("setns " + name, lambda: call(308, os.open("/proc/1/ns/" + name.replace("mount", "mnt"), os.O_RDONLY), 0))
attempt("mount", lambda: call(165, b"none", b"/mnt", b"tmpfs", 0, 0))
attempt("remount", lambda: call(165, b"none", b"/.touchstone/door", 0, 0x1020, 0))
attempt("umount", lambda: call(166, b"/workspace", 2))
attempt("pivot_root", lambda: call(155, b"/workspace", b"/workspace"))
attempt("chroot", lambda: os.chroot("/workspace"))
attempt("keyctl", lambda: call(250, 0, -3, 0, 0, 0))
attempt("bpf", lambda: call(321, 0, buffer(*[0] * 16), 128))
attempt("userfaultfd", lambda: call(323, 0))
attempt("io_uring", lambda: call(425, 1, buffer(*[0] * 15)))
attempt("mknod", lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0)))
attempt("reboot", lambda: call(169, 0xfee1dead, 672274793, 0x1234567, 0))
attempt("sethostname", lambda: socket.sethostname("mine"))
attempt("settimeofday", lambda: call(164, buffer(0, 0), 0))
attempt("syslog", lambda: call(103, 3, buffer(0), 8))
attempt("sysctl", lambda: write("/proc/sys/vm/overcommit_memory", "2"))
attempt("sysctl net", lambda: write("/proc/sys/net/ipv4/ip_local_port_range", "1 2"))
attempt("sysrq", lambda: write("/proc/sysrq-trigger", "c"))
for group in ["memory", "pids", "cpu", "freezer", "devices", ""]:
    folder = os.path.join("/sys/fs/cgroup", group)
    if os.path.isdir(folder):
        attempt("cgroup make " + group, lambda: os.mkdir(folder + "/mine"))
        for name in ["memory.limit_in_bytes", "memory.max", "memory.max_usage_in_bytes", "memory.events", "memory.oom_control", "pids.max", "cgroup.procs", "freezer.state", "cgroup.kill", "release_agent"]:
            if os.path.exists(folder + "/" + name):
                attempt("cgroup write " + group + " " + name, lambda: write(folder + "/" + name, "1"))
for path in ["/.touchstone/doorkeeper", "/.touchstone/door/socket", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"]:
    attempt("write " + path, lambda: write(path, "x"))
    attempt("replace " + path, lambda: os.rename("/tmp/mine", path))
    attempt("remove " + path, lambda: os.remove(path))
attempt("run the doorkeeper", lambda: os.waitstatus_to_exitcode(os.spawnv(os.P_WAIT, "/.touchstone/doorkeeper", ["d", "/x"]) << 8) or None)
def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect("/.touchstone/door/socket")
attempt("connect to the door", connect)
def listen():
    server = socket.socket(socket.AF_UNIX)
    server.bind("/.touchstone/door/socket")
attempt("listen at the door", listen)
attempt("move the workspace", lambda: os.rename("/workspace", "/elsewhere"))
attempt("remove the workspace", lambda: os.rmdir("/workspace"))
for line in open("/proc/net/unix").read().splitlines()[1:]:
    for name in line.split()[7:]:
        attempt("connect to " + name, lambda: socket.socket(socket.AF_UNIX).connect(name.replace("@", "\0")))
print(json.dumps(report))
open("/workspace/alive", "w").close()
"#;

/// Operations that may succeed: a group is nothing that the doorkeeper's files are open to.
const ALLOWED: [&str; 1] = ["setgid"];

async fn try_system_calls(harness: &Harness, user: &str) {
    let attack = Attack::new(SYSTEM_CALLS)
        .with("agent.user", user)
        .expect("wrote", json!({"type": "file_exists", "path": "alive"}))
        .expect_command("alone", NOBODY_ELSE);
    let (result, evidence) = harness.run(&attack.yaml()).await;
    let report = report(&evidence);
    let report = report.as_object().expect("an object");
    let succeeded: Vec<_> =
        report.iter().filter(|(name, outcome)| *outcome == "ok" && !ALLOWED.contains(&name.as_str())).collect();
    assert!(succeeded.is_empty(), "{succeeded:?}\nof {report:#?}");
    assert!(report.len() > 150, "{report:#?}");
    assert_eq!(report["run the doorkeeper"], "1", "it has nobody to connect to");
    assert_harmless(&result);
}

async fn root_without_capabilities_cannot_touch_the_doorkeeper(harness: &mut Harness) {
    try_system_calls(harness, "0").await;
}

async fn another_user_cannot_touch_the_doorkeeper(harness: &mut Harness) {
    try_system_calls(harness, "1000:65532").await;
}

/// Moves what can be moved, and puts something else in its place.
const MOVED: &str = r#"
import os
os.rename("/.touchstone", "/gone")
os.mkdir("/.touchstone")
open("/.touchstone/doorkeeper", "w").write("exit 0")
os.chmod("/.touchstone/doorkeeper", 0o755)
os.rename("/etc", "/etc2")
"#;

async fn folders_that_are_moved_away_change_nothing_for_the_doorkeeper(harness: &mut Harness) {
    let attack = Attack::new(MOVED).expect_command("alone", NOBODY_ELSE);
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert!(verdict(&result, "alone").is_passed(), "{result:#?}");
    assert!(!evidence.image_changes.is_empty());
}

/// Fills the memory with what outlives its processes: shared segments and files in memory.
const FILLED: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
open("/proc/self/oom_score_adj", "w").write("0")
for folder in ["/dev/shm", "/dev", "/workspace"]:
    try:
        with open(folder + "/full", "wb") as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError:
        pass
def take(size):
    segment = libc.shmget(0, size, 0o1600)
    address = libc.shmat(segment, None, 0)
    if segment == -1 or address in (None, ctypes.c_void_p(-1).value):
        sys.exit(1)
    ctypes.memset(address, 1, size)
    libc.shmdt(ctypes.c_void_p(address))
# A child takes, so that its own memory is free again and can be taken too.
for size in [1 << 22, 1 << 16, 1 << 12]:
    while True:
        child = os.fork()
        if child == 0:
            while True:
                take(size)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            break
"#;

async fn memory_that_stays_full_after_the_agent_is_a_limit_and_no_error(harness: &mut Harness) {
    let attack = Attack::new(FILLED)
        .with("agent.timeout", "12s")
        .with("resources.memory", "64MB")
        .with("resources.disk", "16MB")
        .expect("files", json!({"type": "file_exists", "path": "**/*"}))
        .expect_command("runs", "true");
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_starved(&result);
}

/// Fails unless the scenario failed by a limit: where memory is short but not used up, the agent is slow until its time is
/// over, and which of the two comes first depends on the machine.
fn assert_starved(result: &ScenarioResult) {
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    let named = |fired: &Fired| matches!(fired.limit, Limit::Memory | Limit::AgentTimeout);
    assert!(result.limits.iter().any(named), "{:#?}", result.limits);
}

/// Makes names that take more memory to list than is left.
const NAMES: &str = r#"
import os
for number in range(200000):
    try:
        os.close(os.open("/workspace/" + ("%06d" % number).ljust(255, "x"), os.O_CREAT))
    except OSError:
        break
"#;

async fn names_that_fill_the_memory_are_a_limit_and_no_error(harness: &mut Harness) {
    let program = format!("{NAMES}{FILLED}");
    let attack = Attack::new(&program)
        .with("agent.timeout", "12s")
        .with("resources.memory", "64MB")
        .with("resources.disk", "32MB")
        .expect("files", json!({"type": "file_exists", "path": "**/*"}));
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_starved(&result);
}

/// Uses up processes, processor time, descriptors and watches, and never ends.
const EXHAUSTED: &str = r#"
import ctypes, os, resource, signal, time
libc = ctypes.CDLL(None)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2000), hard))
for number in range(200):
    libc.inotify_init()
try:
    while True:
        os.open("/", os.O_RDONLY)
except OSError:
    pass
while True:
    try:
        if os.fork() == 0:
            for number in range(1, 65):
                if number not in (9, 19, 32, 33):
                    signal.signal(number, signal.SIG_IGN)
            time.sleep(1)
            while True:
                pass
    except OSError:
        pass
"#;

async fn a_sandbox_that_is_used_up_still_ends_in_time(harness: &mut Harness) {
    let attack = Attack::new(EXHAUSTED)
        // Long enough to use everything up, also on a machine that is busy.
        .with("agent.timeout", "8s")
        .with("resources.pids", 200)
        .expect_command("alone", NOBODY_ELSE);
    let started = Instant::now();
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_limit(&result, Limit::AgentTimeout);
    assert_limit(&result, Limit::Pids);
    assert!(verdict(&result, "alone").is_passed(), "{result:#?}");
    assert!(evidence.agent.wall_ms < 15_000, "{}", evidence.agent.wall_ms);
    assert!(started.elapsed().as_secs() < 45, "{:?}", started.elapsed());
}
