//! Faults of statements of MySQL.

use gateways::faults::Fault;
use scenario::spec::StatementCall;
use scenario::spec::sections::ServiceMode;

use super::super::super::Database;
use super::super::Unfollowable;
use super::super::faulted::{Failure, Faultable, Refused, Standing, call_of};
use super::super::frames::Kind;
use super::super::sql::Script;
use super::{MOST_WAITING, MySql, PendingCommand, key};

const QUERY: u8 = 0x03;
const PING: u8 = 0x0e;
const EXECUTE: u8 = 0x17;
const RESET_STATEMENT: u8 = 0x1a;
/// The length of a packet's header.
const HEADER: usize = 4;

impl MySql {
    /// Handles the answer to a message that was sent in place of a statement. When the client was told nothing, there
    /// was no fault.
    pub(super) fn refused(&mut self, is_ok: bool) {
        let Some(PendingCommand::Refused(refused)) = self.waiting.pop_front() else { return };
        if is_ok && Failure::of(&refused.fault.mode, Database::MySql).undoes_transaction() {
            self.session.roll_back();
            self.in_transaction = false;
        }
        if !refused.is_told {
            self.undone.push(refused.fault);
        }
    }
}

impl Faultable for MySql {
    fn kind(&self) -> Kind {
        Kind::MySql
    }

    fn want_reads(&mut self) {
        self.dialect.wants_reads = true;
    }

    fn is_logged_in(&self) -> bool {
        self.logged_in
    }

    fn call(&self, message: &[u8]) -> Option<StatementCall> {
        let logs_in = matches!(self.waiting.front(), Some(PendingCommand::ChangeUser(_)));
        let (number, command) = (message.get(3)?, message.get(HEADER)?);
        // Rows of a file, passwords, and packets that go on.
        if self.sends_file || logs_in || *number != 0 {
            return None;
        }
        let rest = message.get(HEADER + 1..)?;
        let statements: Vec<_> = match *command {
            QUERY => {
                let read = Script::read(self.dialect, rest).statements;
                read.into_iter().map(|one| self.session.resolve(Some(one)).unwrap_or_default()).collect()
            }
            EXECUTE => vec![self.session.prepared(&key(rest)).unwrap_or_default()],
            _ => return None,
        };
        let in_transaction = self.in_transaction;
        let standing = Standing { database: Database::MySql, in_transaction, commits_alone: self.autocommit };
        call_of(&statements, standing, || self.session.pending_tables())
    }

    /// The server gets something without effect, so that answers keep their order; a deadlock undoes the transaction there, too.
    fn refuse(&mut self, message: &[u8], fault: Fault<ServiceMode>) -> Result<Vec<u8>, Unfollowable> {
        if self.waiting.len() >= MOST_WAITING {
            return Err(Unfollowable::new("too many commands wait for an answer"));
        }
        let undoes = Failure::of(&fault.mode, Database::MySql).undoes_transaction();
        self.waiting.push_back(PendingCommand::Refused(Box::new(Refused::new(fault))));
        let statement = message.get(HEADER + 1..HEADER + 5).filter(|_| message.get(HEADER) == Some(&EXECUTE));
        Ok(match statement {
            _ if undoes => packet(&[&[QUERY], b"ROLLBACK".as_slice()].concat()),
            // Parameters that were sent before are forgotten, as they are after any error.
            Some(number) => packet(&[&[RESET_STATEMENT], number].concat()),
            None => packet(&[PING]),
        })
    }

    fn replacement(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let is_ok = message.get(HEADER) == Some(&0);
        let Some(PendingCommand::Refused(refused)) = self.waiting.front_mut().filter(|_| is_ok) else { return None };
        refused.is_told = true;
        Some(Failure::of(&refused.fault.mode, Database::MySql).mysql())
    }

    fn undone(&mut self) -> Vec<Fault<ServiceMode>> {
        std::mem::take(&mut self.undone)
    }

    fn killed(&self) -> Vec<u8> {
        let message = "Server shutdown in progress".to_owned();
        Failure { sqlstate: "08S01".to_owned(), number: 1053, message }.mysql()
    }

    fn owed(&self) -> usize {
        self.waiting.len()
    }

    fn owed_later(&self, _: &[u8]) -> usize {
        0
    }

    fn tells_failure(&self, message: &[u8]) -> Option<bool> {
        Some(message.get(HEADER) == Some(&0xff))
    }
}

/// The packet of a command.
fn packet(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(0).to_le_bytes();
    [&length[..3], &[0], body].concat()
}
