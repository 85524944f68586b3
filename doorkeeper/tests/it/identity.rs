use doorkeeper::protocol::{DOORKEEPER_UID, Spawn};

use super::sandbox::{Sandbox, command, script};

/// The lines of a status file with the user, groups and capabilities of a process.
const WHO: &str = "grep -E '^(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs):' /proc/self/status | tr -s ' \\t' ' '";

#[test]
fn the_doorkeeper_has_a_user_of_its_own_and_four_capabilities() {
    let Some(sandbox) = Sandbox::new() else { return };
    let status = std::fs::read_to_string(format!("/proc/{}/status", sandbox.outer_pid())).unwrap();
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!(line("Uid:"), "65532\t65532\t65532\t65532");
    assert_eq!(line("Gid:"), "65532\t65532\t65532\t65532");
    assert_eq!(line("Groups:"), "");
    // DAC_OVERRIDE is bit 1, KILL 5, SETGID 6, SETUID 7.
    for set in ["CapPrm:", "CapEff:", "CapBnd:"] {
        assert_eq!(line(set), "00000000000000e2", "{set}");
    }
    assert_eq!(line("CapInh:"), "0000000000000000");
    assert_eq!(line("NoNewPrivs:"), "1");
}

#[test]
fn a_command_has_its_user_and_no_capability() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let none = "0000000000000000";
    for (uid, gid, groups, shown) in [(0, 0, vec![], ""), (1234, 99, vec![7, 8], "7 8")] {
        let spawn = Spawn { uid, gid, groups, ..script(WHO) };
        let finished = sandbox.run(spawn);
        let lines: Vec<&str> = finished.text().lines().map(str::trim_end).collect();
        let groups = format!("Groups: {shown}").trim_end().to_owned();
        let expected = [
            format!("Uid: {uid} {uid} {uid} {uid}"),
            format!("Gid: {gid} {gid} {gid} {gid}"),
            groups,
            format!("CapInh: {none}"),
            format!("CapPrm: {none}"),
            format!("CapEff: {none}"),
            format!("CapAmb: {none}"),
            "NoNewPrivs: 1".to_owned(),
        ];
        assert_eq!(lines, expected);
    }
}

#[test]
fn a_command_starts_in_a_clean_state() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    assert_eq!(sandbox.shell("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3", "3 is the folder that ls reads");
    // What grep handles itself is its own.
    let signals = sandbox.shell("grep -E '^Sig(Blk|Ign):' /proc/self/status | cut -f2 | sort -u");
    assert_eq!(signals, "0000000000000000");
    assert_eq!(sandbox.shell("ulimit -c; cat /proc/self/oom_score_adj; umask"), "0\n500\n0022");
    assert_eq!(sandbox.shell("test $(ps -o sid= -p $$) = $$ && echo leader"), "leader");
}

#[test]
fn no_command_runs_as_the_doorkeeper() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let id = sandbox.spawn(Spawn { uid: DOORKEEPER_UID, ..command(&["true"]) });
    assert!(sandbox.failure(id).message.contains("no command may run as user 65532"));
    let id = sandbox.spawn(Spawn { uid: u32::MAX, ..command(&["true"]) });
    assert!(sandbox.failure(id).message.contains("cannot start a command as user 4294967295"));
}

#[test]
fn root_without_capabilities_cannot_touch_the_doorkeeper() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let tries = [
        "kill -9 1",
        "kill -STOP 1",
        "kill -TERM 1",
        "echo 1000 > /proc/1/oom_score_adj",
        "prlimit --pid 1 --nofile=1",
        "renice 19 1",
        "head -c 1 /proc/1/mem",
        "ls /proc/1/fd",
    ];
    // Writing as another user must not leave a way in either.
    let root = sandbox.root();
    let file = super::writing::file(&[root.as_slice(), b"/x"].concat(), b"x");
    let id = sandbox.ask(|id| doorkeeper::protocol::Request::Write { id, file });
    sandbox.done(id);
    for attempt in tries {
        assert_eq!(
            sandbox.shell(&format!("({attempt}) >/dev/null 2>&1 && echo did || echo could not")),
            "could not",
            "{attempt}"
        );
    }
    assert_eq!(sandbox.shell("stat -c %u /proc/1/oom_score_adj /proc/1/mem | sort -u"), "65532");
}

#[test]
fn without_capabilities_it_stays_who_it_is() {
    let Some(mut sandbox) = Sandbox::without_rights() else { return };
    let id = sandbox.spawn(command(&["id", "-u"]));
    assert!(sandbox.failure(id).message.contains("cannot start a command as user 0"));
    let finished = sandbox.run(Spawn { uid: 1234, gid: 1234, ..command(&["id", "-u"]) });
    assert_eq!(finished.text(), "1234");
}
