//! `service_faults`: faults of services that are containers, on the way to them.

use serde::Serialize;

use super::trigger::Trigger;
use crate::spec::ServiceMatcher;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, choice, finish_tagged, section, tagged};
use crate::spec::sections::Service;
use crate::spec::shape::Shape;
use crate::spec::types::{Many, ServiceGlob, SqlState, TableName, Whole};
use crate::spec::yaml::Node;

/// A time in milliseconds, up to a day.
type Milliseconds = Whole<0, 86_400_000>;

/// A fault of a container: where, when and what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceFault {
    /// The calls that the rule is about.
    pub target: ServiceTarget,
    /// The calls that are faulted.
    pub trigger: Trigger,
    /// The effect on the calls.
    pub mode: ServiceMode,
}

section! {
    /// The calls that a rule is about: statements of a Postgres or MySQL, connections of any other service.
    pub struct ServiceTarget {
        /// A service that is a container, or a glob over their names, in which `*` stands for any characters. A glob is about
        /// those services that the mode can hit.
        service: ServiceGlob,
        /// Only statements of these kinds. Postgres and MySQL only.
        statement: Option<Many<StatementKind>>,
        /// Only statements that name this table; a `COMMIT`, when its transaction wrote to it. Postgres and MySQL only.
        table: Option<TableName>,
    }
}

choice! {
    /// A kind of statement.
    pub enum StatementKind {
        /// `SELECT`, and what reads like it: `TABLE`, `VALUES`, `FETCH`, `SHOW`.
        Select = "select",
        /// `INSERT`, `REPLACE`, `COPY … FROM`, `LOAD DATA`.
        Insert = "insert",
        /// `UPDATE` and `MERGE`.
        Update = "update",
        /// `DELETE`.
        Delete = "delete",
        /// What changes tables and rights: `CREATE`, `ALTER`, `DROP`, `TRUNCATE`, `RENAME`, `GRANT`, `REVOKE`.
        Ddl = "ddl",
        /// `BEGIN` and `START TRANSACTION`.
        Begin = "begin",
        /// `COMMIT` and `END`.
        Commit = "commit",
        /// `ROLLBACK` and `ABORT`, also to a savepoint.
        Rollback = "rollback",
        /// Everything else, such as `SET`, `CALL` and `EXPLAIN`.
        Other = "other",
    }
}

#[expect(clippy::derivable_impls, reason = "`choice!` takes no derives")]
impl Default for StatementKind {
    fn default() -> Self {
        Self::Other
    }
}

impl StatementKind {
    /// Returns true if it writes to tables.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::Ddl)
    }

    /// Returns true if it can commit something: a commit, or a write outside of a transaction.
    #[must_use]
    pub fn is_commit(self) -> bool {
        self.is_write() || self == Self::Commit
    }
}

tagged! {
    /// A fault of a container. `mode` says what happens.
    pub enum ServiceMode by "mode" {
        /// A connection is closed as soon as it is opened.
        Refuse(ServiceRefuse) = "refuse",
        /// The connection is reset instead of an answer.
        Reset(ServiceReset) = "reset",
        /// No answer comes, and after a while the connection is closed.
        Hang(ServiceHang) = "hang",
        /// Everything takes longer.
        Slow(ServiceSlow) = "slow",
        /// The database ends the session with an error.
        KillSession(KillSession) = "kill_session",
        /// The database answers with an error.
        Error(SqlError) = "error",
        /// The database refuses writes.
        ReadOnly(ReadOnly) = "read_only",
        /// A commit takes effect, and its answer never comes.
        CommitUnknown(CommitUnknown) = "commit_unknown",
        /// The service stands still for a while.
        Pause(ServicePause) = "pause",
        /// The service crashes, and is started again.
        Restart(ServiceRestart) = "restart",
    }
}

section! {
    /// The connection is reset right after it is accepted, and the service does not see it. A call is a connection, of a database
    /// too. A client that only connects succeeds: the reset comes with its first read or write.
    pub struct ServiceRefuse {}
}

section! {
    /// The connection is reset. A statement of a database does not reach it; other services do not get the first bytes that the
    /// client sends on a connection.
    pub struct ServiceReset {}
}

section! {
    /// Nothing is answered for `delay_ms`, then the connection is closed. A statement of a database does not reach it; other
    /// services do not get the first bytes that the client sends on a connection.
    pub struct ServiceHang {
        /// How long nothing is answered.
        delay_ms: Milliseconds = Whole::new(30_000),
    }
}

