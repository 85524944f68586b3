//! The signals that ask a command to end: Ctrl-C, a polite kill, and a terminal that is closed.

use std::fs;
use std::future;
use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// Within this time a second signal is the first one again: one may arrive twice, when it is sent to a process and to its
/// group.
const TWICE: Duration = Duration::from_secs(1);

/// The exit code of a command that was interrupted.
const INTERRUPTED: i32 = 130;

/// The signals that ask a command to end.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` when it is to be ignored, as `nohup` asks.
    hangup: Option<Signal>,
    first: Option<Instant>,
}

/// A request to end the command: the first or a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// Once: it cleans up first.
    Once,
    /// Again: it ends at once.
    Again,
}

impl Signals {
    /// Listens from now on; the signals do not end the process any more.
    pub(crate) fn listen() -> io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { interrupt, terminate, hangup, first: None })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> StopRequest {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                () = received(self.hangup.as_mut()) => {}
            }
            match self.first {
                None => {
                    self.first = Some(Instant::now());
                    return StopRequest::Once;
                }
                Some(first) if first.elapsed() < TWICE => {}
                Some(_) => return StopRequest::Again,
            }
        }
    }
}

/// The process listens to these signals for ever, so somebody has to hear them also when a command writes its last words: a
/// file that nobody reads would otherwise keep it alive against every wish.
impl Drop for Signals {
    fn drop(&mut self) {
        let first = self.first;
        let listening = std::thread::Builder::new().name("signals".to_owned()).spawn(move || end_when_asked(first));
        // Without a thread, the process ends by itself, or by a signal that nobody can listen to.
        drop(listening);
    }
}

fn end_when_asked(first: Option<Instant>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let Ok(mut signals) = Signals::listen() else { return };
        signals.first = first;
        // Nothing is cleaned up from here on, so once is enough.
        signals.next().await;
        std::process::exit(INTERRUPTED);
    });
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => future::pending().await,
    }
}

/// Returns true if the parent process wants this process to outlive its terminal.
fn ignores_hangup() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| hangup_is_ignored(&status))
}

/// Reads the mask of ignored signals, in which the lowest bit is the hangup.
fn hangup_is_ignored(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::hangup_is_ignored;

    #[test]
    fn the_mask_of_ignored_signals_says_whether_to_outlive_the_terminal() {
        assert!(hangup_is_ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n"));
        assert!(!hangup_is_ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001002\n"));
        assert!(!hangup_is_ignored(""));
    }
}
