//! Reads MySQL's answers, and applies them to the commands that were sent.

use std::sync::Arc;

use super::super::Unfollowable;
use super::super::frames::Frame;
use super::super::sql::{Effect, Statement};
use super::handshake::length_encoded;
use super::{MySql, PendingCommand, Stage, key};

const IN_TRANSACTION: u16 = 0x1;
const AUTOCOMMIT: u16 = 0x2;
const MORE_RESULTS: u16 = 0x8;
const CURSOR_EXISTS: u16 = 0x40;
const NO_BACKSLASHES: u16 = 0x200;
/// A deadlock: the whole transaction is undone.
const DEADLOCK: u16 = 1213;
/// Operations that are nothing when no row is touched.
const COUNTED: [&str; 5] = ["insert", "update", "delete", "replace", "load"];

/// Kind of a packet in an answer.
enum Packet {
    Ok { rows: u64, status: u16 },
    Error(u16),
    End(u16),
    Other,
}

impl Packet {
    fn of(body: &[u8]) -> Self {
        let status = |bytes: &[u8]| bytes.first_chunk::<2>().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        match body.first() {
            Some(0x00) => {
                let mut rest = &body[1..];
                let rows = length_encoded(&mut rest).unwrap_or(0);
                length_encoded(&mut rest);
                Self::Ok { rows, status: status(rest) }
            }
            Some(0xff) => Self::Error(status(&body[1..])),
            Some(0xfe) if body.len() < 9 => Self::End(status(body.get(3..).unwrap_or_default())),
            _ => Self::Other,
        }
    }
}

impl MySql {
    /// Takes one packet of the server.
    pub(super) fn answered(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        let body = frame.body.as_slice();
        if !self.logged_in {
            self.logged_in = body.first() == Some(&0);
            if let Packet::Ok { status, .. } = Packet::of(body) {
                self.autocommit = status & AUTOCOMMIT != 0;
            }
            return Ok(());
        }
        let Some(asked) = self.waiting.front() else {
            // A server that ends a connection says why, unasked.
            let is_error = matches!(Packet::of(body), Packet::Error(_));
            return if is_error { Ok(()) } else { Err(Unfollowable::new("an answer that nothing asked for")) };
        };
        match (self.stage, asked) {
            (Stage::Definitions(left), _) => self.definition(left),
            (Stage::Columns(left), _) => {
                self.stage = if left > 1 { Stage::Columns(left - 1) } else { Stage::ColumnsEnd };
            }
            (Stage::ColumnsEnd, _) => return self.columns_end(body),
            (Stage::Rows, _) | (Stage::First, PendingCommand::Fetch) => return self.row(body),
            (Stage::First, PendingCommand::Run(_)) => return self.first(body),
            (Stage::First, PendingCommand::Prepare(statement)) => {
                let statement = Arc::clone(statement);
                return self.prepared(body, statement);
            }
            (Stage::First, PendingCommand::Fields) => {
                if !matches!(Packet::of(body), Packet::Other | Packet::Ok { .. }) {
                    self.done();
                }
            }
            (Stage::First, PendingCommand::Anything) => self.done(),
            (Stage::First, PendingCommand::Refused(_)) => self.refused(matches!(Packet::of(body), Packet::Ok { .. })),
            (Stage::First, PendingCommand::Plain(_) | PendingCommand::Reset | PendingCommand::ChangeUser(_)) => {
                return self.plain(body);
            }
        }
        Ok(())
    }

    fn done(&mut self) {
        self.waiting.pop_front();
        self.stage = Stage::First;
        self.rows = 0;
        self.sends_file = false;
    }

    fn definition(&mut self, left: u64) {
        if left > 1 {
            self.stage = Stage::Definitions(left - 1);
        } else {
            self.done();
        }
    }

    /// The first packet of an answer to a statement.
    fn first(&mut self, body: &[u8]) -> Result<(), Unfollowable> {
        match (Packet::of(body), body.first()) {
            (Packet::Ok { rows, status }, _) => self.complete(rows, status, true),
            (Packet::Error(code), _) => {
                self.error(code);
                Ok(())
            }
            (_, Some(0xfb)) => {
                self.sends_file = true;
                Ok(())
            }
            _ => {
                let mut rest = body;
                let columns = length_encoded(&mut rest).filter(|columns| (1..=0xffff).contains(columns));
                let columns = columns.ok_or_else(|| Unfollowable::new("an answer that is not MySQL's"))?;
                (self.stage, self.rows) = (Stage::Columns(columns), 0);
                Ok(())
            }
        }
    }

    fn columns_end(&mut self, body: &[u8]) -> Result<(), Unfollowable> {
        match Packet::of(body) {
            Packet::End(status) if status & CURSOR_EXISTS != 0 => self.complete(0, status, false),
            Packet::End(_) => {
                self.stage = Stage::Rows;
                Ok(())
            }
            Packet::Error(code) => {
                self.error(code);
                Ok(())
            }
            _ => Err(Unfollowable::new("columns without an end")),
        }
    }

    fn row(&mut self, body: &[u8]) -> Result<(), Unfollowable> {
        match Packet::of(body) {
            Packet::End(status) if matches!(self.waiting.front(), Some(PendingCommand::Fetch)) => {
                self.settle(&Effect::None, status);
                self.done();
            }
            Packet::End(status) => return self.complete(self.rows, status, false),
            Packet::Error(code) => self.error(code),
            _ => self.rows += 1,
        }
        Ok(())
    }

