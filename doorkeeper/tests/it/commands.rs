use doorkeeper::protocol::{Event, Request, Spawn, Status, Stream, WINDOW};

use super::sandbox::{Sandbox, command, script, wait_until};

#[test]
fn output_and_exit_code_arrive() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let finished = sandbox.run(script("echo to stdout; echo to stderr >&2; exit 7"));
    assert_eq!(finished.out, b"to stdout\n");
    assert_eq!(finished.err, b"to stderr\n");
    assert_eq!(finished.exited.status, Status::Code(7));
}

#[test]
fn a_signal_that_ended_a_command_is_told() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    assert_eq!(sandbox.run(script("kill -USR1 $$")).exited.status, Status::Signal(10));
}

#[test]
fn resource_use_is_told() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let exited = sandbox.run(script("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")).exited;
    assert!(exited.user_us > 1000, "{exited:?}");
    assert!(exited.wall_us >= exited.user_us / 2, "{exited:?}");
    assert!(exited.max_rss_kib > 500, "{exited:?}");
}

#[test]
fn two_commands_run_at_once() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let workspace = sandbox.workspace().display().to_string();
    // Each waits for the other.
    let wait = |mine: &str, other: &str| {
        script(&format!("cd {workspace}; mkfifo {mine}; while [ ! -p {other} ]; do sleep 0.01; done; echo {mine}"))
    };
    let (first, second) = (sandbox.spawn(wait("a", "b")), sandbox.spawn(wait("b", "a")));
    sandbox.started(first);
    sandbox.started(second);
    assert_eq!(sandbox.finish(second).text(), "b");
    assert_eq!(sandbox.finish(first).text(), "a");
}

#[test]
fn stdin_arrives_whole_and_ends() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let stdin: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).take(1_000_000).collect();
    let finished = sandbox.run(Spawn { stdin: stdin.clone(), ..command(&["cat"]) });
    assert!(finished.out == stdin);
    assert_eq!(sandbox.run(command(&["cat"])).out, b"");
}

#[test]
fn stdin_that_nobody_reads_does_no_harm() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let finished = sandbox.run(Spawn { stdin: vec![0; 1_000_000], ..command(&["true"]) });
    assert_eq!(finished.exited.status, Status::Code(0));
    assert_eq!(sandbox.shell("echo alive"), "alive");
}

#[test]
fn environment_and_folder_are_those_that_were_given() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let environment = vec![(b"A".to_vec(), b"1".to_vec()), (b"PATH".to_vec(), b"/usr/bin:/bin".to_vec())];
    let spawn = Spawn { environment, directory: b"/usr".to_vec(), ..script("env; pwd") };
    let finished = sandbox.run(spawn);
    let lines: Vec<&str> = finished.text().lines().filter(|line| !line.starts_with("_=")).collect();
    assert_eq!(lines, ["A=1", "PATH=/usr/bin:/bin", "PWD=/usr", "/usr"]);
}

#[test]
fn standard_streams_can_be_opened_by_their_path() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    assert_eq!(sandbox.shell("echo x > /dev/stdout; echo y > /dev/stderr; cat /dev/stdin"), "x");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    for (spawn, errno, message) in [
        (command(&["no-such-program"]), 2, "start `no-such-program`: no such file or directory"),
        (command(&["/etc/passwd"]), 13, "start `/etc/passwd`: permission denied"),
        (
            Spawn { directory: b"/nowhere".to_vec(), ..command(&["true"]) },
            2,
            "start `true` in the folder `/nowhere`: no such file or directory",
        ),
    ] {
        let id = sandbox.spawn(spawn);
        let failure = sandbox.failure(id);
        assert_eq!((failure.errno, failure.message.as_str()), (errno, message));
    }
    let id = sandbox.spawn(Spawn::default());
    assert_eq!(sandbox.failure(id).message, "start a command: no program was given");
}

