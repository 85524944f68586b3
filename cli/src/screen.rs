//! The terminal that the live view is drawn on, which may close at any time.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The terminal in which this process was started.
const TERMINAL: &str = "/dev/tty";
/// Maximum number of redraws per second.
const RATE: u8 = 20;
/// A terminal on standard error. Once it cannot be written to, nothing is drawn any more: a terminal that was closed is no
/// reason to lose a run.
#[derive(Debug)]
struct Screen {
    terminal: Term,
    is_gone: AtomicBool,
}

/// Draws on standard error.
pub(crate) fn target() -> ProgressDrawTarget {
    let screen = Screen { terminal: Term::buffered_stderr(), is_gone: AtomicBool::new(false) };
    ProgressDrawTarget::term_like_with_hz(Box::new(screen), RATE)
}

/// While it lives, a terminal does not show `^C` on Ctrl-C: that would begin a line behind the live view, which cannot
/// track it, and its first line would stay for ever.
#[derive(Debug)]
pub(crate) struct Unechoed(Option<(File, Termios)>);

impl Unechoed {
    /// From now on.
    pub(crate) fn begin() -> Self {
        let terminal = File::open(TERMINAL).ok().filter(is_ours);
        let before = terminal.and_then(|terminal| tcgetattr(&terminal).ok().map(|modes| (terminal, modes)));
        if let Some((terminal, modes)) = &before {
            let mut modes = modes.clone();
            modes.local_modes.remove(LocalModes::ECHOCTL);
            let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
        }
        Self(before)
    }
}

impl Drop for Unechoed {
    fn drop(&mut self) {
        if let Some((terminal, before)) = self.0.as_ref().filter(|(terminal, _)| is_ours(terminal)) {
            let _ = tcsetattr(terminal, OptionalActions::Now, before);
        }
    }
}

/// Returns true if this process is in the terminal's foreground. The kernel stops a background process that changes a
/// terminal.
fn is_ours(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

impl Screen {
    fn draw(&self, draw: impl FnOnce(&Term) -> io::Result<()>) -> io::Result<()> {
        if !self.is_gone.load(Ordering::Relaxed) && draw(&self.terminal).is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        TermLike::width(&self.terminal)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.terminal)
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.draw(|terminal| TermLike::move_cursor_up(terminal, lines))
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.draw(|terminal| TermLike::move_cursor_down(terminal, lines))
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.draw(|terminal| TermLike::move_cursor_right(terminal, columns))
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.draw(|terminal| TermLike::move_cursor_left(terminal, columns))
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.draw(|terminal| TermLike::write_line(terminal, text))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.draw(|terminal| TermLike::write_str(terminal, text))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw(TermLike::clear_line)
    }

    fn flush(&self) -> io::Result<()> {
        self.draw(TermLike::flush)
    }
}
