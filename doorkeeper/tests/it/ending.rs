use doorkeeper::protocol::{Event, Request, Status, Used};

use super::sandbox::{Sandbox, script, wait_until};

/// Counts the processes besides the doorkeeper and the shell that counts.
const COUNT: &str = "set -- /proc/[0-9]*; echo $(($# - 2))";

#[test]
fn everybody_is_ended_and_commands_are_answered_first() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let first = sandbox.spawn(script("setsid sleep 1000 & trap '' TERM HUP; while :; do sleep 1; done"));
    let second = sandbox.spawn(script("sleep 1000"));
    sandbox.started(first);
    sandbox.started(second);
    let kill = sandbox.ask(|id| Request::KillAll { id });
    let mut ended = Vec::new();
    loop {
        match sandbox.any_event() {
            Event::Exited { id, exited } => {
                assert_eq!(exited.status, Status::Signal(9));
                ended.push(id);
            }
            event => break assert_eq!(event, Event::Done { id: kill }),
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, [first, second]);
    assert_eq!(sandbox.shell(COUNT), "0");
}

#[test]
fn a_loop_that_forks_is_ended() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    // Every process is replaced by its child, each in a session of its own.
    let file = sandbox.workspace().join("fork");
    std::fs::write(&file, "#!/bin/sh\nsetsid sh \"$0\" &\nsetsid sleep 1000 &\n").unwrap();
    let id = sandbox.spawn(script(&format!("sh {} & sleep 0.3", file.display())));
    sandbox.started(id);
    sandbox.finish(id);
    let kill = sandbox.ask(|id| Request::KillAll { id });
    sandbox.done(kill);
    assert_eq!(sandbox.shell(COUNT), "0");
}

#[test]
fn ending_everybody_twice_and_nobody_is_fine() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let (first, second) = (sandbox.ask(|id| Request::KillAll { id }), sandbox.ask(|id| Request::KillAll { id }));
    sandbox.done(first);
    sandbox.done(second);
}

#[test]
fn without_being_pid_1_it_ends_its_own_descendants() {
    let mut sandbox = Sandbox::start(&["env"]);
    let owner = std::fs::metadata(sandbox.workspace()).unwrap();
    let mut spawn = script("setsid sh -c 'setsid sleep 4321 & sleep 4321' & echo ready; sleep 4321");
    (spawn.uid, spawn.gid) = (std::os::unix::fs::MetadataExt::uid(&owner), std::os::unix::fs::MetadataExt::gid(&owner));
    let id = sandbox.spawn(spawn);
    sandbox.started(id);
    assert!(matches!(sandbox.event(id), Event::Data { .. }));
    let kill = sandbox.ask(|id| Request::KillAll { id });
    assert!(matches!(sandbox.any_event(), event if event.id() == id));
    sandbox.done(kill);
    let left = || {
        let pids = std::process::Command::new("pgrep").args(["-fx", "sleep 4321"]).output().unwrap();
        pids.stdout.is_empty()
    };
    wait_until("the end of sleep", left);
    sandbox.send(Request::Shutdown);
    assert!(sandbox.end().0.success());
}

/// Busy for a tenth of a second of processor time, however quick the machine is.
const BUSY: &str =
    "while read -r _ _ _ _ _ _ _ _ _ _ _ _ _ user _ < /proc/self/stat && [ \"$user\" -lt 10 ]; do :; done";

#[test]
fn what_ended_processes_used_is_counted_until_somebody_asks() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let used = |sandbox: &mut Sandbox| {
        let id = sandbox.ask(|id| Request::Used { id });
        let Event::Used { used, .. } = sandbox.event(id) else { panic!("no use was told") };
        used
    };
    assert_eq!(used(&mut sandbox), Used::default());
    // The busy one is an orphan in a session of its own, which nobody but the doorkeeper waits for.
    sandbox.shell(&format!("setsid sh -c '{}; sleep 1000' & exit 0", BUSY.replace('\'', "'\\''")));
    wait_until("the orphan was busy enough", || !sandbox.shell("grep -l sleep /proc/[0-9]*/comm || :").is_empty());
    let others = used(&mut sandbox);
    let kill = sandbox.ask(|id| Request::KillAll { id });
    sandbox.done(kill);
    let after = used(&mut sandbox);
    assert!(after.user_us >= 90_000 && after.max_rss_kib > 100 && others.max_rss_kib > 100, "{others:?} {after:?}");
    assert_eq!(used(&mut sandbox), Used::default());
}
