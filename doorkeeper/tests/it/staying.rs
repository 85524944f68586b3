//! A doorkeeper that stays without its worker.

use doorkeeper::protocol::{Event, Request};
use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Sandbox, script, wait_until};

/// The processes of the box besides the doorkeeper, ended ones included, as the host sees them.
fn others(doorkeeper: u32) -> Vec<String> {
    let children = std::fs::read_to_string(format!("/proc/{doorkeeper}/task/{doorkeeper}/children")).unwrap();
    children.split_whitespace().map(ToOwned::to_owned).collect()
}

/// Starts something in the box from outside, as a person who looks around does, that leaves an orphan; and waits until
/// the doorkeeper took it, which it only does when it lives.
fn leave_an_orphan(doorkeeper: u32) {
    let target = doorkeeper.to_string();
    let text = "sleep 0.1 </dev/null >/dev/null 2>&1 & echo here";
    let entered = std::process::Command::new("nsenter").args(["-t", &target, "-p", "-m", "sh", "-c", text]).output();
    let output = entered.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "here\n");
    wait_until("the orphan is reaped", || others(doorkeeper).is_empty());
}

#[test]
fn it_outlives_the_worker_reaps_orphans_and_ends_by_a_signal() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    assert_eq!(sandbox.shell("echo content"), "content");
    let pid = sandbox.outer_pid();
    let stay = sandbox.ask(|id| Request::Stay { id });
    sandbox.done(stay);
    assert!(sandbox.is_hung_up(), "it hangs up by itself");
    sandbox.leave();
    leave_an_orphan(pid);
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
    let (status, text) = sandbox.end();
    assert!(!status.success());
    assert!(text.contains("ended by a signal"), "{text}");
}

#[test]
fn it_stays_although_the_worker_does_not_wait_for_the_answer() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let pid = sandbox.outer_pid();
    sandbox.ask(|id| Request::Stay { id });
    sandbox.leave();
    leave_an_orphan(pid);
    assert!(sandbox.is_running());
}

#[test]
fn it_takes_no_request_once_it_stays() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let file = sandbox.workspace().join("made");
    let mut bytes = doorkeeper::protocol::encode(&Request::Stay { id: 1 }.into());
    let spawn = script(&format!("touch {}", file.display()));
    bytes.extend(doorkeeper::protocol::encode(&Request::Spawn { id: 2, spawn }.into()));
    bytes.extend(doorkeeper::protocol::encode(&Request::Shutdown.into()));
    sandbox.send_raw(&bytes);
    sandbox.done(1);
    assert!(sandbox.is_hung_up());
    leave_an_orphan(sandbox.outer_pid());
    assert!(sandbox.is_running() && !file.exists());
}

#[test]
fn it_does_not_stay_while_a_command_runs() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let command = sandbox.spawn(script("sleep 1000"));
    sandbox.started(command);
    let stay = sandbox.ask(|id| Request::Stay { id });
    assert!(sandbox.failure(stay).message.contains("still under way"));
    let kill = sandbox.ask(|id| Request::KillAll { id });
    assert!(matches!(sandbox.event(command), Event::Exited { .. }));
    sandbox.done(kill);
    let stay = sandbox.ask(|id| Request::Stay { id });
    sandbox.done(stay);
}

#[test]
fn a_visitor_is_let_in_again_and_again_and_what_it_started_ends_with_it() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let pid = sandbox.outer_pid();
    let stay = sandbox.ask(|id| Request::Stay { id });
    sandbox.done(stay);
    sandbox.leave();
    for _ in 0..2 {
        sandbox.visit();
        assert_eq!(sandbox.shell("setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo content"), "content");
        let command = sandbox.spawn(script("sleep 1000"));
        sandbox.started(command);
        assert!(others(pid).len() > 1, "they are there while the visitor is");
        sandbox.leave();
        wait_until("everybody is ended", || others(pid).is_empty());
        assert!(sandbox.is_running());
    }
    // Words that are no messages end a visit, and nothing else.
    sandbox.visit();
    sandbox.send_raw(&[0xff; 64]);
    assert!(sandbox.is_hung_up());
    sandbox.visit();
    assert_eq!(sandbox.shell("echo content"), "content");
    sandbox.leave();
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert!(sandbox.end().1.contains("ended by a signal"));
}

/// Program that poses as a visitor: it listens where one would, and ignores the signals that it can.
const IMPOSTOR: &str = "import socket, os, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
os.chmod(sys.argv[1], 0o777)
server.accept()
print('accepted', flush=True)
time.sleep(1000)";

#[test]
fn nobody_inside_is_taken_for_a_visitor() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let pid = sandbox.outer_pid();
    let stay = sandbox.ask(|id| Request::Stay { id });
    sandbox.done(stay);
    sandbox.leave();
    let target = pid.to_string();
    let socket = sandbox.workspace().with_file_name("socket");
    let place = socket.display().to_string();
    let words = ["-t", &target, "-p", "-m", "python3", "-c", IMPOSTOR, &place];
    let output = std::process::Command::new("nsenter").args(words).output().unwrap();
    assert!(output.stdout.is_empty() && output.stderr.is_empty() && socket.exists(), "it was ended first: {output:?}");
    std::fs::remove_file(&socket).unwrap();
    sandbox.visit();
    assert_eq!(sandbox.shell("echo content"), "content");
}
