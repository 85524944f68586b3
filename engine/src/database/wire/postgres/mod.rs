//! Follows the protocol of Postgres.

mod answers;
mod fault;
mod startup;

use std::collections::{BTreeMap, VecDeque};
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
use startup::Startup;

/// Number of bytes of a client's message that are kept.
const KEPT_OF_CLIENT: usize = 1 << 20;
/// Number of bytes of a server's message that are kept: enough for the longest that matter.
const KEPT_OF_SERVER: usize = 1 << 10;
/// Number of messages that can wait for their answers.
const MOST_WAITING: usize = 1 << 16;
/// The longest name of a statement or portal.
const LONGEST_NAME: usize = 63;
/// Number of portals that one connection can have.
const MOST_PORTALS: usize = 10_000;

/// A connection to Postgres.
#[derive(Debug)]
pub(super) struct Postgres {
    startup: Startup,
    client: Frames,
    server: Frames,
    session: Session,
    dialect: Dialect,
    logged_in: bool,
    waiting: VecDeque<PendingMessage>,
    portals: BTreeMap<Vec<u8>, Portal>,
    /// After an error the server passes over everything until the next `Sync`.
    skipping: bool,
    /// True while the server takes rows from the client, and has not been told the last one.
    copying: bool,
    /// Rows since the last answer.
    rows: u64,
    /// True when something failed since the last end of a transaction.
    failed: bool,
    in_transaction: bool,
    /// Faults whose statements failed for another reason, or got no answer.
    undone: Vec<Fault<ServiceMode>>,
}

/// A message of the client that is answered.
#[derive(Debug)]
enum PendingMessage {
    Query(VecDeque<Arc<Statement>>),
    Parse(Vec<u8>, Arc<Statement>),
    Bind(Vec<u8>, Vec<u8>),
    Describe,
    Execute(Vec<u8>),
    Close(bool, Vec<u8>),
    Sync,
    Function,
    /// The end of rows: it has no answer of its own.
    CopyEnd,
    /// A text in whose place one that fails was sent.
    RefusedQuery(Box<Refused>),
    /// A portal in whose place something that fails was sent.
    RefusedExecute(Box<Refused>),
}

/// A statement that is ready to run.
#[derive(Debug, Clone, Default)]
struct Portal {
    statement: Option<Arc<Statement>>,
    /// Rows that were counted already, because it was not run to its end.
    counted: u64,
}

impl Postgres {
    /// A new connection to a service that was made for the database `home`.
    pub(super) fn new(home: Option<String>, ledger: Arc<Ledger>) -> Self {
        Self {
            startup: Startup::default(),
            client: Frames::new(Kind::Postgres, KEPT_OF_CLIENT),
            server: Frames::new(Kind::Postgres, KEPT_OF_SERVER),
            session: Session::new(Database::Postgres, home, ledger),
            dialect: Dialect::postgres(),
            logged_in: false,
            waiting: VecDeque::new(),
            portals: BTreeMap::new(),
            skipping: false,
            copying: false,
            rows: 0,
            failed: false,
            in_transaction: false,
            undone: Vec::new(),
        }
    }

    /// Takes one message of the client.
    fn asked(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        if !self.logged_in {
            // Passwords and their like.
            return if frame.tag == b'p' || frame.tag == b'X' { Ok(()) } else { Err(unexpected("client", frame.tag)) };
        }
        if self.skipping && !matches!(frame.tag, b'S' | b'X') {
            return Ok(());
        }
        let mut texts = Texts(&frame.body);
        let asked = match frame.tag {
            b'Q' => PendingMessage::Query(self.read(frame, texts.next())),
            b'P' => {
                let name = texts.next().to_vec();
                let statement = self.read(frame, texts.next()).pop_front().unwrap_or_default();
                PendingMessage::Parse(name, statement)
            }
            b'B' => PendingMessage::Bind(texts.next().to_vec(), texts.next().to_vec()),
            b'D' => PendingMessage::Describe,
            b'E' => PendingMessage::Execute(texts.next().to_vec()),
            b'C' => {
                let kind = frame.body.first().copied();
                let mut name = Texts(frame.body.get(1..).unwrap_or_default());
                PendingMessage::Close(kind == Some(b'S'), name.next().to_vec())
            }
            b'S' if self.copying => return Ok(()),
            b'S' => {
                self.skipping = false;
                PendingMessage::Sync
            }
            b'F' => PendingMessage::Function,
            b'c' | b'f' => {
                self.copying = false;
                PendingMessage::CopyEnd
            }
            b'd' | b'H' | b'X' | b'p' => return Ok(()),
            other => return Err(unexpected("client", other)),
        };
        let names: &[&Vec<u8>] = match &asked {
            PendingMessage::Bind(portal, statement) => &[portal, statement],
            PendingMessage::Parse(name, _) | PendingMessage::Execute(name) | PendingMessage::Close(_, name) => &[name],
            _ => &[],
        };
        if names.iter().any(|name| name.len() > LONGEST_NAME) {
            return Err(Unfollowable::new("a name that is longer than Postgres's"));
        }
        match &asked {
            PendingMessage::Query(statements) => self.hold(statements.iter().map(|one| one.weight()).sum())?,
            PendingMessage::Parse(_, statement) => self.hold(statement.weight())?,
            _ => {}
        }
        if self.waiting.len() >= MOST_WAITING {
            return Err(Unfollowable::new("too many messages wait for an answer"));
        }
        self.waiting.push_back(asked);
        Ok(())
    }

