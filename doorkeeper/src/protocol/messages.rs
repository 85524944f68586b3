//! The messages.

use std::net::SocketAddr;

/// The first frame in each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The version of the protocol that the sender speaks.
    pub version: u16,
}

/// A request of the worker. `id` is the number that the answers carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Start a command. Answered by [`Event::Started`], [`Event::Data`] as it prints, and [`Event::Exited`]; or by
    /// [`Event::Failed`].
    Spawn {
        /// The number of the request, and of the command from now on.
        id: u32,
        /// The command to start.
        spawn: Spawn,
    },
    /// Give a command more to read on standard input, which [`Spawn::more_input`] left open. No bytes mean the end of it.
    /// Answered by [`Event::Done`] once all of it was taken, and only then comes the next piece; or by [`Event::Failed`] when
    /// the command reads no more.
    Input {
        /// The number of the request.
        id: u32,
        /// The command.
        command: u32,
        /// Bytes that it reads next.
        bytes: Vec<u8>,
    },
    /// Change the size of a command's terminal. Answered by [`Event::Done`].
    Resize {
        /// The number of the request.
        id: u32,
        /// The command.
        command: u32,
        /// The new size.
        size: WindowSize,
    },
    /// Send a signal to a command and all of its process group. Answered by [`Event::Done`].
    Signal {
        /// The number of the request.
        id: u32,
        /// The command.
        command: u32,
        /// The signal.
        signal: i32,
    },
    /// End every process but the doorkeeper. Commands get their [`Event::Exited`] first; then [`Event::Done`] says that
    /// nobody else is left, or [`Event::Failed`] names who did not end within ten seconds.
    KillAll {
        /// The number of the request.
        id: u32,
    },
    /// Send a signal to every process but the doorkeeper. Answered by [`Event::Done`], also when there is none.
    SignalAll {
        /// The number of the request.
        id: u32,
        /// The signal.
        signal: i32,
    },
    /// Open a listening (TCP) or bound (UDP) socket. Answered by [`Event::Descriptor`] with a non-blocking socket.
    Listen {
        /// The number of the request.
        id: u32,
        /// TCP or UDP.
        transport: Transport,
        /// Address to listen on.
        address: SocketAddr,
    },
    /// Start to connect to an address. Answered by [`Event::Descriptor`] with a non-blocking socket that may still be
    /// connecting: the worker waits until it is writable, and asks it for its error.
    Connect {
        /// The number of the request.
        id: u32,
        /// Address to connect to.
        address: SocketAddr,
    },
    /// Read a regular file: [`Event::Data`] on [`Stream::Out`], then [`Event::Done`]. When it fails, the number tells
    /// why: `EACCES` and `ENOENT` as the kernel says, `EXDEV` when the path leads out of the root, `ELOOP` for too many
    /// links, `ENXIO` for a pipe, socket or device, `EISDIR` for a folder.
    Read {
        /// The number of the request.
        id: u32,
        /// The folder that the path stays in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The path below the root.
        path: Vec<u8>,
        /// The most bytes to read.
        limit: u64,
    },
    /// Read the target of a link, as it is written: [`Event::Data`] on [`Stream::Out`], then [`Event::Done`]. The
    /// numbers of failures are those of [`Request::Read`], and `EINVAL` for a path that is no link.
    ReadLink {
        /// The number of the request.
        id: u32,
        /// The folder that the path stays in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The path below the root. The link at its end is not followed.
        path: Vec<u8>,
    },
    /// Write (a part of) a file, a folder or a link. Answered by [`Event::Done`].
    Write {
        /// The number of the request.
        id: u32,
        /// The file to write.
        file: WriteFile,
    },
    /// Write (a part of) a file below a folder, for a sandbox in which an agent acts. An existing file keeps its
    /// permissions. Answered by [`Event::Done`]; the numbers of failures are those of [`Request::Read`], and `EINVAL`
    /// for a path that is no file or has no name.
    Put {
        /// The number of the request.
        id: u32,
        /// The folder that the path stays in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The file to write. Its path is below the root.
        file: WriteFile,
    },
    /// Remove a file, or a folder with all that is in it. A link is removed itself. Answered by [`Event::Done`]; the
    /// numbers of failures are those of [`Request::Read`], and `EINVAL` for a path without a name.
    Remove {
        /// The number of the request.
        id: u32,
        /// The folder that the path stays in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The path below the root.
        path: Vec<u8>,
        /// User who removes it.
        uid: u32,
        /// The group of who removes it.
        gid: u32,
    },
    /// Set the permissions of a file or folder. Answered by [`Event::Done`]; the numbers of failures are those of
    /// [`Request::Read`], and `ELOOP` for a link.
    SetMode {
        /// The number of the request.
        id: u32,
        /// The folder that the path stays in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The path below the root. A link at its end is not followed.
        path: Vec<u8>,
        /// The permissions.
        mode: u32,
    },
    /// Fill a file system but for this many bytes, until [`Request::Unfill`] or the end of the connection. Answers to
    /// [`Request::Space`] mean nothing in the meantime. Answered by [`Event::Done`].
    Fill {
        /// The number of the request.
        id: u32,
        /// A folder on the file system.
        path: Vec<u8>,
        /// The bytes that stay free.
        leave: u64,
    },
    /// Give the room back. Answered by [`Event::Done`], also when none was taken.
    Unfill {
        /// The number of the request.
        id: u32,
    },
    /// List the entries below a path: [`Event::Entries`], then [`Event::Listed`]. Within a folder the entries are
    /// sorted, and those below an entry follow it. The entry of the path itself comes first, unless it is the root.
    Walk {
        /// The number of the request.
        id: u32,
        /// The folder that the path stays in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The path below the root: a folder to list, or a single entry. `.` is the root itself. A link at its end is
        /// not followed, unless the path ends in a slash.
        path: Vec<u8>,
        /// The most entries to list.
        most: u64,
        /// True when folders below are listed too.
        recursive: bool,
    },
    /// Take fingerprints of files, so that two moments can be compared. Answered by [`Event::Fingerprints`]. Bounded by
    /// its own frame: the worker asks for so few paths that the answer fits into one as well.
    Fingerprint {
        /// The number of the request.
        id: u32,
        /// The folder that the paths stay in; links that lead out of it are not followed.
        root: Vec<u8>,
        /// The paths below the root. A link at the end of one is not followed.
        paths: Vec<Vec<u8>>,
        /// The most bytes to read, of all files together.
        most_bytes: u64,
    },
    /// Copy everything below one folder into another, with owners, permissions and times. Existing entries are
    /// replaced; folders are filled. Answered by [`Event::Copied`].
    Copy {
        /// The number of the request.
        id: u32,
        /// The folder to copy from.
        from: Vec<u8>,
        /// The folder to copy into. It is made when it is not there.
        to: Vec<u8>,
    },
    /// Ask how full the file system of a path is, and how full it was at most while commands ran since the last time
    /// this was asked. Answered by [`Event::Space`].
    Space {
        /// The number of the request.
        id: u32,
        /// A path on the file system.
        path: Vec<u8>,
    },
    /// Ask for the resources of processes that ended since the last such request. Answered by [`Event::Used`].
    Used {
        /// The number of the request.
        id: u32,
    },
    /// Allow more bytes of a stream.
    Credit {
        /// The request that streams.
        id: u32,
        /// The stream of the command or job.
        stream: Stream,
        /// Number of bytes to add.
        bytes: u32,
    },
    /// Forget a request that streams: no more data is sent for it, and reading, listing or copying ends without an
    /// answer. A command is not ended by this: its output is dropped, and [`Event::Exited`] still comes.
    Cancel {
        /// The request.
        id: u32,
    },
    /// Stay when the connection ends: after this no more requests are taken on it, ended processes are reaped, and a
    /// signal ends it. Answered by [`Event::Done`], after which the doorkeeper hangs up; or by [`Event::Failed`] while
    /// anything else is under way. A doorkeeper that stays connects again when a visitor outside listens where the
    /// worker did; the end of such a visit ends everything that it started.
    Stay {
        /// The number of the request.
        id: u32,
    },
    /// End everything and exit.
    Shutdown,
}

