//! Processes that do not want to go.

use scenario::evidence::{Exit, Limit};
use serde_json::json;

use super::{Attack, NOBODY_ELSE, assert_harmless, assert_limit, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    nobody_is_left_when_anything_is_looked_at,
    killing_everybody_does_not_reach_the_doorkeeper,
    a_fork_bomb_is_the_limit_of_processes,
    a_memory_bomb_is_the_limit_of_memory;
    also on local:
    nobody_is_left_when_anything_is_looked_at,
    killing_everybody_does_not_reach_the_doorkeeper;
    on local as root:
    a_fork_bomb_is_the_limit_of_processes,
    a_memory_bomb_is_the_limit_of_memory,
}

/// Leaves processes of every kind, all with its standard output, and ends.
const LEFT_BEHIND: &str = r#"
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
def leave(work):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            work()
            while True:
                signal.pause()
        os._exit(0)
def deaf():
    for number in range(1, 65):
        if number not in (9, 19, 32, 33):
            signal.signal(number, signal.SIG_IGN)
def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)
def zombies():
    for number in range(5):
        if os.fork() == 0:
            os._exit(0)
def holding():
    os.chdir("/workspace")
    holding.file = open("/workspace/held", "w")
    while True:
        holding.file.write("still here\n")
        holding.file.flush()
        time.sleep(0.01)
def talking():
    while True:
        os.write(1, b"still talking\n")
        time.sleep(0.001)
def traced():
    child = os.fork()
    if child == 0:
        libc.ptrace(0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
def vforked():
    # The parent waits in the kernel until the child is done, and the child never is.
    if libc.syscall(58) == 0:
        while True:
            pass
for work in [deaf, stopped, zombies, holding, talking, traced, vforked]:
    leave(work)
os.kill(-1, signal.SIGWINCH)
while not os.path.exists("/workspace/held"):
    time.sleep(0.01)
print("done", flush=True)
"#;

async fn nobody_is_left_when_anything_is_looked_at(harness: &mut Harness) {
    let attack = Attack::new(LEFT_BEHIND)
        .expect_command("alone", NOBODY_ELSE)
        .expect_command("still", "before=$(wc -c < held); sleep 0.2; test \"$before\" = \"$(wc -c < held)\"");
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert!(evidence.agent.wall_ms < 8_000, "its end waits for nobody: {}", evidence.agent.wall_ms);
    assert_eq!(evidence.agent.exit, Some(Exit::Code(0)));
    assert!(evidence.agent.stdout.text().contains("done"));
    assert_harmless(&result);
}

/// Kills everybody that it can, again and again, with children that do the same.
const KILLING: &str = r#"
import os
for round in range(20):
    os.fork()
    try:
        os.kill(-1, 9)
    except OSError:
        pass
"#;

async fn killing_everybody_does_not_reach_the_doorkeeper(harness: &mut Harness) {
    let (result, _) = harness.run(&Attack::new(KILLING).expect_command("alone", NOBODY_ELSE).yaml()).await;
    assert!(verdict(&result, "alone").is_passed(), "{result:#?}");
}

/// Forks as fast as it can, in sessions of their own, and ends as soon as nothing more can be forked.
const BOMB: &str = r#"
import os
def bomb():
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            pass
for number in range(200):
    try:
        if os.fork() == 0:
            bomb()
    except OSError:
        break
"#;

async fn a_fork_bomb_is_the_limit_of_processes(harness: &mut Harness) {
    let attack = Attack::new(BOMB).with("agent.timeout", "10s").expect_command("alone", NOBODY_ELSE);
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_limit(&result, Limit::Pids);
    assert!(verdict(&result, "alone").is_passed(), "{result:#?}");
}

/// Takes more memory than there is, in the process itself and in a child.
const MEMORY: &str = "import os\nos.fork()\nx = []\nwhile True:\n    x.append(bytearray(os.urandom(1) * (1 << 20)))\n";

async fn a_memory_bomb_is_the_limit_of_memory(harness: &mut Harness) {
    let attack = Attack::new(MEMORY).expect("x", json!({"type": "file_exists", "path": "."}));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_limit(&result, Limit::Memory);
    assert_eq!(evidence.agent.exit.map(Exit::shell_code), Some(137));
}
