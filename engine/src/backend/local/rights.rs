//! Rights of this process on this machine.

use doorkeeper::plan::Ids;

/// Rights of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    /// The process is root: sandboxes have many users.
    Root,
    /// The process is an unprivileged user: sandboxes have one user, who is root in there and nobody else outside.
    User {
        /// Its user.
        uid: u32,
        /// Its group.
        gid: u32,
    },
}

/// Number of users in a sandbox that root makes.
const MANY: u32 = 65536;

impl Rights {
    /// Returns the rights of this process.
    pub(super) fn of_this_process() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if uid == 0 { Self::Root } else { Self::User { uid, gid } }
    }

    /// Returns true if a sandbox has more than one user.
    pub(super) fn has_many_users(self) -> bool {
        self == Self::Root
    }

    /// Returns the word for the evidence.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Root => "namespaces",
            Self::User { .. } => "unprivileged namespaces",
        }
    }

    /// Maps the users of a sandbox to those of the host.
    pub(super) fn users(self) -> Ids {
        match self {
            Self::Root => Ids { inside: 0, outside: 0, count: MANY },
            Self::User { uid, .. } => Ids { inside: 0, outside: uid, count: 1 },
        }
    }

    /// Maps users and groups in the box of a service that runs as the user `number`. Returns no maps beside a sandbox
    /// whose users it can share.
    pub(super) fn of_service(self, number: u32, is_beside: bool) -> (Vec<Ids>, Vec<Ids>) {
        match self {
            Self::Root if is_beside => (Vec::new(), Vec::new()),
            Self::Root => (vec![self.users()], vec![self.groups()]),
            // The one user that there is, under the number that the program wants: a database refuses to run as root.
            Self::User { uid, gid } => {
                let only =
                    |outside| vec![Ids { inside: number, outside: if is_beside { 0 } else { outside }, count: 1 }];
                (only(uid), only(gid))
            }
        }
    }

    /// Maps the groups of a sandbox to those of the host.
    pub(super) fn groups(self) -> Ids {
        match self {
            Self::Root => Ids { inside: 0, outside: 0, count: MANY },
            Self::User { gid, .. } => Ids { inside: 0, outside: gid, count: 1 },
        }
    }
}
