//! A terminal for a command. It is made in the sandbox, so that no terminal of its user gets in.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::WindowSize;
use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::files::file_type;
use super::identity::Identity;
use crate::sys;

/// Path that makes terminals. Unlike `/dev/ptmx`, nobody in the sandbox can put something else in its place.
const MAKER: &str = "/dev/pts/ptmx";
/// The device that it is.
const DEVICE: (u32, u32) = (5, 2);

/// A terminal: the end that we keep, and the one that the command gets.
pub(crate) struct Terminal {
    /// Our end of the terminal: writing to it types, and reading from it returns the output.
    pub(crate) ours: OwnedFd,
    /// The standard streams of the command.
    pub(crate) commands: OwnedFd,
}

impl Terminal {
    /// Makes a terminal that belongs to a user.
    pub(crate) fn make(size: WindowSize, (uid, gid): (u32, u32), identity: &Identity) -> Result<Self, Errno> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let ours = identity.as_owner(uid, gid, || open(MAKER, flags, Mode::empty()))?;
        let found = fstat(&ours)?;
        let is_maker = (major(found.st_rdev), minor(found.st_rdev)) == DEVICE;
        if file_type(&found) != FileType::CharacterDevice || !is_maker {
            return Err(Errno::NOTTY);
        }
        let commands = sys::other_end(&ours)?;
        let mut modes = tcgetattr(&commands)?;
        modes.input_modes.insert(InputModes::IUTF8);
        tcsetattr(&commands, OptionalActions::Now, &modes)?;
        resize(&ours, size)?;
        Ok(Self { ours, commands })
    }
}

/// Changes the size of a terminal; the kernel notifies programs in it.
pub(crate) fn resize(terminal: &OwnedFd, size: WindowSize) -> Result<(), Errno> {
    let WindowSize { rows, columns } = size;
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
}
