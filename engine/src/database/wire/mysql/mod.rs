//! Follows the protocol of MySQL and MariaDB.

mod answers;
mod fault;
mod handshake;

use std::collections::VecDeque;
use std::sync::Arc;

use gateways::faults::Fault;
use scenario::spec::sections::ServiceMode;

use super::super::Database;
use super::faulted::Refused;
use super::frames::{Frame, Frames, Kind};
use super::ledger::Ledger;
use super::session::Session;
use super::sql::{Dialect, Effect, Script, Statement};
use super::{Conversation, Passed, Unfollowable};
use handshake::{FirstPacket, Greeting, Login};

/// Number of bytes of a client's packet that are kept.
const KEPT_OF_CLIENT: usize = 1 << 20;
/// Number of bytes of a server's packet that are kept.
const KEPT_OF_SERVER: usize = 1 << 10;
/// Number of commands that can wait for their answers.
const MOST_WAITING: usize = 1 << 12;

/// A connection to MySQL or MariaDB.
#[derive(Debug)]
pub(super) struct MySql {
    greeting: FirstPacket,
    login: FirstPacket,
    client: Frames,
    server: Frames,
    session: Session,
    dialect: Dialect,
    logged_in: bool,
    waiting: VecDeque<PendingCommand>,
    stage: Stage,
    /// True while the client sends a file.
    sends_file: bool,
    rows: u64,
    in_transaction: bool,
    /// True when a write outside of a transaction is committed by itself.
    autocommit: bool,
    /// Faults whose statements failed for another reason, or got no answer.
    undone: Vec<Fault<ServiceMode>>,
}

/// A command of the client that is answered.
#[derive(Debug)]
enum PendingCommand {
    /// The text of statements, or a prepared one.
    Run(VecDeque<Arc<Statement>>),
    Prepare(Arc<Statement>),
    Fetch,
    Fields,
    /// A packet of any kind.
    Anything,
    /// `OK` or an error, and then this is the database.
    Plain(Option<String>),
    /// A reset, after which everything of the session is forgotten.
    Reset,
    /// Another login, into this database.
    ChangeUser(Option<String>),
    /// A statement in whose place something harmless was sent.
    Refused(Box<Refused>),
}

/// Stage of the first command's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    First,
    Columns(u64),
    ColumnsEnd,
    Rows,
    Definitions(u64),
}

impl MySql {
    /// A new connection to a service that was made for the database `home`.
    pub(super) fn new(home: Option<String>, ledger: Arc<Ledger>) -> Self {
        Self {
            greeting: FirstPacket::default(),
            login: FirstPacket::default(),
            client: Frames::new(Kind::MySql, KEPT_OF_CLIENT),
            server: Frames::new(Kind::MySql, KEPT_OF_SERVER),
            session: Session::new(Database::MySql, home, ledger),
            dialect: Dialect::mysql(0, false),
            logged_in: false,
            waiting: VecDeque::new(),
            stage: Stage::First,
            sends_file: false,
            rows: 0,
            in_transaction: false,
            autocommit: true,
            undone: Vec::new(),
        }
    }

    /// Takes one packet of the client.
    fn asked(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        // What is said about passwords.
        let logs_in = !self.logged_in || matches!(self.waiting.front(), Some(PendingCommand::ChangeUser(_)));
        if !self.logged_in && frame.tag == 0 {
            return Err(Unfollowable::new("a command before the login was accepted"));
        }
        if logs_in && (frame.tag != 0 || !self.logged_in) {
            return Ok(());
        }
        // The numbers of a long file's packets begin anew.
        if self.sends_file {
            self.sends_file = !frame.body.is_empty();
            return Ok(());
        }
        if frame.tag != 0 {
            return Err(Unfollowable::new("a packet out of its order"));
        }
        let Some(asked) = self.command(frame)? else { return Ok(()) };
        match &asked {
            PendingCommand::Run(statements) => self.hold(statements.iter().map(|one| one.weight()).sum())?,
            PendingCommand::Prepare(statement) => self.hold(statement.weight())?,
            _ => {}
        }
        if self.waiting.len() >= MOST_WAITING {
            return Err(Unfollowable::new("too many commands wait for an answer"));
        }
        self.waiting.push_back(asked);
        Ok(())
    }

    /// Holds something more of statements, within the weight limit of everything that is held but the prepared ones.
    fn hold(&mut self, more: usize) -> Result<(), Unfollowable> {
        let waiting = self.waiting.iter().flat_map(|asked| match asked {
            PendingCommand::Run(statements) => statements.iter().collect::<Vec<_>>(),
            PendingCommand::Prepare(statement) => vec![statement],
            _ => Vec::new(),
        });
        self.session.hold(more, waiting)
    }

