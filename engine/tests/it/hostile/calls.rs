//! System calls that lead out of a sandbox, or that take something from all others on the machine.

use serde_json::json;

use super::{Attack, PROGRAM, assert_harmless, report};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    what_is_not_allowed_is_not_there_whatever_runs,
    what_the_kernel_counts_for_a_user_is_not_all_taken;
    also on local:
    what_is_not_allowed_is_not_there_whatever_runs,
    what_the_kernel_counts_for_a_user_is_not_all_taken,
}

/// Tries calls and families of sockets in many ways. It prints what it got, and fails when it got anything.
const CALLS: &str = r#"
import ctypes, errno, json, mmap, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
report = {}
def call(number, *arguments):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument) for argument in arguments])
def attempt(name, number, *arguments, answers):
    got = call(number, *arguments)
    if got != -1 or ctypes.get_errno() not in answers:
        report[name] = "%d %s" % (got, errno.errorcode.get(ctypes.get_errno()))
def in_child(name, work):
    child = os.fork()
    if child == 0:
        os._exit(1 if work() else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # Where the kernel has no such interface at all, it is another signal.
    if code not in (0, -signal.SIGSYS, -signal.SIGSEGV):
        report[name] = "exit %d" % code
# All families but those that programs need; and with bits that the kernel does not look at.
for family in list(range(0, 64)) + [255, 65576]:
    if family not in (1, 2, 10, 16):
        for high in (0, 1 << 32, -1 << 32):
            for kind in (1, 2, 3, 5):
                attempt("socket %d" % family, 41, family | high, kind, 0, answers=[errno.EAFNOSUPPORT])
            attempt("socketpair %d" % family, 53, family | high, 1, 0, 0, answers=[errno.EAFNOSUPPORT])
# The same calls through x32.
for number in (39, 41, 53, 425, 206, 272, 165, 321):
    in_child("x32 %d" % number, lambda: call(0x40000000 | number, 40, 1, 0, 0, 0, 0) >= 0)
# And through the interface of 32 bits, where one call makes all sockets.
def of_32_bits(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)() >= 0
in_child("32 bits getpid", lambda: of_32_bits(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"))
in_child("32 bits socket", lambda: of_32_bits(
    b"\x53\xb8\x67\x01\x00\x00\xbb\x28\x00\x00\x00\xb9\x01\x00\x00\x00\x31\xd2\xcd\x80\x5b\xc3"))
# Queues of requests, asynchronous I/O, namespaces, and calls that no kernel has yet.
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
attempt("io_uring_setup", 425, 4, address, answers=[errno.EPERM])
attempt("io_uring_enter", 426, 0, 1, 0, 0, 0, 0, answers=[errno.EPERM])
attempt("io_uring_register", 427, 0, 0, 0, 0, answers=[errno.EPERM])
for events in (1, 65536):
    attempt("io_setup %d" % events, 206, events, address, answers=[errno.ENOSYS])
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000):
    in_child("clone %x" % flag, lambda: call(56, flag | 17, 0, 0, 0, 0) >= 0)
    attempt("unshare %x" % flag, 272, flag, answers=[errno.EPERM])
attempt("clone3", 435, address, 88, answers=[errno.ENOSYS])
attempt("open_tree_attr", 467, 0, 0, answers=[errno.ENOSYS, errno.EPERM])
attempt("unknown", 4711, answers=[errno.ENOSYS, errno.EPERM])
# What programs need is there.
for family, kind in ((1, 1), (2, 1), (2, 2), (10, 1), (16, 3)):
    try:
        socket.socket(family, kind).close()
    except OSError as error:
        report["needed %d" % family] = str(error)
[one.close() for one in socket.socketpair()]
socket.getaddrinfo("localhost", 80)
print(json.dumps(report))
sys.exit(1 if report else 0)
"#;

async fn what_is_not_allowed_is_not_there_whatever_runs(harness: &mut Harness) {
    let line = format!("python3 {PROGRAM}");
    // While setting up, as the agent, and as a check.
    let fresh = json!({"type": "command_exit", "command": "python3 attack.py", "timeout": "60s", "verify": "fresh"});
    let attack = Attack::new(CALLS)
        .with("setup.commands", json!([line]))
        .with("agent.command", format!("cp {PROGRAM} attack.py; {line}"))
        .expect_command("checked", &line)
        .expect("fresh", fresh);
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_eq!(report(&evidence), json!({}));
    assert_harmless(&result);
}

/// Takes what it can of what is counted for all processes of a user, or of the machine.
const COUNTED: &str = r#"
import ctypes, json, mmap, os, resource
libc = ctypes.CDLL(None, use_errno=True)
page = mmap.mmap(-1, 4096)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
def count(take, most):
    number = 0
    while number < most and take() >= 0:
        number += 1
    return number
def read(path):
    return int(open(path).read())
print(json.dumps({
    "aio": count(lambda: libc.syscall(206, 1024, address), 1),
    "instances": count(lambda: libc.inotify_init(), int(os.environ["MOST"])),
    "all instances": read("/proc/sys/fs/inotify/max_user_instances"),
    "signals": resource.getrlimit(resource.RLIMIT_SIGPENDING)[1],
    "queues": resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1],
}))
"#;

async fn what_the_kernel_counts_for_a_user_is_not_all_taken(harness: &mut Harness) {
    // A container is in the user namespace of its engine, whose root it shares; docs/sandboxes.md says what that means. So it
    // takes a few only, and not what the machine needs.
    let is_shared = harness.backend.record().name == "docker";
    let most = if is_shared { "4" } else { "100000" };
    let attack = Attack::new(COUNTED).with("agent.env", json!({"MOST": most})).expect_command("runs", "true");
    let (result, evidence) = harness.run(&attack.yaml()).await;
    let report = report(&evidence);
    let number = |name: &str| report[name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"));
    assert_eq!(number("aio"), 0, "one number for the whole machine");
    let own = rustix::process::getrlimit(rustix::process::Resource::Sigpending).current.unwrap_or(u64::MAX);
    assert!(number("signals") <= (own / 4).max(1024), "{report} of {own}");
    assert!(number("queues") <= 409_600, "{report}");
    assert!(number("instances") > 0, "programs that watch files work: {report}");
    if !is_shared {
        assert!(number("instances") <= number("all instances") / 2, "{report}");
    }
    assert_harmless(&result);
}
