//! `touchstone run` on a pseudo-terminal, which `script` makes: the live view, and Ctrl-C.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::FOREIGN;
use crate::place::{Place, THERE, local_spec};

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command on a terminal of its own.
struct Terminal {
    child: Child,
    parts: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    /// Runs the spec of a place; `None` where there is no `script`, unless tools are required.
    fn run(place: &Place, arguments: &str) -> Option<Self> {
        let (spec, data) = (place.spec(), place.data());
        Self::of(&format!("run {} --backend local --data-dir {} {arguments}", spec.display(), data.display()))
    }

    /// Any command.
    fn of(arguments: &str) -> Option<Self> {
        Self::shell(&format!("exec {} {arguments}", env!("CARGO_BIN_EXE_touchstone")))
    }

    /// Any line of a shell.
    fn shell(line: &str) -> Option<Self> {
        let line = format!("stty cols 100 rows 30; {line}");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
        for foreign in FOREIGN {
            command.env_remove(foreign);
        }
        command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("TOUCHSTONE_REQUIRE_TOOLS").is_none(), "`script` is needed: {error}");
                return None;
            }
        };
        let (sender, parts) = mpsc::channel();
        let mut pipe = child.stdout.take().expect("a pipe");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(size @ 1..) = pipe.read(&mut buffer) {
                if sender.send(buffer[..size].to_vec()).is_err() {
                    return;
                }
            }
        });
        Some(Self { child, parts, seen: String::new() })
    }

    /// Waits until the screen has shown a text.
    fn wait_for(&mut self, text: &str) {
        self.wait_for_since(0, text);
    }

    /// Waits until the screen has shown a text after the first `seen` bytes.
    fn wait_for_since(&mut self, seen: usize, text: &str) {
        while !self.seen[seen..].contains(text) {
            let part = self.parts.recv_timeout(PATIENCE);
            let part = part.unwrap_or_else(|_| panic!("`{text}` was never shown: {}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&part));
        }
    }

    fn press(&mut self, key: u8) {
        self.type_in(&[key]);
    }

    fn type_in(&mut self, keys: &[u8]) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        stdin.write_all(keys).and_then(|()| stdin.flush()).expect("pressed");
    }

    /// Closes the terminal, as closing a window does.
    fn close(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("its end");
    }

    /// Waits for the end: the exit code, and everything that was shown.
    fn end(mut self) -> (Option<i32>, String) {
        while let Ok(part) = self.parts.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&part));
        }
        (self.child.wait().expect("its end").code(), std::mem::take(&mut self.seen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_terminal_shows_each_scenario_that_runs_and_a_tally() {
    let agent = "case {{ params.how }} in good) touch out;; esac; sleep 0.5";
    let place = Place::new(&local_spec(agent, &format!("parallelism: {{matrix: {{how: [good, bad]}}}}\n{THERE}")));
    let Some(mut terminal) = Terminal::run(&place, "--max-concurrent 1") else { return };
    terminal.wait_for("0/2");
    for phase in ["prepare", "act", "1/2"] {
        terminal.wait_for(phase);
    }
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("trial/good-") && seen.contains("0 passed, 0 failed, 0 errors"), "{seen}");
    assert!(seen.contains("1 passed, 0 failed, 0 errors"), "{seen}");
    let (green, red) = ("\u{1b}[32mpass\u{1b}[0m  trial/good-", "\u{1b}[31m\u{1b}[1mFAIL\u{1b}[0m  trial/bad-");
    assert!(seen.contains(green) && seen.contains(red), "lines stay above: {seen}");
    assert!(seen.contains("again: touchstone run ") && seen.contains("scenarios 2, passed 1, failed 1"), "{seen}");
}

#[test]
fn ctrl_c_cancels_cleans_up_and_says_so() {
    let place = Place::new(&local_spec("sleep 60; touch out", &format!("parallelism: {{replicas: 3}}\n{THERE}")));
    let Some(mut terminal) = Terminal::run(&place, "--max-concurrent 2 --verbose") else { return };
    terminal.wait_for("the agent acts");
    terminal.press(3);
    terminal.wait_for("interrupted: cancelling and cleaning up");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("interrupted: what had not ended was cancelled"), "{seen}");
    assert_eq!(place.only_run().0, store::RunState::Cancelled);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_terminal_that_is_closed_ends_a_run_as_ctrl_c_does() {
    let place = Place::new(&local_spec("sleep 60; touch out", &format!("parallelism: {{replicas: 3}}\n{THERE}")));
    let Some(mut terminal) = Terminal::run(&place, "--max-concurrent 2 --verbose") else { return };
    terminal.wait_for("the agent acts");
    terminal.close();
    place.until_nothing_is_left();
    assert_eq!(place.only_run().0, store::RunState::Cancelled);
}

#[test]
fn evidence_on_a_terminal_acts_on_nothing_and_means_the_same() {
    let place = Place::new(&local_spec(r"printf 'a\302\233\342\200\256z'; touch out", THERE));
    let Some(terminal) = Terminal::run(&place, "") else { return };
    assert_eq!(terminal.end().0, Some(0));
    let terminal = Terminal::of(&format!("show latest/default-r0 --evidence --data-dir {}", place.data().display()));
    let (code, seen) = terminal.expect("there was one").end();
    assert!(code == Some(0) && seen.contains(r"a\u009b\u202ez"), "{seen}");
    assert!(!seen.contains(['\u{9b}', '\u{202e}']), "{seen}");
    let (_, exact, _) = place.run(&["show", "latest/default-r0", "--evidence"]);
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text.trim()).expect("JSON");
    assert_eq!(read(&exact), read(&seen));
}