    /// The statements of a text. One that cannot be read has none, and then what the server answers has no known table.
    fn read(&self, frame: &Frame, text: &[u8]) -> VecDeque<Arc<Statement>> {
        let mut statements = Script::read(self.dialect, text).statements;
        if frame.is_cut {
            // The last one goes on with what was not kept.
            let last = statements.pop_back().as_deref().cloned().unwrap_or_default();
            statements.push_back(Arc::new(Statement { unclear: true, ..last }));
        }
        statements
    }

    /// Holds something more of statements, within the weight limit of everything that is held but the prepared ones.
    fn hold(&mut self, more: usize) -> Result<(), Unfollowable> {
        let waiting = self.waiting.iter().flat_map(|asked| match asked {
            PendingMessage::Query(statements) => statements.iter().collect::<Vec<_>>(),
            PendingMessage::Parse(_, statement) => vec![statement],
            _ => Vec::new(),
        });
        let portals = self.portals.values().filter_map(|portal| portal.statement.as_ref());
        self.session.hold(more, waiting.chain(portals))
    }

    fn bind(&mut self, portal: Vec<u8>, statement: &[u8]) -> Result<(), Unfollowable> {
        if self.portals.len() >= MOST_PORTALS && !self.portals.contains_key(&portal) {
            return Err(Unfollowable::new("too many portals"));
        }
        let statement = self.session.prepared(statement);
        self.hold(statement.as_ref().map_or(0, |statement| statement.weight()))?;
        self.portals.insert(portal, Portal { statement, counted: 0 });
        Ok(())
    }
}

impl Conversation for Postgres {
    fn client_said(&mut self, bytes: &[u8]) -> Result<Passed, Unfollowable> {
        let mut rest = bytes;
        let mut passed = self.startup.take(&mut rest)?;
        if let Some(database) = self.startup.database() {
            self.session.current = Some(database);
        }
        passed.to_server.extend_from_slice(rest);
        while let Some(frame) = self.client.next(&mut rest).map_err(Unfollowable::new)? {
            if self.startup.is_cancellation() {
                return Err(Unfollowable::new("bytes after the request to cancel"));
            }
            self.asked(&frame)?;
        }
        Ok(passed)
    }

    fn server_said(&mut self, bytes: &[u8]) -> Result<Passed, Unfollowable> {
        let mut rest = bytes;
        while let Some(frame) = self.server.next(&mut rest).map_err(Unfollowable::new)? {
            self.answered(&frame)?;
        }
        Ok(Passed { to_client: bytes.to_vec(), ..Passed::default() })
    }

    fn is_quiet(&self) -> bool {
        self.waiting.is_empty()
    }

    fn end(&mut self) {
        for asked in std::mem::take(&mut self.waiting) {
            match asked {
                PendingMessage::Query(statements) => {
                    statements.into_iter().for_each(|statement| self.may_have_run(statement));
                    self.may_have_ended();
                }
                PendingMessage::Execute(portal) => {
                    let statement = self.portals.get(&portal).and_then(|portal| portal.statement.clone());
                    self.may_have_run(statement.unwrap_or_default());
                }
                PendingMessage::Sync => self.may_have_ended(),
                PendingMessage::RefusedQuery(refused) | PendingMessage::RefusedExecute(refused) => {
                    self.drop_refused(*refused);
                }
                _ => {}
            }
        }
        // Nothing is kept before the end of a query, or the `Sync` after it.
        self.session.roll_back();
    }
}

impl Postgres {
    /// A statement whose answer is not known.
    fn may_have_run(&mut self, statement: Arc<Statement>) {
        let ends = matches!(statement.effect, Effect::Commit | Effect::Rollback);
        match statement.effect {
            Effect::Begin => self.in_transaction = true,
            Effect::Commit if !self.failed => self.session.commit(),
            Effect::Commit | Effect::Rollback => self.session.roll_back(),
            _ if self.failed => {}
            _ => {
                let unknown = || Arc::new(Statement { unclear: true, ..Statement::default() });
                let statement = self.session.resolve(Some(statement)).unwrap_or_else(unknown);
                statement.targets.iter().for_each(|target| self.session.wrote(target, 1));
                if statement.unclear {
                    self.session.wrote_unknown("changed", 1);
                }
            }
        }
        if ends {
            (self.in_transaction, self.failed) = (false, false);
        }
    }

    /// The server keeps here what is in no transaction that goes on.
    fn may_have_ended(&mut self) {
        if self.in_transaction {
            return;
        }
        if self.failed {
            self.session.roll_back()
        } else {
            self.session.commit()
        }
        self.failed = false;
    }
}

fn unexpected(who: &str, tag: u8) -> Unfollowable {
    Unfollowable::new(format!("an unexpected message `{}` of the {who}", tag.escape_ascii()))
}

/// Texts that end with a zero, one after the other.
struct Texts<'a>(&'a [u8]);

impl<'a> Texts<'a> {
    fn next(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.0).unwrap_or(self.0.len());
        let text = &self.0[..end];
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        text
    }
}

#[cfg(test)]
mod tests;
