//! Files that make looking at them long.

use scenario::result::RowStatus;
use scenario::verdict::Outcome;
use serde_json::json;
use tokio::time::Instant;

use super::{Attack, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    what_the_agent_left_does_not_silence_the_doorkeeper;
    also on local:
    what_the_agent_left_does_not_silence_the_doorkeeper,
}

/// Leaves links that go up and down in deep folders, chains and loops of links, folders that are deeper than a path is long,
/// pipes, sockets, files with holes, and many names.
const LEFT: &str = r#"
import os, socket
os.chdir("/workspace")
def deepen(name, depth):
    for number in range(depth):
        os.mkdir(name)
        os.chdir(name)
deepen("a", 700)
for number in range(2000):
    os.symlink("../a/" * 800 + str((number + 1) % 2000), str(number))
os.chdir("/workspace")
deepen("deep", 3000)
os.chdir("/workspace")
for number in range(50):
    os.symlink("chain%d" % (number + 1), "chain%d" % number)
os.symlink("loop", "loop")
os.symlink("a/" * 700 + "0", "wanders")
os.symlink("/proc/1/root/etc/passwd", "out")
os.mkfifo("pipe")
os.symlink("pipe", "to-pipe")
socket.socket(socket.AF_UNIX).bind("socket")
with open("holes", "wb") as file:
    os.truncate(file.fileno(), 1 << 40)
os.mkdir("many")
for number in range(5000):
    os.close(os.open("many/%d" % number, os.O_CREAT))
os.symlink("many/1", "good")
"#;

async fn what_the_agent_left_does_not_silence_the_doorkeeper(harness: &mut Harness) {
    let content = |path: &str| json!({"type": "file_content", "path": path, "pattern": "x"});
    let attack = Attack::new(LEFT)
        .expect("good", json!({"type": "file_exists", "path": "good"}))
        .expect("all", json!({"type": "file_exists", "path": "**/nowhere"}))
        .expect("wanders", content("wanders"))
        .expect("chain", content("chain0"))
        .expect("loop", content("loop"))
        .expect("out", content("out"))
        .expect("pipe", content("to-pipe"))
        .expect("holes", content("holes"))
        .expect("runs", json!({"type": "command_exit", "command": "true", "timeout": "30s"}))
        .expect("fresh", json!({"type": "command_exit", "command": "true", "timeout": "30s", "verify": "fresh"}));
    let started = Instant::now();
    // Evidence, and no error of ours.
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    for name in ["good", "runs"] {
        assert!(verdict(&result, name).is_passed(), "{name}: {result:#?}");
    }
    for name in ["all", "wanders", "chain", "loop", "out", "pipe", "fresh"] {
        assert_eq!(verdict(&result, name).outcome, Outcome::Failed, "{name}: {result:#?}");
    }
    assert!(started.elapsed().as_secs() < 100, "{:?}", started.elapsed());
}