section! {
    /// A statement reaches the database after a delay; a connection of another service is passed on after it. Rules after this one
    /// still apply.
    pub struct ServiceSlow {
        /// The delay.
        delay_ms: Milliseconds = Whole::new(5000),
        /// How much longer it may be: between nothing and this, chosen by the scenario's seed and the number of the call.
        jitter_ms: Milliseconds = Whole::new(0),
    }
}

section! {
    /// The statement does not reach the database. The session ends with the error of an administrator who ended it (Postgres
    /// 57P01, MySQL 1053), and what its transaction wrote is undone. Postgres and MySQL only.
    pub struct KillSession {}
}

section! {
    /// The statement does not reach the database, and is answered with an error. The connection goes on, and a transaction is in
    /// the state that the error leaves it in: failed in Postgres; open in MySQL, and undone by 40001. Postgres and MySQL only.
    pub struct SqlError {
        /// The code of the error: 40001 is a transaction that must be tried again, 53300 too many connections, 57014 a statement
        /// that took too long.
        sqlstate: SqlState,
        /// The message; without it, the database's own for usual codes.
        message: Option<String>,
    }
}

section! {
    /// Statements that write fail as they do at a replica (Postgres 25006, MySQL 1290). Reads pass, and are no calls of this rule.
    /// Postgres and MySQL only.
    pub struct ReadOnly {}
}

section! {
    /// A commit takes effect, and the connection is closed before its answer comes: an agent that tries again does it twice. Calls of
    /// this rule are `COMMIT`s of open transactions, and statements that write outside of one. A commit that the database refuses is
    /// answered as usual, and is no fault. Postgres and MySQL only.
    pub struct CommitUnknown {}
}

section! {
    /// All processes of the service are stopped for `delay_ms`, from the call on. Nobody gets an answer meanwhile; connections stay
    /// open, and what was sent is done when the service goes on.
    pub struct ServicePause {
        /// How long it stands still.
        delay_ms: Milliseconds = Whole::new(5000),
    }
}

section! {
    /// The service is killed at the call, and started again at once with the data that it has on disk. All its connections end,
    /// transactions that were open are lost, and so is what it had in memory; until it is ready again, new connections are closed.
    pub struct ServiceRestart {}
}

/// The thing that a rule counts at a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallUnit {
    /// A connection that is opened.
    Connection,
    /// A statement that the client sends.
    Statement,
}

impl ServiceFault {
    /// Returns the unit that this rule counts at a service, which depends on whether that is a Postgres or MySQL;
    /// `None` when the rule cannot hit such a service.
    #[must_use]
    pub fn unit(&self, is_database: bool) -> Option<CallUnit> {
        let is_narrowed = self.target.statement.is_some() || self.target.table.is_some();
        match self.mode {
            ServiceMode::Refuse(_) => Some(CallUnit::Connection),
            _ if is_database => Some(CallUnit::Statement),
            ServiceMode::Reset(_)
            | ServiceMode::Hang(_)
            | ServiceMode::Slow(_)
            | ServiceMode::Pause(_)
            | ServiceMode::Restart(_)
                if !is_narrowed =>
            {
                Some(CallUnit::Connection)
            }
            _ => None,
        }
    }

    /// Returns true if it can hit a service, as far as the spec tells: an image that a parameter names may be any.
    #[must_use]
    pub fn may_hit(&self, service: &Service) -> bool {
        let is_reached = service.mock().is_none() && (!service.ports().is_empty() || service.may_be_database());
        let is_about = ServiceMatcher::new(&self.target).is_some_and(|matcher| matcher.is_about(service.name()));
        is_reached && is_about && self.unit(service.may_be_database()).is_some()
    }
}

impl ServiceMode {
    /// Returns true if it hits all clients of the service, and not only the one that made the call.
    #[must_use]
    pub const fn is_about_whole_service(&self) -> bool {
        matches!(self, Self::Pause(_) | Self::Restart(_))
    }
}

impl Readable for ServiceFault {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let target = ServiceTarget::read_fields(&mut map, reader);
        let trigger = Trigger::read_fields(&mut map, reader);
        let mode = ServiceMode::read_variant(&mut map, reader);
        finish_tagged(&map, reader, "mode", ServiceMode::variants());
        Some(Self { target: target?, trigger: trigger?, mode: mode? })
    }

    fn shape() -> Shape {
        let mut common = ServiceTarget::section().fields;
        common.extend(Trigger::section().fields);
        ServiceMode::tagged_shape(common)
    }
}