#[test]
fn output_without_credit_waits_in_the_command_and_then_arrives_whole() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let id = sandbox.spawn(script("head -c 200000000 /dev/zero; head -c 1000000 /dev/zero >&2"));
    sandbox.started(id);
    let mut held: Vec<Event> = Vec::new();
    while held.iter().map(Event::credit).sum::<u32>() < WINDOW {
        held.push(sandbox.event(id));
    }
    // Another command still runs, and nothing more of the first one arrives.
    assert_eq!(sandbox.shell("echo alive"), "alive");
    let status = std::fs::read_to_string(format!("/proc/{}/status", sandbox.outer_pid())).unwrap();
    let rss: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap()
        .trim_end_matches(" kB")
        .trim()
        .parse()
        .unwrap();
    assert!(rss < 20_000, "{rss} KiB");
    let taken: u32 = held.iter().map(Event::credit).sum();
    for event in &held {
        sandbox.credit(event);
    }
    let finished = sandbox.finish(id);
    assert_eq!(finished.out.len() + taken as usize, 200_000_000);
    assert_eq!(finished.err.len(), 1_000_000);
}

#[test]
fn the_end_waits_for_credit_and_is_not_lost() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let total = WINDOW as usize + 50_000;
    let id = sandbox.spawn(script(&format!("head -c {total} /dev/zero")));
    sandbox.started(id);
    let mut held: Vec<Event> = Vec::new();
    while held.iter().map(Event::credit).sum::<u32>() < WINDOW {
        held.push(sandbox.event(id));
    }
    // All commands were reaped when a later one has ended, and the end of the first one has not come.
    sandbox.shell("true");
    for event in &held {
        sandbox.credit(event);
    }
    let finished = sandbox.finish(id);
    assert_eq!(finished.out.len(), 50_000);
}

#[test]
fn a_cancelled_command_runs_on_and_its_output_is_thrown_away() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let id = sandbox.spawn(script("head -c 50000000 /dev/zero; exit 3"));
    sandbox.started(id);
    sandbox.send(Request::Cancel { id });
    loop {
        match sandbox.event(id) {
            Event::Data { stream: Stream::Out, .. } => {}
            Event::Exited { exited, .. } => break assert_eq!(exited.status, Status::Code(3)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_process_that_keeps_the_streams_open_does_not_hold_the_end_back() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let silent = sandbox.run(script("setsid sleep 1000 & echo left"));
    assert_eq!(silent.text(), "left");
    let loud = sandbox.run(script("setsid yes & echo left"));
    assert_eq!(loud.exited.status, Status::Code(0));
    let id = sandbox.ask(|id| Request::KillAll { id });
    sandbox.done(id);
}

#[test]
fn what_was_printed_just_before_the_end_arrives() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    for _ in 0..50 {
        let finished = sandbox.run(script("head -c 60000 /dev/zero"));
        assert_eq!(finished.out.len(), 60_000);
    }
}

#[test]
fn a_signal_reaches_the_whole_process_group() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let id = sandbox.spawn(script("sleep 1000 & echo ready; wait"));
    sandbox.started(id);
    let event = sandbox.event(id);
    assert!(matches!(event, Event::Data { .. }));
    let signal = sandbox.ask(|number| Request::Signal { id: number, command: id, signal: 15 });
    sandbox.done(signal);
    assert_eq!(sandbox.finish(id).exited.status, Status::Signal(15));
    wait_until("the end of sleep", || sandbox.shell("pgrep -x sleep || true").is_empty());
    let late = sandbox.ask(|number| Request::Signal { id: number, command: id, signal: 15 });
    assert_eq!(sandbox.failure(late).errno, 3);
}

#[test]
fn orphans_are_reaped() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    sandbox.shell("for i in 1 2 3 4 5 6 7 8 9; do (setsid true &) ; done");
    wait_until("the end of orphans", || sandbox.shell("cat /proc/[0-9]*/stat | grep -c ' Z ' || true") == "0");
}

#[test]
fn the_least_free_space_is_remembered() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let file = sandbox.workspace().join("big").display().to_string();
    sandbox.shell(&format!("head -c 300000000 /dev/zero > {file}; sleep 0.3; rm {file}"));
    let root = sandbox.root();
    let id = sandbox.ask(|id| Request::Space { id, path: root });
    let Event::Space { space, .. } = sandbox.event(id) else { panic!("no space") };
    assert!(space.least_free + 200_000_000 < space.free, "{space:?}");
    assert!(space.total > space.free);
    let root = sandbox.workspace().as_os_str().as_encoded_bytes().to_vec();
    let id = sandbox.ask(|id| Request::Space { id, path: root });
    let Event::Space { space, .. } = sandbox.event(id) else { panic!("no space") };
    assert_eq!(space.least_free, space.free, "asking begins anew");
}
