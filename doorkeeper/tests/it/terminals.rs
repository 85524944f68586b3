//! Tests of interactive commands: with a terminal, or with input that comes piece by piece.

use doorkeeper::protocol::{CHUNK, Event, Request, Spawn, Status, WindowSize};

use crate::sandbox::{Sandbox, script};

const SIZE: WindowSize = WindowSize { rows: 24, columns: 80 };

fn on_terminal(text: &str) -> Spawn {
    Spawn { terminal: Some(SIZE), more_input: true, ..script(text) }
}

/// Types something, once it was taken.
fn type_in(sandbox: &mut Sandbox, command: u32, text: &str) {
    let id = sandbox.ask(|id| Request::Input { id, command, bytes: text.as_bytes().to_vec() });
    sandbox.done(id);
}

/// Reads output until it ends with a text.
fn read_until(sandbox: &mut Sandbox, command: u32, end: &str) -> String {
    let mut shown = String::new();
    while !shown.contains(end) {
        let event = sandbox.event(command);
        let Event::Data { bytes, .. } = &event else { panic!("{event:?} after {shown}") };
        shown.push_str(&String::from_utf8_lossy(bytes));
        sandbox.credit(&event);
    }
    shown
}

#[test]
fn a_terminal_is_the_sandboxs_own_and_controls_the_command() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let text = "test -t 0 && test -t 1 && test -t 2 && stty size && exec 3<>/dev/tty && echo ready; read line; stty size; \
                echo got $line; cat -A || echo interrupted $?; exit 7";
    let command = sandbox.spawn(on_terminal(text));
    sandbox.started(command);
    let shown = read_until(&mut sandbox, command, "ready");
    assert!(shown.contains("24 80"), "{shown}");
    let size = WindowSize { rows: 10, columns: 33 };
    let resize = sandbox.ask(|id| Request::Resize { id, command, size });
    sandbox.done(resize);
    type_in(&mut sandbox, command, "a word\r");
    let shown = read_until(&mut sandbox, command, "got a word");
    assert!(shown.contains("10 33"), "{shown}");
    // A shell that gets the signal while it starts a program waits for that program's end, so the program answers first.
    type_in(&mut sandbox, command, "running\r");
    read_until(&mut sandbox, command, "running$");
    // Ctrl-C, which the terminal turns into a signal.
    type_in(&mut sandbox, command, "\u{3}");
    let finished = sandbox.finish(command);
    assert_eq!(finished.exited.status, Status::Signal(2), "the shell is in the foreground too: {}", finished.text());
    let gone = sandbox.ask(|id| Request::Resize { id, command, size });
    assert_eq!(sandbox.failure(gone).errno, 3);
}

#[test]
fn everything_that_was_shown_comes_before_the_end_also_when_somebody_keeps_the_terminal() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let long = "i=0; while [ $i -lt 5000 ]; do echo 0123456789; i=$((i + 1)); done; echo last; exit 3";
    let finished = sandbox.run(on_terminal(long));
    assert_eq!(finished.exited.status, Status::Code(3));
    assert!(finished.text().ends_with("last") && finished.out.len() > 50_000, "{}", finished.out.len());
    // One that ignores the end of the terminal, and one in another session.
    let kept = "(trap \'\' HUP; setsid sleep 1000) & (trap \'\' HUP; sleep 1000) & echo last; exit 4";
    let finished = sandbox.run(on_terminal(kept));
    assert_eq!((finished.exited.status, finished.text()), (Status::Code(4), "last"));
}

#[test]
fn input_comes_piece_by_piece_and_ends() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let command = sandbox.spawn(Spawn { more_input: true, stdin: b"first".to_vec(), ..script("wc -c") });
    sandbox.started(command);
    for _ in 0..5 {
        let id = sandbox.ask(|id| Request::Input { id, command, bytes: vec![b'x'; CHUNK] });
        sandbox.done(id);
    }
    let end = sandbox.ask(|id| Request::Input { id, command, bytes: Vec::new() });
    sandbox.done(end);
    assert_eq!(sandbox.finish(command).text(), (5 * CHUNK + 5).to_string());
}

#[test]
fn input_that_nobody_reads_is_refused() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    for text in ["exec 0</dev/null; sleep 0.2", "sleep 0.2"] {
        let command = sandbox.spawn(Spawn { more_input: true, ..script(text) });
        sandbox.started(command);
        // More than a pipe holds.
        let id = sandbox.ask(|id| Request::Input { id, command, bytes: vec![0; 256 * 1024] });
        assert_eq!(sandbox.failure(id).errno, 32, "{text}");
        sandbox.finish(command);
        let late = sandbox.ask(|id| Request::Input { id, command, bytes: vec![0] });
        assert_eq!(sandbox.failure(late).errno, 32, "{text}");
    }
}