/// A command to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spawn {
    /// The program and its arguments. A program without a slash is looked for in the `PATH` of `environment`.
    pub arguments: Vec<Vec<u8>>,
    /// The whole environment.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Working directory of the command.
    pub directory: Vec<u8>,
    /// The user; never [`super::DOORKEEPER_UID`].
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// All other groups. A doorkeeper that cannot become anybody else leaves them as they are.
    pub groups: Vec<u32>,
    /// First bytes of its standard input.
    pub stdin: Vec<u8>,
    /// True when standard input stays open after that, for [`Request::Input`].
    pub more_input: bool,
    /// A terminal of the sandbox's own for all three standard streams, instead of pipes. What is written to either output
    /// comes on [`Stream::Out`].
    pub terminal: Option<WindowSize>,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A stream.
    Tcp,
    /// Datagrams.
    Udp,
}

/// A stream of a request's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output, the content of a file, the entries of a folder.
    Out,
    /// Standard error.
    Err,
}

/// A file or part of a file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFile {
    /// The absolute path. Folders above it are made, owned like the file.
    pub path: Vec<u8>,
    /// Kind of the entry that is made there.
    pub kind: EntryKind,
    /// User who owns it.
    pub uid: u32,
    /// The group that owns it.
    pub gid: u32,
    /// The permissions.
    pub mode: u32,
    /// The content of a file, or where a link leads.
    pub content: Vec<u8>,
    /// True when the content is added to a file that an earlier request made.
    pub append: bool,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// An answer of the doorkeeper. `id` is the number of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The request was carried out.
    Done {
        /// The number of the request.
        id: u32,
    },
    /// The request failed.
    Failed {
        /// The number of the request.
        id: u32,
        /// The failure.
        failure: Failure,
    },
    /// A command was started.
    Started {
        /// The number of the request.
        id: u32,
        /// The process.
        pid: u32,
    },
    /// A piece of a stream.
    Data {
        /// The number of the request.
        id: u32,
        /// The stream of the command or job.
        stream: Stream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A command ended. Everything that was in its streams by then was sent before; later output of processes that it
    /// left behind is not.
    Exited {
        /// The number of the request.
        id: u32,
        /// Its exit.
        exited: Exited,
    },
    /// A socket; its descriptor travels with this frame.
    Descriptor {
        /// The number of the request.
        id: u32,
    },
    /// Some entries of a folder, sorted within their folder. They count against the credit of [`Stream::Out`] by the
    /// length of their whole frame; [`Event::credit`] is that number.
    Entries {
        /// The number of the request.
        id: u32,
        /// The entries.
        entries: Vec<Entry>,
    },
    /// A folder was listed.
    Listed {
        /// The number of the request.
        id: u32,
        /// Outcome of the listing.
        listed: Listed,
    },
    /// Fingerprints of files.
    Fingerprints {
        /// The number of the request.
        id: u32,
        /// Fingerprints in the order of the request's paths; `None` where nothing is.
        fingerprints: Vec<Option<Fingerprint>>,
        /// Number of bytes that were read.
        bytes: u64,
    },
    /// A folder was copied.
    Copied {
        /// The number of the request.
        id: u32,
        /// Counts of the copied entries and bytes.
        copied: Copied,
    },
    /// Total and free space of a file system.
    Space {
        /// The number of the request.
        id: u32,
        /// The space.
        space: Space,
    },
    /// Resources that ended processes used.
    Used {
        /// The number of the request.
        id: u32,
        /// The resources.
        used: Used,
    },
    /// Work on files goes on. Sent every few seconds while nothing else is, so that silence means something else than much
    /// work.
    Working {
        /// The number of the request.
        id: u32,
    },
}