#[test]
fn a_run_in_the_background_of_a_terminal_goes_on() {
    let place = Place::new(&local_spec("touch out", THERE));
    let (spec, data) = (place.spec(), place.data());
    let run = format!("run {} --backend local --data-dir {}", spec.display(), data.display());
    let line = format!("set -m; {} {run} & wait %1; echo \"ended with $?\"", env!("CARGO_BIN_EXE_touchstone"));
    // The kernel stops a process in the background that changes its terminal.
    let Some(mut terminal) = Terminal::shell(&line) else { return };
    terminal.wait_for("ended with 0");
    assert_eq!(terminal.end().0, Some(0));
}

/// Types into every terminal that it can find, and asks the terminal for an answer.
const TYPIST: &str = "import fcntl, os, sys, termios
for name in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, '/dev/tty', '/dev/pts/0', '/dev/pts/1', '/dev/pts/2']:
    try:
        number = name if isinstance(name, int) else os.open(name, os.O_RDWR)
        for letter in 'echo typed-by-the-agent\\n':
            fcntl.ioctl(number, termios.TIOCSTI, letter.encode())
    except OSError:
        pass
print('tried')
";

/// A place with a sandbox that is kept, in which the agent left a program.
fn kept() -> Place {
    let program = serde_json::to_string(TYPIST).expect("a text");
    let more = format!("setup: {{files: [{{path: trap.py, content: {program}}}]}}\n{THERE}");
    let place = Place::new(&local_spec("true", &more));
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local", "--keep-sandbox", "always"]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    place
}

/// A line for a shell that enters the sandbox of a place, and then says how, and whether the terminal is as before.
fn visiting(place: &Place, command: &str) -> String {
    let (program, data) = (env!("CARGO_BIN_EXE_touchstone"), place.data().display().to_string());
    let line = format!(
        "before=$(stty -g); {program} shell --data-dir {data} {command}; echo ended with $?; \
         test \"$before\" = \"$(stty -g)\" && echo as before; IFS= read -r -t 1 typed; echo \"typed [$typed]\""
    );
    format!("bash -c '{line}'")
}

#[test]
fn a_shell_passes_keys_on_and_leaves_the_terminal_as_it_was() {
    let place = kept();
    let Some(mut terminal) = Terminal::shell(&visiting(&place, "")) else { return };
    terminal.wait_for("this is the sandbox");
    terminal.type_in(b"stty size; echo in $((40 + 2)) of $PWD\r");
    terminal.wait_for("30 100");
    terminal.wait_for("in 42 of /workspace");
    // The program speaks before the key is pressed: a shell that gets the signal while it starts one may lose it.
    terminal.type_in(b"sh -c 'echo running $((1 + 1)); exec cat'\r");
    terminal.wait_for("running 2");
    // Ctrl-C is for the program inside. What is typed before the shell asks for it goes with the program.
    let seen = terminal.seen.len();
    terminal.press(3);
    terminal.wait_for_since(seen, "# ");
    terminal.type_in(b"echo still $((4 + 4)); exit 7\r");
    terminal.wait_for("still 8");
    terminal.wait_for("ended with 7");
    terminal.wait_for("as before");
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(place.run(&["sweep", "--kept"]).0, 0);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn programs_of_the_agent_type_nothing_into_the_terminal_of_who_looks() {
    let place = kept();
    for command in ["-- python3 trap.py", "-- sh -c \"exec python3 /workspace/trap.py\""] {
        let Some(mut terminal) = Terminal::shell(&visiting(&place, command)) else { return };
        terminal.wait_for("tried");
        terminal.wait_for("ended with 0");
        terminal.wait_for("as before");
        terminal.wait_for("typed []");
        assert_eq!(terminal.end().0, Some(0), "{command}");
    }
    // Neither when it is ended in the middle.
    let Some(mut terminal) = Terminal::shell(&visiting(&place, "-- sh -c \"echo ready; python3 trap.py; sleep 1000\""))
    else {
        return;
    };
    terminal.wait_for("tried");
    let shell = process_with(&["shell", &place.data().display().to_string()]);
    let killed = Command::new("kill").args(["-TERM", &shell.to_string()]).status().expect("kill");
    assert!(killed.success());
    terminal.wait_for("ended with 143");
    terminal.wait_for("as before");
    terminal.wait_for("typed []");
    terminal.end();
    assert_eq!(place.run(&["sweep", "--kept"]).0, 0);
    assert_eq!(place.left(), Vec::<String>::new());
}

/// The process of ours that was started with these words.
fn process_with(words: &[&str]) -> u32 {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |number: &u32| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let all: Vec<_> = line.split(|byte| *byte == 0).collect();
        let program = all.first().is_some_and(|program| program.ends_with(b"touchstone"));
        program && words.iter().all(|word| all.contains(&word.as_bytes()))
    };
    numbers.filter(is_ours).min().expect("a process")
}
