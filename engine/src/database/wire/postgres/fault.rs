//! Faults of statements of Postgres.

use std::sync::Arc;

use gateways::faults::Fault;
use scenario::spec::StatementCall;
use scenario::spec::sections::ServiceMode;

use super::super::super::Database;
use super::super::Unfollowable;
use super::super::faulted::{Failure, Faultable, Refused, Standing, call_of};
use super::super::frames::Kind;
use super::super::sql::{Effect, Script, Statement};
use super::{MOST_WAITING, PendingMessage, Postgres, Texts};

/// A text that fails in every state of a session. As a name, it is that of a statement that is never made.
const FAILING: &str = "touchstone_fault";
/// Number of earlier messages that are searched for the meaning of one.
const MOST_LOOKED_AT: usize = 1000;

impl Postgres {
    /// A statement that is not waited for any more. When the client was told nothing, there was no fault.
    pub(super) fn drop_refused(&mut self, refused: Refused) {
        if !refused.is_told {
            self.undone.push(refused.fault);
        }
    }

    /// The messages that wait for an answer, the latest first.
    fn latest(&self) -> impl Iterator<Item = &PendingMessage> {
        self.waiting.iter().rev().take(MOST_LOOKED_AT)
    }

    /// The statement of a portal that the client has just named.
    fn statement_of_portal(&self, portal: &[u8]) -> Option<Arc<Statement>> {
        let bound = self.latest().find_map(|asked| match asked {
            PendingMessage::Bind(name, statement) if name == portal => Some(statement),
            _ => None,
        });
        let statement = match bound {
            Some(name) => self.statement_of_name(name),
            None => self.portals.get(portal).and_then(|portal| portal.statement.clone()),
        };
        self.session.resolve(statement)
    }

    fn statement_of_name(&self, name: &[u8]) -> Option<Arc<Statement>> {
        let parsed = self.latest().find_map(|asked| match asked {
            PendingMessage::Parse(parsed, statement) if parsed == name => Some(Arc::clone(statement)),
            _ => None,
        });
        parsed.or_else(|| self.session.prepared(name))
    }

    /// Returns true if a transaction will be open once everything so far is answered.
    fn will_be_in_transaction(&self) -> bool {
        let of = |statement: &Statement| match statement.effect {
            Effect::Begin => Some(true),
            Effect::Commit | Effect::Rollback => Some(false),
            _ => None,
        };
        let decided = self.latest().find_map(|asked| match asked {
            PendingMessage::Query(statements) => statements.iter().rev().find_map(|statement| of(statement)),
            PendingMessage::Execute(portal) => self.statement_of_portal(portal).and_then(|statement| of(&statement)),
            _ => None,
        });
        decided.unwrap_or(self.in_transaction)
    }
}

impl Faultable for Postgres {
    fn kind(&self) -> Kind {
        Kind::Postgres
    }

    fn want_reads(&mut self) {
        self.dialect.wants_reads = true;
    }

    fn is_logged_in(&self) -> bool {
        self.logged_in
    }

    fn call(&self, message: &[u8]) -> Option<StatementCall> {
        let (tag, body) = (message.first()?, message.get(5..)?);
        let statements: Vec<_> = match tag {
            b'Q' => {
                let read = Script::read(self.dialect, Texts(body).next()).statements;
                read.into_iter().map(|one| self.session.resolve(Some(one)).unwrap_or_default()).collect()
            }
            // The server passes over it.
            b'E' if self.skipping => return None,
            b'E' => vec![self.statement_of_portal(Texts(body).next()).unwrap_or_default()],
            _ => return None,
        };
        let in_transaction = self.will_be_in_transaction();
        let standing = Standing { database: Database::Postgres, in_transaction, commits_alone: true };
        call_of(&statements, standing, || self.session.pending_tables())
    }

    /// The server fails by itself, so that it aborts a transaction and passes over what comes until the next `Sync`.
    fn refuse(&mut self, message: &[u8], fault: Fault<ServiceMode>) -> Result<Vec<u8>, Unfollowable> {
        if self.waiting.len() >= MOST_WAITING {
            return Err(Unfollowable::new("too many messages wait for an answer"));
        }
        let refused = Box::new(Refused::new(fault));
        if message.first() == Some(&b'Q') {
            self.waiting.push_back(PendingMessage::RefusedQuery(refused));
            return Ok(framed(b'Q', &format!("{FAILING}\0")));
        }
        self.waiting.push_back(PendingMessage::RefusedExecute(refused));
        Ok(framed(b'P', &format!("{FAILING}\0{FAILING}\0\0\0")))
    }

    fn replacement(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        if message.first() != Some(&b'E') || is_fatal(message) {
            return None;
        }
        let first = self.waiting.iter_mut().find(|asked| !matches!(asked, PendingMessage::CopyEnd));
        let Some(PendingMessage::RefusedQuery(refused) | PendingMessage::RefusedExecute(refused)) = first else {
            return None;
        };
        refused.is_told = true;
        Some(Failure::of(&refused.fault.mode, Database::Postgres).postgres("ERROR"))
    }

    fn undone(&mut self) -> Vec<Fault<ServiceMode>> {
        std::mem::take(&mut self.undone)
    }

    fn killed(&self) -> Vec<u8> {
        let message = "terminating connection due to administrator command".to_owned();
        Failure { sqlstate: "57P01".to_owned(), number: 0, message }.postgres("FATAL")
    }

    fn owed(&self) -> usize {
        let ends = |asked: &&PendingMessage| {
            matches!(
                asked,
                PendingMessage::Query(_)
                    | PendingMessage::Sync
                    | PendingMessage::Function
                    | PendingMessage::RefusedQuery(_)
            )
        };
        self.waiting.iter().filter(ends).count()
    }

    /// A portal is committed with the `Sync` after it.
    fn owed_later(&self, message: &[u8]) -> usize {
        usize::from(message.first() == Some(&b'E'))
    }

    fn tells_failure(&self, message: &[u8]) -> Option<bool> {
        match message.first() {
            Some(b'E') => Some(true),
            // A transaction that had failed before is undone by its `COMMIT`.
            Some(b'C') => Some(message.get(5..) == Some(b"ROLLBACK\0")),
            _ => None,
        }
    }
}

/// Returns true if the server ends the session.
fn is_fatal(message: &[u8]) -> bool {
    let fields = message.get(5..).unwrap_or_default().split(|byte| *byte == 0);
    fields.into_iter().any(|field| field == b"VFATAL" || field == b"VPANIC")
}

fn framed(tag: u8, body: &str) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&[tag], length.to_be_bytes().as_slice(), body.as_bytes()].concat()
}