impl Event {
    /// The number of the request that it belongs to.
    #[must_use]
    pub fn id(&self) -> u32 {
        match self {
            Self::Done { id }
            | Self::Failed { id, .. }
            | Self::Started { id, .. }
            | Self::Data { id, .. }
            | Self::Exited { id, .. }
            | Self::Descriptor { id }
            | Self::Entries { id, .. }
            | Self::Listed { id, .. }
            | Self::Fingerprints { id, .. }
            | Self::Copied { id, .. }
            | Self::Space { id, .. }
            | Self::Used { id, .. }
            | Self::Working { id } => *id,
        }
    }
}

/// The failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The number that the kernel gave; 0 when the doorkeeper itself refused.
    pub errno: i32,
    /// The operation that was tried, and the error.
    pub message: String,
}

/// The exit of a command: its status, and the resources it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exited {
    /// Exit code, or the signal that killed it.
    pub status: Status,
    /// Time that it ran.
    pub wall_us: u64,
    /// Processor time of itself and of the children that it waited for.
    pub user_us: u64,
    /// The same in the kernel.
    pub system_us: u64,
    /// The most memory that one of these processes had.
    pub max_rss_kib: u64,
}

/// Resources that ended processes used.
///
/// A process is counted with the children that it waited for. Other children come to the doorkeeper, except those of a
/// process that told the kernel that it does not care for their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Processor time.
    pub user_us: u64,
    /// The same in the kernel.
    pub system_us: u64,
    /// The most memory that one process had.
    pub max_rss_kib: u64,
}

/// Exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The command exited with this code.
    Code(i32),
    /// The command was killed by this signal.
    Signal(i32),
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path below the root, beginning with the path that was asked for.
    pub path: Vec<u8>,
    /// Its kind.
    pub kind: EntryKind,
    /// Kind of the target of a link, inside the root and through further links; `None` when there is no target, or it
    /// is outside. The same as `kind` for everything that is no link.
    pub leads_to: Option<EntryKind>,
    /// The size in bytes; that of a link's target, and 0 for a link that leads nowhere.
    pub size: u64,
    /// Permissions.
    pub mode: u32,
    /// User who owns it.
    pub uid: u32,
    /// The group that owns it.
    pub gid: u32,
    /// The inode.
    pub inode: u64,
    /// When the content was changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When anything about it was changed, in nanoseconds since 1970. Unlike `modified_ns`, nobody can set this back.
    pub changed_ns: i64,
}

/// Fingerprint of a file at one moment. It differs when anything about the file differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// A digest (SHA-256) of kind, permissions, owners, size, the time of the last change, and the content of a file or
    /// the target of a link. Times alone do not tell: a write through a shared mapping changes none of them in memory.
    pub digest: [u8; 32],
    /// True when the content is part of it. It is not when it is more than may be read, or cannot be read.
    pub whole: bool,
}

/// Outcome of listing a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// True when there was more than was asked for, or folders so deep that their paths are longer than 4096 bytes.
    pub incomplete: bool,
}

/// Counts of copied entries and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of files.
    pub bytes: u64,
    /// Entries that cannot be copied: sockets and devices.
    pub skipped: u64,
}

/// Total and free space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Its size in bytes.
    pub total: u64,
    /// Free bytes.
    pub free: u64,
    /// The least that was free while commands ran, as far as it was seen. Only the file system of the watched path is
    /// watched; for any other this is the space that is free now.
    pub least_free: u64,
    /// Inodes that are free.
    pub free_inodes: u64,
}
