//! Checks in a new sandbox that takes over more than the workspace, from an agent that wants to get further than that.

use scenario::result::RowStatus;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Attack, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

suite! {
    a_new_sandbox_has_the_declared_paths_as_the_agent_left_them_and_nothing_else,
    a_path_that_cannot_be_taken_over_is_the_agents_failure_or_the_specs_mistake;
    also on local:
    a_new_sandbox_has_the_declared_paths_as_the_agent_left_them_and_nothing_else,
    a_path_that_cannot_be_taken_over_is_the_agents_failure_or_the_specs_mistake,
}

/// Program that works in declared paths, and prepares programs, links and folders that lead from there to others.
const MORE_THAN_DECLARED: &str = r##"
import os
os.makedirs("/case/data/sub")
open("/case/data/sub/new", "w").write("work")
open("/case/data/large", "w").write("x" * 200000)
os.chmod("/case/data/large", 0o444)
os.link("/case/data/large", "/case/data/again")
os.chmod("/case/data/sub", 0o711)
os.mkfifo("/case/data/fifo")
os.symlink("/usr/local/bin", "/case/data/bin")
os.symlink("../../etc", "/case/data/etc")
# A step above a declared path leads somewhere else.
os.rename("/case/moved", "/case/gone")
os.symlink("/opt/target", "/case/moved")
os.makedirs("/opt/target/inner")
open("/opt/target/inner/x", "w").write("work")
# What is part of the image: changed, removed, and something else than before.
open("/etc/login.defs", "a").write("# work\n")
os.remove("/etc/issue")
os.remove("/etc/inputrc")
os.mkdir("/etc/inputrc")
open("/etc/inputrc/x", "w").write("work")
# What must stay here; not everybody may write there.
open("/opt/undeclared", "w").close()
try:
    open("/usr/local/bin/cheat", "w").write("#!/bin/sh\nexit 0\n")
    os.chmod("/usr/local/bin/cheat", 0o755)
except PermissionError:
    pass
"##;

/// Checks that pass where the paths were declared.
const DECLARED: &str = r#"set -ex
test "$(cat /case/data/sub/new)" = work
test "$(stat -c '%a %s' /case/data/large)" = '444 200000'
cmp /case/data/large /case/data/again
test "$(stat -c %a /case/data/sub)" = 711
test "$(readlink /case/data/bin)" = /usr/local/bin
test "$(cat /case/moved/inner/x)" = work
test ! -L /case/moved
tail -n 1 /etc/login.defs | grep -q work
test ! -e /etc/issue
test "$(cat /etc/inputrc/x)" = work
grep -q localhost /etc/hosts
"#;

/// Checks that pass everywhere else.
const UNDECLARED: &str =
    "set -ex\ntest ! -e /usr/local/bin/cheat\ntest ! -e /opt/undeclared\ntest ! -e /opt/target\ntest ! -e /case/gone\n";

async fn a_new_sandbox_has_the_declared_paths_as_the_agent_left_them_and_nothing_else(harness: &mut Harness) {
    let command = |command: &str, verify: serde_json::Value| json!({"type": "command_exit", "command": command, "verify": verify});
    let both = format!("{DECLARED}{UNDECLARED}");
    let attack = Attack::new(MORE_THAN_DECLARED)
        .with("setup.commands", json!(["mkdir -p /case/moved/inner"]))
        .expect("declared", command(&both, json!({"fresh": ["/case/data", "/case/moved/inner", "/etc/"]})))
        .expect("none", command(&format!("{UNDECLARED}test ! -e /case; test -f /etc/inputrc"), json!("fresh")))
        .expect("left", command(DECLARED, json!("sandbox")));
    let (result, _) = harness.run(&attack.yaml()).await;
    for name in ["declared", "none"] {
        assert!(verdict(&result, name).is_passed(), "{:#?}", verdict(&result, name));
        assert!(verdict(&result, name).details.get("image_note").is_none());
    }
    // Where the agent was, a step leads through its link.
    assert!(!verdict(&result, "left").is_passed(), "{result:#?}");
}

/// Leaves more in a declared path than is taken over.
const TOO_MUCH: &str = "import os\nos.makedirs('/case/data')\nos.truncate(os.open('/case/data/sparse', os.O_CREAT | os.O_RDWR), 1 << 30)\n";

async fn a_path_that_cannot_be_taken_over_is_the_agents_failure_or_the_specs_mistake(harness: &mut Harness) {
    let check = |path: &str| json!({"type": "command_exit", "command": "true", "verify": {"fresh": [path]}});
    let attack =
        Attack::new(TOO_MUCH).expect("too_much", check("/case/data")).expect("absent", check("/nowhere/at/all"));
    let (result, _) = harness.run(&attack.yaml()).await;
    assert_eq!(result.status, RowStatus::Fail);
    let too_much = verdict(&result, "too_much");
    assert!(!too_much.is_passed() && too_much.message.contains("cannot be copied"), "{too_much:#?}");
    assert!(verdict(&result, "absent").is_passed(), "{result:#?}");
    // In the image itself, `/bin` is a link.
    let attack = Attack::new("").expect("x", check("/bin/nothing"));
    match harness.try_run(&attack.yaml(), &CancellationToken::new()).await {
        Err(error) => assert!(error.to_string().contains("is a link in the image"), "{error}"),
        other => panic!("{other:?}"),
    }
    harness.assert_nothing_is_left();
}
