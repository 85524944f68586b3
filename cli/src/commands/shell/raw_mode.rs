//! The user's terminal in raw mode: every key belongs to the terminal inside.

use std::io::{self, IsTerminal as _};

use engine::door::WindowSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// The size of a terminal that does not tell its own.
const USUAL: WindowSize = WindowSize { rows: 24, columns: 80 };

/// While it lives, keys are passed on as they are. The terminal is as before when it is dropped, however that comes about.
#[derive(Debug)]
pub(super) struct RawMode(Termios);

impl RawMode {
    /// From now on.
    pub(super) fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // What was typed and not read yet goes: it can be what the terminal answered to a program inside, and the next who reads
        // would take it for commands.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// The size of the terminal; `None` where there is none to use.
pub(super) fn size(shows: bool) -> Option<WindowSize> {
    if !shows || !io::stdin().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(io::stdin()).ok().map(|size| WindowSize { rows: size.ws_row, columns: size.ws_col });
    Some(size.filter(|size| size.rows > 0 && size.columns > 0).unwrap_or(USUAL))
}