    fn error(&mut self, code: u16) {
        if code == DEADLOCK {
            self.session.roll_back();
            self.in_transaction = false;
        } else if let Some(PendingCommand::Run(statements)) = self.waiting.front() {
            // What ends a transaction does so before it fails; and what is not known may be such.
            let failed = self.session.resolve(statements.front().cloned());
            if failed.is_none_or(|statement| statement.commits) {
                self.session.commit();
                self.in_transaction = false;
            }
        }
        self.done();
    }

    /// The answer to `COM_STMT_PREPARE`: a number, and how many columns and parameters are described.
    fn prepared(&mut self, body: &[u8], statement: Arc<Statement>) -> Result<(), Unfollowable> {
        if body.first() != Some(&0) {
            self.done();
            return Ok(());
        }
        let count = |at: usize| {
            let bytes = body.get(at..at + 2).and_then(<[u8]>::first_chunk::<2>);
            bytes.map_or(0, |bytes| u64::from(u16::from_le_bytes(*bytes)))
        };
        self.session.prepare(&key(body.get(1..).unwrap_or_default()), statement)?;
        let packets = [count(5), count(7)].into_iter().filter(|count| *count > 0).map(|count| count + 1).sum();
        if packets == 0 {
            self.done();
        } else {
            self.stage = Stage::Definitions(packets);
        }
        Ok(())
    }

    /// The answer to a command that is no statement.
    fn plain(&mut self, body: &[u8]) -> Result<(), Unfollowable> {
        let is_done = matches!(Packet::of(body), Packet::Ok { .. } | Packet::End(_));
        let is_error = matches!(Packet::of(body), Packet::Error(_));
        let logs_in = matches!(self.waiting.front(), Some(PendingCommand::ChangeUser(_)));
        // A login goes on with questions; one of them begins like an end.
        if logs_in && !is_error && body.first() != Some(&0) {
            return Ok(());
        }
        if !is_done && !is_error {
            return Err(Unfollowable::new("an answer that is not MySQL's"));
        }
        let asked = self.waiting.pop_front();
        match asked.filter(|_| is_done) {
            Some(PendingCommand::Plain(Some(database))) => self.session.current = Some(database),
            Some(PendingCommand::Reset) => self.begin_anew(),
            Some(PendingCommand::ChangeUser(database)) => {
                self.begin_anew();
                self.session.current = database;
            }
            _ => {}
        }
        self.stage = Stage::First;
        Ok(())
    }

    /// The server undoes what is open, and forgets the session.
    fn begin_anew(&mut self) {
        self.session.roll_back();
        self.session.reset();
        (self.in_transaction, self.autocommit) = (false, true);
    }

    /// Completes a result. A procedure's own results come before its `OK`.
    fn complete(&mut self, rows: u64, status: u16, is_ok: bool) -> Result<(), Unfollowable> {
        self.sends_file = false;
        let Some(PendingCommand::Run(statements)) = self.waiting.front_mut() else { return Ok(()) };
        let is_last = status & MORE_RESULTS == 0;
        let calls = |statement: &Arc<Statement>| statement.effect == Effect::Call;
        let goes_on = !is_ok && !is_last && statements.front().is_some_and(calls);
        let statement = if goes_on { Some(Arc::default()) } else { statements.pop_front() };
        let runs_unknown = matches!(statement.as_deref(), Some(Statement { effect: Effect::Execute(name), .. }) if self.session.prepared(name.as_bytes()).is_none());
        if runs_unknown && !is_last {
            // It may be a procedure with any number of results, so no later result can be told.
            statements.clear();
        }
        let statement = self.session.resolve(statement).unwrap_or_default();
        self.count(&statement, rows, is_ok);
        self.settle(&statement.effect, status);
        self.session.succeeded(&statement)?;
        if is_last {
            self.done();
        } else {
            (self.stage, self.rows) = (Stage::First, 0);
        }
        Ok(())
    }

    fn count(&mut self, statement: &Statement, rows: u64, is_ok: bool) {
        // Something was written, and the text did not tell where.
        if is_ok && rows > 0 && statement.targets.is_empty() && !statement.tells_rows {
            self.session.wrote_unknown("changed", rows);
        }
        for target in &statement.targets {
            let rows = if target.is_main { rows } else { 1 };
            if rows > 0 || !COUNTED.contains(&target.operation) {
                self.session.wrote(target, rows);
            }
        }
    }

    /// Applies an answer to the transaction. MySQL ends a transaction by itself before many statements, and reports
    /// that.
    fn settle(&mut self, effect: &Effect, status: u16) {
        match effect {
            Effect::Rollback => self.session.roll_back(),
            Effect::RollbackTo => self.session.roll_back_partly(),
            Effect::Begin | Effect::Commit => self.session.commit(),
            _ => {}
        }
        self.in_transaction = status & IN_TRANSACTION != 0;
        self.autocommit = status & AUTOCOMMIT != 0;
        if !self.in_transaction {
            self.session.commit();
        }
        self.dialect.backslashes = status & NO_BACKSLASHES == 0;
    }
}
