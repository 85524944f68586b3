//! Why the store could not do its work.

use std::io;
use std::path::PathBuf;

use crate::artifact_owner::ArtifactOwner;
use crate::unreadable_spec::UnreadableSpec;

/// Why the store could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused something, or cannot be reached.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// The database was made by a newer version, is damaged, or its disk cannot be written to.
    #[error(
        "the database `{path}` cannot be used: {reason}; is the disk full or read-only, or was it made by a newer touchstone?"
    )]
    Unusable {
        /// Where it is.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A database server does not answer, refuses us, or has a database that a newer version made.
    #[error("the database `{database}` at `{host}` cannot be used: {reason}")]
    Server {
        /// The server's name and port, or its socket.
        host: String,
        /// The database.
        database: String,
        /// The problem.
        reason: String,
    },
    /// A URL names no database.
    #[error(
        "the database URL cannot be used: {0}; give `postgres://USER:PASSWORD@HOST/DATABASE`, or the path of a SQLite file"
    )]
    DatabaseUrl(String),
    /// Another machine uses the SQLite file.
    #[error(
        "the database `{path}` belongs to another machine, `{owner}`, and this one is `{own}`: only the processes of one machine can share a SQLite file; for several machines use Postgres (`--database-url postgres://…`), or, when the file was moved or copied here and the other machine no longer uses it, make it this machine's with `touchstone gc --adopt-database`"
    )]
    OtherMachine {
        /// The file.
        path: String,
        /// The machine that uses it.
        owner: String,
        /// This machine.
        own: String,
    },
    /// A file of ours could not be used.
    #[error("cannot {operation} `{path}`: {cause}")]
    Files {
        /// The operation that failed.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// A row holds something that it cannot hold.
    #[error("the database holds something unexpected: {0}")]
    Damaged(String),
    /// Stored evidence is not what was stored.
    #[error("the evidence of {what} is not what was stored: {reason}")]
    Evidence {
        /// Whose evidence.
        what: String,
        /// The problem.
        reason: String,
    },
    /// Stored evidence is not in the artifact place any more.
    #[error(
        "the evidence of {what} is gone: `{place}` is not there; it was removed, or this is not the place where it was kept (`--artifacts`)"
    )]
    EvidenceGone {
        /// Whose evidence.
        what: String,
        /// Where it should be.
        place: String,
    },
    /// Another database owns the artifact place.
    #[error(
        "the artifact place `{place}` belongs to another database, {owner}, and this one is {own}: they would remove each other's evidence; give this one a place of its own (`--artifacts`, TOUCHSTONE_ARTIFACTS), or, when nothing uses the other database any more, make the place this one's with `touchstone gc --adopt-artifacts`"
    )]
    ForeignPlace {
        /// The place.
        place: String,
        /// The database that owns it.
        owner: Box<ArtifactOwner>,
        /// This database.
        own: Box<ArtifactOwner>,
    },
    /// Another copy of this database owns the artifact place.
    #[error(
        "the artifact place `{place}` belongs to another copy of this database, {owner}, and this one is {own}: they would remove and replace each other's evidence; when this copy takes the other one's place (it was restored, upgraded or moved), say so with `touchstone gc --adopt-artifacts`; when both are used, give this one a copy of the place (`--artifacts`, TOUCHSTONE_ARTIFACTS)"
    )]
    CopiedDatabase {
        /// The place.
        place: String,
        /// The copy that owns it.
        owner: Box<ArtifactOwner>,
        /// This copy.
        own: Box<ArtifactOwner>,
    },
    /// The artifact place has no mark of its owner, and holds things that this database does not know.
    #[error(
        "the artifact place `{place}` has no mark of its owner and holds {unknown} experiments or agents that this database does not know, so nothing is removed there: another database may use it; when none does, make it this one's with `touchstone gc --adopt-artifacts`"
    )]
    UnmarkedPlace {
        /// The place.
        place: String,
        /// The number of unknown experiments and agents.
        unknown: usize,
    },
    /// The mark of an artifact place cannot be read.
    #[error(
        "the owner of the artifacts cannot be told: `{place}` cannot be read ({reason}); restore it, or make the place this database's with `touchstone gc --adopt-artifacts`"
    )]
    UnreadableMark {
        /// Where the mark is.
        place: String,
        /// The problem.
        reason: String,
    },
    /// A spec that is kept cannot be read by this version.
    #[error(transparent)]
    Unreadable(#[from] UnreadableSpec),
    /// An artifact could not be used.
    #[error("cannot {operation} the artifact `{key}`: {cause}")]
    Artifact {
        /// The operation that failed.
        operation: &'static str,
        /// Its name.
        key: String,
        /// Why it failed.
        cause: String,
    },
    /// The given value cannot be parsed.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The request conflicts with the current state.
    #[error("{0}")]
    Conflict(String),
}

impl StoreError {
    /// Names what was done with a file.
    pub(crate) fn files(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Files { operation, path, cause }
    }

    /// True for errors about the evidence of one attempt, whose verdicts can still be read.
    #[must_use]
    pub fn is_about_evidence(&self) -> bool {
        matches!(self, Self::Evidence { .. } | Self::EvidenceGone { .. } | Self::Files { .. } | Self::Artifact { .. })
            || self.is_about_owner()
    }

    /// True for errors about the owner of the artifact place, which somebody has to choose.
    #[must_use]
    pub fn is_about_owner(&self) -> bool {
        matches!(
            self,
            Self::ForeignPlace { .. }
                | Self::CopiedDatabase { .. }
                | Self::UnmarkedPlace { .. }
                | Self::UnreadableMark { .. }
        )
    }

    /// Something stored cannot be read.
    pub(crate) fn damaged(what: impl std::fmt::Display) -> Self {
        Self::Damaged(what.to_string())
    }
}
