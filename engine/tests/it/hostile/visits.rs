//! Programs that the agent left, waiting for a person who looks into its sandbox.

use engine::attempt::Keep;
use engine::backend::Reach;
use engine::door::{Command, CommandEvent, DoorError, Status, WindowSize};
use engine::kept::{Visit, VisitError};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::Attack;
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    a_visitor_is_behind_the_walls_that_the_agent_had,
    what_a_visitor_started_is_gone_when_the_next_one_comes;
    also on local:
    a_visitor_is_behind_the_walls_that_the_agent_had,
    what_a_visitor_started_is_gone_when_the_next_one_comes,
}

/// Program that the agent leaves in place of programs that a person uses. It reports what it can do.
const TRAP: &str = r#"
import ctypes, errno, fcntl, json, os, socket, stat, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
def outcome(work):
    try:
        return "ok" if work() is None else "got"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
def call(number, *arguments):
    if libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines() if ":" in line)
terminals = [number for number in range(256) if outcome(lambda: fcntl.fcntl(number, fcntl.F_GETFD)) != "EBADF" and os.isatty(number)]
own = os.stat("/dev/pts/ptmx").st_dev if os.path.exists("/dev/pts/ptmx") else None
report = {
    "user": os.getuid(),
    "capabilities": [status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")],
    "no new privileges": status["NoNewPrivs"].strip(),
    "seccomp": status["Seccomp"].strip(),
    "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)),
    "terminals": terminals,
    "foreign terminals": [number for number in terminals if os.fstat(number).st_dev != own],
    "environment": sorted(os.environ),
    "folder": os.getcwd(),
    "unshare": outcome(lambda: call(272, 0x10000000)),
    "mount": outcome(lambda: call(165, b"none", b"/mnt", b"tmpfs", 0, 0)),
    "setns": outcome(lambda: call(308, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)),
    "vsock": outcome(lambda: socket.socket(40, 1)),
    "kill": outcome(lambda: os.kill(1, 9)),
    "trace": outcome(lambda: call(101, 16, 1, 0, 0)),
    "door": outcome(lambda: socket.socket(socket.AF_UNIX).connect("/.touchstone/door/socket")),
    "parent": os.getppid(),
}
for number in terminals:
    for letter in "touch /tmp/typed\n":
        outcome(lambda: fcntl.ioctl(number, termios.TIOCSTI, letter.encode()) and None)
print("REPORT" + json.dumps(report))
"#;

/// Keeps the sandbox of an agent that leaves a program; its name.
async fn keep(harness: &Harness, program: &str) -> String {
    let text = serde_json::to_string(program).expect("a text");
    let attack = Attack::new(&format!("open('/workspace/trap.py', 'w').write({text})")).expect_command("runs", "true");
    let kept = harness.try_keep(&attack.yaml(), Keep::Always, &CancellationToken::new()).await.expect("evidence");
    kept.1.world.sandbox
}

async fn sweep(harness: &Harness) {
    let swept = harness.backend.sweep(Reach::GoneAndKept).await.expect("swept");
    assert_eq!(swept.kept, 0, "{swept:?}");
}

/// Returns the whole output of a command, and its exit.
async fn finish(mut command: Command) -> (String, Status) {
    let mut printed = Vec::new();
    loop {
        match command.next().await.expect("the sandbox lives") {
            CommandEvent::Output(_, bytes) => printed.extend(bytes),
            CommandEvent::Exited(exited) => return (String::from_utf8_lossy(&printed).into_owned(), exited.status),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

async fn spring(visit: &Visit, with_terminal: bool) -> Json {
    let size = WindowSize { rows: 24, columns: 80 };
    let terminal = with_terminal.then_some((size, "xterm"));
    let command = visit.start(&words(&["python3", "/workspace/trap.py"]), terminal).await.expect("started");
    if !with_terminal {
        command.input().write(Vec::new()).await.expect("the end of its input");
    }
    let (printed, status) = finish(command).await;
    assert_eq!(status, Status::Code(0), "{printed}");
    let report = printed.split("REPORT").nth(1).unwrap_or_else(|| panic!("{printed}"));
    serde_json::from_str(report.lines().next().unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

async fn a_visitor_is_behind_the_walls_that_the_agent_had(harness: &mut Harness) {
    let name = keep(harness, TRAP).await;
    let visit = Visit::begin(&harness.data_dir, &name).await.expect("a visit");
    for with_terminal in [false, true] {
        let report = spring(&visit, with_terminal).await;
        let none = "0000000000000000";
        assert_eq!(report["capabilities"], json!([none, none, none, none]), "{report}");
        assert_eq!((&report["no new privileges"], &report["seccomp"]), (&json!("1"), &json!("2")), "{report}");
        assert_eq!((&report["user"], &report["folder"]), (&json!(0), &json!("/workspace")), "{report}");
        for attempt in ["unshare", "mount", "setns", "vsock", "kill", "trace", "door"] {
            assert!(!["ok", "got"].contains(&report[attempt].as_str().unwrap_or("ok")), "{attempt}: {report}");
        }
        assert_eq!(report["parent"], json!(1), "nothing of ours is between it and the doorkeeper: {report}");
        let all = report["descriptors"].as_array().expect("a list");
        assert_eq!(all[..3], [json!(0), json!(1), json!(2)], "{report}");
        assert!(all.len() <= 4, "only what it opened itself: {report}");
        let terminals = if with_terminal { json!([0, 1, 2]) } else { json!([]) };
        assert_eq!((&report["terminals"], &report["foreign terminals"]), (&terminals, &json!([])), "{report}");
        let variables = report["environment"].to_string();
        for own in ["CARGO", "NEXTEST", "TOUCHSTONE_DATA_DIR", "TOUCHSTONE_REQUIRE_TOOLS", "TMPDIR"] {
            assert!(!variables.contains(own), "{own}: {report}");
        }
    }
    // What a program types into its own terminal is typed inside.
    let shell = visit.start(&words(&["sh", "-c", "test -e /tmp/typed"]), None).await.expect("started");
    let (_, status) = finish(shell).await;
    assert_eq!(status, Status::Code(1), "nobody read it");
    let missing = visit.start(&words(&["no-such-program"]), None).await.expect_err("it is not there");
    assert!(matches!(missing, DoorError::Failed(_)), "{missing:?}");
    drop(visit);
    sweep(harness).await;
}

async fn what_a_visitor_started_is_gone_when_the_next_one_comes(harness: &mut Harness) {
    // It tries to be there first, when somebody listens for the doorkeeper.
    let impostor = "import os, signal, socket, time\nfor number in range(1, 65):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nprint('there', flush=True)\nif os.fork() == 0:\n    os.setsid()\n    while True:\n        try:\n            socket.socket(socket.AF_UNIX).connect('/.touchstone/door/socket')\n        except OSError:\n            pass\nwhile True:\n    time.sleep(1)\n";
    let name = keep(harness, impostor).await;
    let visit = Visit::begin(&harness.data_dir, &name).await.expect("a visit");
    let mut command = visit.start(&words(&["python3", "/workspace/trap.py"]), None).await.expect("started");
    assert!(matches!(command.next().await.expect("output"), CommandEvent::Output(..)));
    let occupied = Visit::begin(&harness.data_dir, &name).await.expect_err("one at a time");
    assert!(matches!(occupied, VisitError::Occupied(_)), "{occupied:?}");
    drop((command, visit));
    let again = Visit::begin(&harness.data_dir, &name).await.expect("another visit");
    let look =
        "import os; print(sorted(p for p in os.listdir('/proc') if p.isdigit() and p not in ('1', str(os.getpid()))))";
    let command = again.start(&words(&["python3", "-c", look]), None).await.expect("started");
    assert_eq!(finish(command).await, ("[]\n".to_owned(), Status::Code(0)));
    drop(again);
    let nowhere = Visit::begin(&harness.data_dir, "ts-nowhere").await.expect_err("not kept");
    assert!(nowhere.to_string().contains(&name), "{nowhere}");
    sweep(harness).await;
}
