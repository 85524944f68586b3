//! Passes on what is typed to a command in a sandbox, and what it prints.
//!
//! The command has a terminal of the sandbox's own, or pipes. No descriptor of this process gets inside, so nothing inside can
//! use the terminal of whoever looks: it is only shown what the command prints.

use std::env;
use std::io;

use engine::door::{Command, CommandEvent, CommandInput, DoorError, Status, Stream};
use engine::kept::Visit;
use rustix::io::{Errno, retry_on_intr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::raw_mode::{RawMode, size};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Size of one read of the typed input.
const PIECE: usize = 16 * 1024;
/// Offset that a shell adds to the number of the signal that ended a command.
const BY_SIGNAL: u8 = 128;
/// The kind of terminal that is named inside, when the one outside has no usual name.
const USUAL_TERMINAL: &str = "xterm";

/// Runs a command in a sandbox to its end; its exit code is ours.
pub(super) async fn attend(visit: &Visit, words: &[String], output: &mut Output) -> Result<Exit, CommandError> {
    let mut signals = Signals::listen()?;
    let size = size(output.is_terminal());
    let kind = terminal_kind();
    let mut command = match visit.start(words, size.map(|size| (size, kind.as_str()))).await {
        Ok(command) => command,
        Err(DoorError::Failed(failure)) => {
            output.notice(&scenario::untrusted::visible(&failure.message));
            return Ok(Exit::Inside(if failure.errno == Errno::NOENT.raw_os_error() { 127 } else { 126 }));
        }
        Err(error) => return Err(lost(visit, &error)),
    };
    let raw = size.map(|_| RawMode::begin()).transpose()?;
    let ended = follow(visit, &mut command, raw.is_some(), &mut signals, output).await;
    drop(raw);
    ended
}

/// Follows a command until it ends, or the user's terminal does.
async fn follow(
    visit: &Visit,
    command: &mut Command,
    has_terminal: bool,
    signals: &mut Signals,
    output: &mut Output,
) -> Result<Exit, CommandError> {
    let input = command.input();
    let mut typing = pass_on_input(input.clone());
    let mut typed = false;
    loop {
        tokio::select! {
            event = command.next() => match event {
                Ok(CommandEvent::Output(stream, bytes)) => {
                    if output.pass_on(stream == Stream::Err, &bytes).is_err() {
                        // Whoever read it has gone, as after `head`.
                        return Ok(by_signal(SignalKind::pipe()));
                    }
                }
                Ok(CommandEvent::Exited(exited)) => return Ok(exit(exited.status)),
                Err(error) => return Err(lost(visit, &error)),
            },
            _ = &mut typing, if !typed => {
                typed = true;
                // A terminal whose input ends was closed.
                if has_terminal {
                    return Ok(by_signal(SignalKind::hangup()));
                }
            }
            kind = signals.next() => {
                if kind == SignalKind::window_change() {
                    if let Some(size) = size(has_terminal) {
                        // One that has just ended has no size any more.
                        let _ = input.resize(size).await;
                    }
                } else if kind != SignalKind::interrupt() || command.signal(kind.as_raw_value()).await.is_err() {
                    return Ok(by_signal(kind));
                }
            }
        }
    }
}

/// Passes on what is read on standard input, in a task that ends with it, or when the command reads no more.
fn pass_on_input(input: CommandInput) -> JoinHandle<()> {
    let (sender, mut pieces) = mpsc::channel(1);
    // Reading cannot be given up, and a thread of the runtime would be waited for at the end.
    std::thread::spawn(move || {
        loop {
            let mut bytes = vec![0; PIECE];
            let read = retry_on_intr(|| rustix::io::read(io::stdin(), &mut bytes)).unwrap_or(0);
            bytes.truncate(read);
            if sender.blocking_send(bytes).is_err() || read == 0 {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some(bytes) = pieces.recv().await {
            let is_end = bytes.is_empty();
            // A command that reads no more is not over for that: this goes on until standard input ends.
            let _ = input.write(bytes).await;
            if is_end {
                return;
            }
        }
    })
}

/// The signals that matter while a command is followed.
struct Signals(Vec<(SignalKind, Signal)>);

impl Signals {
    /// Listens from now on; they do not end this process any more.
    fn listen() -> io::Result<Self> {
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::window_change()];
        let all = kinds.into_iter().map(|kind| Ok((kind, signal(kind)?)));
        all.collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next one.
    async fn next(&mut self) -> SignalKind {
        let waits = self.0.iter_mut().map(|(kind, signal)| {
            Box::pin(async move {
                signal.recv().await;
                *kind
            })
        });
        futures::future::select_all(waits).await.0
    }
}

/// The kind of the terminal outside: its name and nothing else of the environment goes inside.
fn terminal_kind() -> String {
    let is_name = |name: &String| {
        let usual = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
        !name.is_empty() && name.len() <= 64 && name.chars().all(usual)
    };
    env::var("TERM").ok().filter(is_name).unwrap_or_else(|| USUAL_TERMINAL.to_owned())
}

fn exit(status: Status) -> Exit {
    Exit::Inside(match status {
        Status::Code(code) => u8::try_from(code).unwrap_or(u8::MAX),
        Status::Signal(signal) => BY_SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(0)),
    })
}

fn by_signal(kind: SignalKind) -> Exit {
    exit(Status::Signal(kind.as_raw_value()))
}

fn lost(visit: &Visit, error: &DoorError) -> CommandError {
    CommandError::Infrastructure(format!("the sandbox `{}` ended: {error}", visit.name()))
}
