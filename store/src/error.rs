//! Why the store could not do its work.

use std::io;
use std::path::PathBuf;

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
        /// What is wrong with it.
        reason: String,
    },
    /// A database server does not answer, refuses us, or has a database that a newer version made.
    #[error("the database `{database}` at `{host}` cannot be used: {reason}")]
    Server {
        /// The server's name and port, or its socket.
        host: String,
        /// The database.
        database: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A URL names no database.
    #[error(
        "the database URL cannot be used: {0}; give `postgres://USER:PASSWORD@HOST/DATABASE`, or the path of a SQLite file"
    )]
    DatabaseUrl(String),
    /// A file of ours could not be used.
    #[error("cannot {operation} `{path}`: {cause}")]
    Files {
        /// What was tried.
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
        /// What is wrong with it.
        reason: String,
    },
    /// A spec that is kept cannot be read by this version.
    #[error("{0}")]
    Unreadable(String),
    /// An artifact could not be used.
    #[error("cannot {operation} the artifact `{key}`: {cause}")]
    Artifact {
        /// What was tried.
        operation: &'static str,
        /// Its name.
        key: String,
        /// Why it failed.
        cause: String,
    },
    /// What was given cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// What was asked for cannot be done with things as they are.
    #[error("{0}")]
    Conflict(String),
}

impl StoreError {
    /// Names what was done with a file.
    pub(crate) fn files(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Files { operation, path, cause }
    }

    /// Something stored cannot be read.
    pub(crate) fn damaged(what: impl std::fmt::Display) -> Self {
        Self::Damaged(what.to_string())
    }
}
