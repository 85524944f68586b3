//! Tests of everything that an agent can leave in place of files.

use engine::attempt::HostChecks;
use engine::bundle::BundleFolder;
use scenario::evidence::Limit;
use scenario::result::RowStatus;
use serde_json::json;
use tokio::time::Instant;

use super::{Attack, assert_harmless, assert_limit, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    nothing_outside_the_workspace_is_evidence,
    very_many_files_and_very_deep_folders_are_answered_in_time,
    a_full_workspace_is_the_limit_of_disk,
    writing_over_the_image_is_the_limit_of_disk,
    the_audit_log_is_written_through_no_link_and_cannot_be_forged,
    a_forbidden_write_does_not_hide_behind_allowed_ones,
    a_folder_for_scripts_that_is_gone_fails_their_check,
    scripts_run_from_where_the_agent_prepared_nothing,
    a_workspace_that_cannot_be_copied_out_fails_the_check_on_the_host;
    also on local:
    nothing_outside_the_workspace_is_evidence,
    very_many_files_and_very_deep_folders_are_answered_in_time,
    a_full_workspace_is_the_limit_of_disk,
    writing_over_the_image_is_the_limit_of_disk,
    the_audit_log_is_written_through_no_link_and_cannot_be_forged,
    a_forbidden_write_does_not_hide_behind_allowed_ones,
    a_folder_for_scripts_that_is_gone_fails_their_check,
    scripts_run_from_where_the_agent_prepared_nothing,
    a_workspace_that_cannot_be_copied_out_fails_the_check_on_the_host,
}

/// Leaves links out of the workspace, and what is no file, where files are expected.
const ODD: &str = r#"
import os, socket
os.chdir("/workspace")
os.symlink("/etc/passwd", "absolute")
os.symlink("../etc/passwd", "relative")
os.symlink("/proc/1/root/etc/passwd", "root")
os.symlink("/proc/self/environ", "environ")
os.symlink("/", "everything")
os.symlink("loop2", "loop1")
os.symlink("loop1", "loop2")
os.makedirs("a/b")
os.symlink("../../../etc", "a/b/etc")
os.symlink("/workspace/a/../plain", "inside")
open("plain", "w").write("root:x:0")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
os.mkdir("folder")
open("hidden", "w").write("root:x:0")
os.chmod("hidden", 0)
os.mkdir("closed")
open("closed/file", "w").write("root:x:0")
os.chmod("closed", 0)
os.truncate(os.open("sparse", os.O_CREAT | os.O_RDWR), 10 << 30)
try:
    os.link("/etc/passwd", "hard")
except OSError as error:
    print(error)
"#;

async fn nothing_outside_the_workspace_is_evidence(harness: &mut Harness) {
    let content = |path: &str| json!({"type": "file_content", "path": path, "contains": "root:x:0"});
    let outside = [
        "absolute",
        "relative",
        "root",
        "environ",
        "everything/etc/passwd",
        "loop1",
        "a/b/etc/passwd",
        "hard",
        "fifo",
        "socket",
        "folder",
        "sparse",
        "everything/proc/1/environ",
        "**/etc/passwd",
    ];
    let inside = ["inside", "hidden", "closed/file", "plain"];
    let mut attack = Attack::new(ODD);
    for path in outside.iter().chain(&inside) {
        attack = attack.expect(&format!("x{}", path.replace(['/', '*', '.'], "_")), content(path));
    }
    let started = Instant::now();
    let (result, _) = harness.run(&attack.yaml()).await;
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    for (index, invariant) in result.invariants.iter().enumerate() {
        assert_eq!(invariant.verdict.is_passed(), index >= outside.len(), "{invariant:#?}");
    }
}

/// Makes very many files, very deep folders, very long and very odd names.
const MANY: &str = r#"
import os
os.mkdir("/workspace/many")
for number in range(20000):
    os.close(os.open("/workspace/many/%d" % number, os.O_CREAT))
os.mkdir("/workspace/links")
open("/workspace/links/first", "w").close()
for number in range(20000):
    os.link("/workspace/links/first", "/workspace/links/%d" % number)
os.chdir("/workspace")
for name in [b"\xff\xfe", b"new\nline", b"\x1b[31m", b"x" * 255, b" ", b"-rf", b"..."]:
    os.close(os.open(name, os.O_CREAT))
for number in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
open("bottom", "w").close()
"#;

async fn very_many_files_and_very_deep_folders_are_answered_in_time(harness: &mut Harness) {
    let attack = Attack::new(MANY)
        .with("resources.memory", "512MB")
        .with("resources.disk", "256MB")
        .expect("glob", json!({"type": "file_exists", "path": "many/*9"}))
        .expect("odd", json!({"type": "file_exists", "path": "new*"}))
        .expect("all", json!({"type": "file_exists", "path": "**/bottom"}))
        .expect("fresh", json!({"type": "command_exit", "command": "true", "verify": "fresh"}));
    let started = Instant::now();
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    assert!(evidence.workspace.incomplete);
    assert!(verdict(&result, "glob").is_passed() && verdict(&result, "odd").is_passed(), "{result:#?}");
    assert!(!verdict(&result, "all").is_passed(), "{result:#?}");
    let fresh = verdict(&result, "fresh");
    assert!(!fresh.is_passed() && fresh.message.contains("cannot be copied"), "{fresh:#?}");
    assert_eq!(result.status, RowStatus::Fail);
}

