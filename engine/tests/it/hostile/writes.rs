//! Writes that shall not be seen.

use engine::error::EngineError;
use scenario::result::RowStatus;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Attack, assert_harmless, report, verdict};
use crate::conformance::{suite, suite_on};
use crate::harness::Harness;

suite! {
    a_write_is_seen_however_it_was_done,
    what_cannot_be_compared_fails_what_depends_on_it,
    many_honest_writes_in_the_image_are_none_in_the_workspace;
    also on local:
    a_write_is_seen_however_it_was_done,
    what_cannot_be_compared_fails_what_depends_on_it,
    many_honest_writes_in_the_image_are_none_in_the_workspace,
}

suite_on! {
    engine_alone:
    a_write_is_seen_however_it_was_done,
    what_cannot_be_compared_fails_what_depends_on_it,
    a_changed_file_does_not_hide_among_those_of_setup,
}

/// Changes one file in each way that leaves as few traces as possible, in the workspace and in the image, and prints in which
/// of them neither the time of the last modification nor that of the last change tells. Files that it only looks at stay as
/// they are.
const UNSEEN: &str = r#"
import ctypes, json, mmap, os, signal, sys

def mapped(path, protection=mmap.PROT_READ | mmap.PROT_WRITE):
    descriptor = os.open(path, os.O_RDWR if protection & mmap.PROT_WRITE else os.O_RDONLY)
    memory = mmap.mmap(descriptor, 0, mmap.MAP_SHARED, protection)
    os.close(descriptor)
    memory[0], memory[4096]
    return memory

def store(path):
    memory = mapped(path)
    memory[0] = 66
    memory.close()

def store_and_be_killed(path):
    child = os.fork()
    if child == 0:
        mapped(path)[8191] = 66
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)

def store_through_another_name(path):
    memory = mapped("/proc/self/root" + path)
    memory[4096] = 66

def set_back(path):
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"B")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