    /// Reads a command; `None` when it has no answer.
    fn command(&mut self, frame: &Frame) -> Result<Option<PendingCommand>, Unfollowable> {
        let Some((command, rest)) = frame.body.split_first() else {
            return Err(Unfollowable::new("an empty command"));
        };
        let read = |text: &[u8]| Script::read(self.dialect, text).statements;
        let text = || String::from_utf8_lossy(&rest[..rest.len().min(256)]).into_owned();
        Ok(Some(match command {
            // QUIT, SEND_LONG_DATA.
            0x01 | 0x18 => return Ok(None),
            0x02 => PendingCommand::Plain(Some(text())),
            0x03 => PendingCommand::Run(read(rest)),
            0x04 => PendingCommand::Fields,
            // REFRESH, SHUTDOWN, PROCESS_KILL, DEBUG, PING, STMT_RESET, SET_OPTION.
            0x07 | 0x08 | 0x0c | 0x0d | 0x0e | 0x1a | 0x1b => PendingCommand::Plain(None),
            0x09 => PendingCommand::Anything,
            // PROCESS_INFO answers with rows.
            0x0a => PendingCommand::Run(VecDeque::from([Arc::default()])),
            0x11 => PendingCommand::ChangeUser(handshake::database_of_change(rest)),
            0x16 => PendingCommand::Prepare(read(rest).pop_front().unwrap_or_default()),
            0x17 => {
                let prepared = self.session.prepared(&key(rest));
                PendingCommand::Run(prepared.into_iter().collect())
            }
            0x19 => {
                self.session.forget(&key(rest));
                return Ok(None);
            }
            0x1c => PendingCommand::Fetch,
            0x1f => PendingCommand::Reset,
            other => return Err(Unfollowable::new(format!("the command 0x{other:02x}, which is not a client's"))),
        }))
    }
}

/// The key of a prepared statement by its number, which no name in SQL can be.
fn key(bytes: &[u8]) -> Vec<u8> {
    let mut key = vec![0];
    key.extend_from_slice(&bytes[..bytes.len().min(4)]);
    key
}

impl Conversation for MySql {
    fn client_said(&mut self, bytes: &[u8]) -> Result<Passed, Unfollowable> {
        let mut rest = bytes;
        let mut passed = Passed::default();
        if let Some(mut packet) = self.login.take(&mut rest)? {
            let login = Login::weaken(&mut packet)?;
            self.session.current = login.database;
            passed.to_server = packet;
        }
        if !self.login.is_over() {
            return Ok(passed);
        }
        passed.to_server.extend_from_slice(rest);
        while let Some(frame) = self.client.next(&mut rest).map_err(Unfollowable::new)? {
            self.asked(&frame)?;
        }
        Ok(passed)
    }

    fn server_said(&mut self, bytes: &[u8]) -> Result<Passed, Unfollowable> {
        let mut rest = bytes;
        let mut passed = Passed::default();
        if let Some(mut packet) = self.greeting.take(&mut rest)? {
            let greeting = Greeting::weaken(&mut packet)?;
            let wants_reads = self.dialect.wants_reads;
            self.dialect = Dialect { wants_reads, ..Dialect::mysql(greeting.version, greeting.mariadb) };
            passed.to_client = packet;
        }
        if !self.greeting.is_over() {
            return Ok(passed);
        }
        passed.to_client.extend_from_slice(rest);
        while let Some(frame) = self.server.next(&mut rest).map_err(Unfollowable::new)? {
            self.answered(&frame)?;
        }
        Ok(passed)
    }

    fn is_quiet(&self) -> bool {
        self.waiting.is_empty()
    }

    fn end(&mut self) {
        for asked in std::mem::take(&mut self.waiting) {
            match asked {
                PendingCommand::Run(statements) => {
                    statements.into_iter().for_each(|statement| self.may_have_run(statement));
                }
                PendingCommand::Refused(refused) => self.undone.push(refused.fault),
                _ => {}
            }
        }
        if self.in_transaction {
            self.session.roll_back();
        }
        self.session.commit();
    }
}

impl MySql {
    /// A statement whose answer is not known.
    fn may_have_run(&mut self, statement: Arc<Statement>) {
        let statement = self.session.resolve(Some(statement)).unwrap_or_default();
        match statement.effect {
            Effect::Begin | Effect::Commit => self.session.commit(),
            Effect::Rollback => self.session.roll_back(),
            _ if statement.commits => self.session.commit(),
            _ => {}
        }
        if statement.commits || matches!(statement.effect, Effect::Begin | Effect::Commit | Effect::Rollback) {
            self.in_transaction = statement.effect == Effect::Begin;
        }
        statement.targets.iter().for_each(|target| self.session.wrote(target, 1));
        if !self.in_transaction {
            self.session.commit();
        }
    }
}

#[cfg(test)]
mod tests;