/// Fills a folder with bytes, or with files until there are no more inodes.
fn fill(folder: &str, bytes: usize) -> Attack {
    let program = format!(
        "import os\nos.makedirs('{folder}', exist_ok=True)\nfor number in range(10**7):\n    with open('{folder}/%d' % number, 'wb') as file:\n        file.write(bytes({bytes}))\n"
    );
    Attack::new(&program).expect("x", json!({"type": "file_exists", "path": "."}))
}

async fn a_full_workspace_is_the_limit_of_disk(harness: &mut Harness) {
    for bytes in [1 << 20, 1] {
        let attack = fill("/workspace", bytes).with("resources.memory", "1GB").with("resources.disk", "16MB");
        let (result, _) = harness.run(&attack.yaml()).await;
        assert_limit(&result, Limit::Disk);
    }
}

async fn writing_over_the_image_is_the_limit_of_disk(harness: &mut Harness) {
    let attack = fill("/tmp/x/y", 1 << 24).with("resources.disk", "64MB");
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_limit(&result, Limit::Disk);
}

/// Writes a log of its own, and prevents that ours is written over it: through a link, or because something is in the way.
const FORGED_LOGS: [&str; 2] = [
    "import os, shutil\nshutil.rmtree('/workspace/.keystone')\nos.symlink('/etc', '/workspace/.keystone')\n",
    "import os\nos.makedirs('/workspace/.keystone/audit.jsonl.doorkeeper/x')\nopen('/workspace/.keystone/audit.jsonl', 'w').write('{}')\n",
];

async fn the_audit_log_is_written_through_no_link_and_cannot_be_forged(harness: &mut Harness) {
    for program in FORGED_LOGS {
        let attack = Attack::new(program)
            .with("audit", json!({"file_writes": true}))
            .expect_command("untouched", "test ! -e /etc/audit.jsonl");
        let (result, _) = harness.run(&attack.yaml()).await;
        assert!(verdict(&result, "untouched").is_passed(), "{result:#?}");
        assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
        assert!(result.offences.iter().any(|offence| offence.contains("audit log")), "{:?}", result.offences);
    }
}

/// Hides a forbidden write behind more others than the audit keeps.
const HIDDEN_WRITE: &str = "import os\nos.mkdir('/workspace/allowed')\nfor number in range(3000):\n    open('/workspace/allowed/%d' % number, 'w').close()\nopen('/workspace/zzz', 'w').close()\n";

async fn a_forbidden_write_does_not_hide_behind_allowed_ones(harness: &mut Harness) {
    let attack = Attack::new(HIDDEN_WRITE)
        .with("forbidden", json!({"file_writes_outside": ["allowed"]}))
        .expect("x", json!({"type": "file_exists", "path": "."}));
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(result.forbidden[0].details.contains("added zzz"), "{:?}", result.forbidden);
}

/// A script that passes whenever it runs.
fn bundle(harness: &mut Harness) {
    let folder = harness.folder.path().join("bundle");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("check.sh"), "echo '{\"passed\": true}'\n").expect("a script");
    harness.bundle = BundleFolder::at(folder);
}

async fn a_folder_for_scripts_that_is_gone_fails_their_check(harness: &mut Harness) {
    bundle(harness);
    let program = "import os, shutil\nshutil.rmtree('/tmp')\nopen('/tmp', 'w').close()\n";
    let attack =
        Attack::new(program).expect("script", json!({"type": "custom", "script": "check.sh", "runs_in": "sandbox"}));
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(verdict(&result, "script").message.contains("no place"), "{result:#?}");
}

/// Prepares names that a script's folder could have, and links from them to programs.
const PREPARED: &str = "import os\nfor name in ['touchstone-check-', 'touchstone-check-0', 'check.sh', 'touchstone-check-*']:\n    os.symlink('/bin', '/tmp/' + name)\nos.chmod('/tmp', 0o000)\nos.chmod('/workspace', 0o000)\n";

async fn scripts_run_from_where_the_agent_prepared_nothing(harness: &mut Harness) {
    bundle(harness);
    let attack =
        Attack::new(PREPARED).expect("script", json!({"type": "custom", "script": "check.sh", "runs_in": "sandbox"}));
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_harmless(&result);
}

/// A file that is far larger than the disk, and a path that is longer than the host takes.
const UNCOPYABLE: [&str; 2] = [
    "import os\nos.truncate(os.open('/workspace/sparse', os.O_CREAT | os.O_RDWR), 1 << 40)\n",
    "import os\nos.chdir('/workspace')\nfor number in range(15):\n    os.mkdir('x' * 255)\n    os.chdir('x' * 255)\nopen('y' * 255, 'w').close()\n",
];

async fn a_workspace_that_cannot_be_copied_out_fails_the_check_on_the_host(harness: &mut Harness) {
    bundle(harness);
    let confine = ["sh", "-c", "shift 2; exec \"$@\"", "confine"].map(ToOwned::to_owned).to_vec();
    harness.permissions.host_checks = Some(HostChecks { confine });
    for program in UNCOPYABLE {
        let attack = Attack::new(program).expect("script", json!({"type": "custom", "script": "check.sh"}));
        let started = Instant::now();
        let (result, _) = harness.run(&attack.yaml()).await;
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
        assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
        assert!(verdict(&result, "script").message.contains("cannot be copied"), "{result:#?}");
    }
    let attack = Attack::new("").expect("script", json!({"type": "custom", "script": "check.sh"}));
    assert_harmless(&harness.run(&attack.yaml()).await.0);
}