def replace(path):
    before = os.stat(path)
    with open(path + "~", "wb") as file:
        file.write(b"B" * before.st_size)
    os.utime(path + "~", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.rename(path + "~", path)

def make_again(path):
    before = os.stat(path)
    os.remove(path)
    with open(path, "wb") as file:
        file.write(b"B" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

def punch(path):
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDWR)
    if libc.fallocate(descriptor, 3, ctypes.c_long(0), ctypes.c_long(4096)) != 0:
        os.pwrite(descriptor, bytes(4096), 0)
    os.close(descriptor)

def link(path):
    os.link(path, path + "~")
    store(path + "~")
    os.remove(path + "~")

def only_look(path):
    mapped(path, mmap.PROT_READ)
    mapped(path)
    with open(path, "r+b") as file:
        file.read()

ways = [store, store_and_be_killed, store_through_another_name, set_back, replace, make_again, punch, link, only_look]
silent = []
for folder in ["/workspace", "/opt/image"]:
    for way in ways:
        path = folder + "/" + way.__name__
        times = lambda: (os.stat(path).st_mtime_ns, os.stat(path).st_ctime_ns, os.stat(path).st_ino)
        before = times()
        way(path)
        if times() == before and way is not only_look:
            silent.append(path)
print(json.dumps(silent))
"#;

/// The ways that write.
const WAYS: [&str; 8] = [
    "link",
    "make_again",
    "punch",
    "replace",
    "set_back",
    "store",
    "store_and_be_killed",
    "store_through_another_name",
];

/// Makes a file for each way.
fn unseen() -> Attack {
    let names = WAYS.join(" ");
    let make = format!(
        "mkdir -p /opt/image && for folder in /workspace /opt/image; do for name in {names} only_look untouched; do head -c 8192 /dev/zero | tr '\\0' A > $folder/$name; done; done"
    );
    Attack::new(UNSEEN).with("setup.commands", json!([make]))
}

async fn a_write_is_seen_however_it_was_done(harness: &mut Harness) {
    let attack = unseen()
        .with("forbidden", json!({"file_writes_outside": ["allowed"]}))
        .expect_command("in_image", "true")
        .expect("fresh", json!({"type": "command_exit", "command": "true", "verify": "fresh"}));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    let silent = report(&evidence);
    let is_silent = |path: &str| silent.as_array().expect("a list").iter().any(|one| one == path);
    assert!(is_silent("/workspace/store"), "the times of this file system tell everything: {silent}");
    assert_eq!(evidence.workspace.modified, WAYS, "{evidence:#?}");
    assert!(evidence.workspace.added.is_empty() && evidence.workspace.removed.is_empty(), "{:?}", evidence.workspace);
    assert!(!evidence.workspace.incomplete);
    let rule = &result.forbidden[0];
    assert!(rule.violated && WAYS.iter().all(|way| rule.details.contains(&format!("modified {way} "))), "{rule:?}");
    let in_image = WAYS.map(|way| format!("/opt/image/{way}"));
    assert_eq!(evidence.image_changes, in_image, "{silent}");
    assert_eq!(evidence.image_unseen, None);
    assert_eq!(verdict(&result, "in_image").details["image_note"], "ran on a modified image");
    assert!(verdict(&result, "fresh").details.get("image_note").is_none());
}

/// Files that claim to be larger than anything that is read.
const LARGE: &str = "truncate -s 3G /workspace/large /opt/large";

async fn what_cannot_be_compared_fails_what_depends_on_it(harness: &mut Harness) {
    let attack = Attack::new("open('/workspace/x', 'w').close()\n")
        .with("setup.commands", json!([LARGE]))
        .expect_command("in_image", "true")
        .expect("fresh", json!({"type": "command_exit", "command": "rm -f large", "verify": "fresh"}));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert!(evidence.workspace.incomplete, "{:?}", evidence.workspace);
    // Where the engine keeps layers on a disk, times tell all.
    let is_known = evidence.image_unseen.is_none();
    assert!(!is_known || harness.backend.record().name == "docker", "{evidence:#?}");
    let in_image = verdict(&result, "in_image");
    assert_eq!(in_image.is_passed(), is_known, "{in_image:#?}");
    assert!(is_known || in_image.message.contains("too much to compare"), "{in_image:#?}");
    assert!(verdict(&result, "fresh").is_passed(), "{result:#?}");
    assert!(result.offences.is_empty(), "{result:#?}");
    // A rule over writes cannot be judged, and the agent is not to blame for what was there before it.
    let ruled = attack.with("forbidden", json!({"file_writes_outside": ["x"]}));
    match harness.try_run(&ruled.yaml(), &CancellationToken::new()).await {
        Err(EngineError::WrongSpec { place, reason }) => {
            assert!(place == "forbidden.file_writes_outside" && reason.contains("compared"), "{place}: {reason}");
        }
        other => panic!("{other:?}"),
    }
}

/// Writes where it may, more files over the image than are listed, and what `git status` writes.
const HONEST: &str = r#"
import os
os.mkdir("/workspace/allowed")
open("/workspace/allowed/x", "w").close()
os.makedirs("/opt/extra")
for number in range(300):
    open("/opt/extra/%d" % number, "w").close()
open("/workspace/.git/index", "w").write("renewed")
"#;

async fn many_honest_writes_in_the_image_are_none_in_the_workspace(harness: &mut Harness) {
    let attack = Attack::new(HONEST)
        .with("setup.commands", json!(["mkdir .git && echo old > .git/index"]))
        .with("forbidden", json!({"file_writes_outside": {"paths": ["allowed/"], "except": [".git/index"]}}))
        .expect_command("x", "test -e allowed/x");
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_harmless(&result);
    assert_eq!((evidence.image_changes.len(), evidence.more_image_changes), (200, 100));
    assert_eq!(verdict(&result, "x").details["more_image_changes"], 100);
    let strict = attack.with("forbidden", json!({"file_writes_outside": ["allowed/"]}));
    let (result, _) = harness.run(&strict.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail);
    assert_eq!(result.forbidden[0].details, "modified .git/index (1 time)");
}

/// Changes the last of many files, in three ways.
const LAST: &str = "import os\nopen('/opt/many/2498', 'w').write('x')\nos.chmod('/opt/many/2499', 0o755)\nos.remove('/opt/many/2500')\n";

async fn a_changed_file_does_not_hide_among_those_of_setup(harness: &mut Harness) {
    let make = "mkdir -p /opt/many && cd /opt/many && seq 2500 | xargs touch";
    let attack = Attack::new(LAST).with("setup.commands", json!([make])).expect_command("x", "true");
    let (_, evidence) = harness.run(&attack.yaml()).await;
    assert_eq!(evidence.image_changes, ["/opt/many/2498", "/opt/many/2499", "/opt/many/2500"]);
    assert_eq!(evidence.image_unseen, None);
}
