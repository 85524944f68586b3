//! Reads Postgres's answers, and applies them to the messages that were sent.

use std::sync::Arc;

use super::super::Unfollowable;
use super::super::frames::Frame;
use super::super::sql::{Effect, Statement};
use super::{PendingMessage, Postgres, Texts, unexpected};

/// Encodings whose letters can hold a quote or a backslash.
const UNREADABLE: [&str; 7] = ["SJIS", "SHIFT_JIS_2004", "BIG5", "GBK", "UHC", "GB18030", "JOHAB"];
/// Tags that do not tell a write.
const SILENT: [&str; 5] = ["SELECT", "EXPLAIN", "FETCH", "MOVE", "COPY"];
/// Tags of answers, and the operation that each counts for the table that the statement names first.
const COUNTED: [(&str, &str); 5] =
    [("INSERT", "insert"), ("UPDATE", "update"), ("DELETE", "delete"), ("MERGE", "merge"), ("COPY", "copy")];
/// Tags without a number of rows, of statements that change tables.
const UNCOUNTED: [(&str, &str); 5] = [
    ("TRUNCATE TABLE", "truncate"),
    ("DROP TABLE", "drop"),
    ("ALTER TABLE", "alter"),
    ("CREATE TABLE", "create"),
    ("DROP SCHEMA", "drop"),
];

impl Postgres {
    /// Takes one message of the server.
    pub(super) fn answered(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        match frame.tag {
            b'N' | b'A' => return Ok(()),
            b'S' => return self.setting(frame),
            b'R' | b'K' | b'v' if !self.logged_in => return Ok(()),
            b'E' => return self.error(),
            b'Z' => return self.ready(frame),
            b'W' => return Err(Unfollowable::new("a stream of replication")),
            _ if !self.logged_in => return Err(unexpected("server", frame.tag)),
            _ => {}
        }
        self.pass_copy_ends();
        match (frame.tag, self.waiting.front()) {
            (b'1', Some(PendingMessage::Parse(..)))
            | (b'2', Some(PendingMessage::Bind(..)))
            | (b'3', Some(PendingMessage::Close(..)))
            | (b'n' | b'T', Some(PendingMessage::Describe)) => self.prepared(),
            (b't', Some(PendingMessage::Describe)) | (b'T' | b'I', Some(PendingMessage::Query(_))) => Ok(()),
            (b'D' | b'd' | b'c' | b'H', Some(PendingMessage::Query(_) | PendingMessage::Execute(_))) => {
                self.rows += u64::from(frame.tag == b'D');
                Ok(())
            }
            (b'G', Some(PendingMessage::Query(_) | PendingMessage::Execute(_))) => {
                self.copy_begins();
                Ok(())
            }
            (b'C', Some(PendingMessage::Query(_) | PendingMessage::Execute(_))) => self.complete(frame),
            (b's', Some(PendingMessage::Execute(_))) => self.suspended(),
            (b'I', Some(PendingMessage::Execute(_))) => {
                self.waiting.pop_front();
                Ok(())
            }
            (b'V', Some(PendingMessage::Function)) => Ok(()),
            (other, _) => Err(unexpected("server", other)),
        }
    }

    fn pass_copy_ends(&mut self) {
        while matches!(self.waiting.front(), Some(PendingMessage::CopyEnd)) {
            self.waiting.pop_front();
        }
    }

    /// A setting that decides how texts are read.
    fn setting(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        let mut texts = Texts(&frame.body);
        match (texts.next(), texts.next()) {
            (b"standard_conforming_strings", value) => self.dialect.backslashes = value != b"on",
            (b"client_encoding", value)
                if UNREADABLE.iter().any(|name| value.eq_ignore_ascii_case(name.as_bytes())) =>
            {
                return Err(Unfollowable::new("an encoding whose letters can hold quotes"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The first message is done, and was no statement that ran.
    fn prepared(&mut self) -> Result<(), Unfollowable> {
        match self.waiting.pop_front() {
            Some(PendingMessage::Parse(name, statement)) => self.session.prepare(&name, statement),
            Some(PendingMessage::Bind(portal, statement)) => self.bind(portal, &statement),
            Some(PendingMessage::Close(true, name)) => {
                self.session.forget(&name);
                Ok(())
            }
            Some(PendingMessage::Close(false, name)) => {
                self.portals.remove(&name);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Rows come from the client now. A `Sync` that it sent too early is passed over by the server.
    fn copy_begins(&mut self) {
        let end = self.waiting.iter().position(|asked| matches!(asked, PendingMessage::CopyEnd));
        self.copying = end.is_none();
        let end = end.unwrap_or(self.waiting.len());
        let mut index = 0;
        self.waiting.retain(|asked| {
            index += 1;
            index > end || !matches!(asked, PendingMessage::Sync)
        });
    }

    /// Handles an error: the first message that waits failed; with it, everything until the next `Sync`.
    fn error(&mut self) -> Result<(), Unfollowable> {
        self.failed = true;
        self.rows = 0;
        self.copying = false;
        self.pass_copy_ends();
        match self.waiting.front_mut() {
            // Before the login, or for a reason of the server's own: the end follows.
            None => {}
            Some(PendingMessage::Query(statements)) => statements.clear(),
            Some(PendingMessage::Function | PendingMessage::Sync | PendingMessage::RefusedQuery(_)) => {}
            Some(_) => {
                while !matches!(self.waiting.front(), None | Some(PendingMessage::Sync)) {
                    if let Some(PendingMessage::RefusedExecute(refused)) = self.waiting.pop_front() {
                        self.drop_refused(*refused);
                    }
                }
                self.skipping = self.waiting.is_empty();
            }
        }
        Ok(())
    }

    /// The server waits, and says whether a transaction is open.
    fn ready(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        let status = frame.body.first().copied().unwrap_or(0);
        if !self.logged_in {
            (self.logged_in, self.failed) = (true, false);
            return Ok(());
        }
        self.pass_copy_ends();
        match self.waiting.pop_front() {
            Some(PendingMessage::Query(_) | PendingMessage::Sync | PendingMessage::Function) => {}
            Some(PendingMessage::RefusedQuery(refused)) => self.drop_refused(*refused),
            _ => return Err(unexpected("server", b'Z')),
        }
        self.rows = 0;
        self.in_transaction = status != b'I';
        if status == b'I' {
            if self.failed {
                self.session.roll_back()
            } else {
                self.session.commit()
            }
            self.failed = false;
            self.portals.clear();
        }
        Ok(())
    }

    /// A portal gave the rows that were asked for, and has more. What it writes is written already.
    fn suspended(&mut self) -> Result<(), Unfollowable> {
        let Some(PendingMessage::Execute(name)) = self.waiting.pop_front() else { return Ok(()) };
        let rows = std::mem::take(&mut self.rows);
        let Some(portal) = self.portals.get_mut(&name) else { return Ok(()) };
        portal.counted += rows;
        let statement = portal.statement.clone();
        let statement = self.session.resolve(statement).unwrap_or_default();
        statement.targets.iter().for_each(|target| self.session.wrote(target, rows));
        Ok(())
    }

    /// A statement is done, and its tag says what it was.
    fn complete(&mut self, frame: &Frame) -> Result<(), Unfollowable> {
        self.rows = 0;
        self.copying = false;
        let tag = String::from_utf8_lossy(Texts(&frame.body).next()).into_owned();
        let (statement, counted) = match self.waiting.front_mut() {
            Some(PendingMessage::Query(statements)) => (statements.pop_front(), 0),
            Some(PendingMessage::Execute(name)) => {
                let portal = self.portals.get(name).cloned().unwrap_or_default();
                self.waiting.pop_front();
                (portal.statement, portal.counted)
            }
            _ => (None, 0),
        };
        let statement = self.session.resolve(statement);
        let statement = statement.map(|statement| self.fetched(statement, &tag));
        self.end_of_transaction(&tag, statement.as_deref());
        self.count(&tag, statement.as_ref(), counted);
        statement.map_or(Ok(()), |statement| self.session.succeeded(&statement))
    }

    /// `FETCH` runs what its portal was made for.
    fn fetched(&mut self, statement: Arc<Statement>, tag: &str) -> Arc<Statement> {
        let Effect::Fetch(name) = &statement.effect else { return statement };
        let Some(portal) = self.portals.get_mut(name.as_bytes()) else { return statement };
        portal.counted = portal.counted.saturating_add(rows_of(tag));
        let portal = portal.statement.clone();
        // One that is not known was made before its text could be.
        let unknown = || Arc::new(Statement { unclear: true, ..Statement::default() });
        self.session.resolve(portal).unwrap_or_else(unknown)
    }

    fn end_of_transaction(&mut self, tag: &str, statement: Option<&Statement>) {
        match tag {
            "COMMIT" | "PREPARE TRANSACTION" => {
                self.session.commit();
                self.failed = false;
            }
            "ROLLBACK" => match statement.map(|statement| &statement.effect) {
                Some(Effect::RollbackTo) => {
                    self.session.roll_back_partly();
                    self.failed = false;
                }
                // Also `COMMIT` of a transaction that had failed.
                Some(Effect::Rollback | Effect::Commit) => {
                    self.session.roll_back();
                    self.failed = false;
                }
                _ => self.session.roll_back_partly(),
            },
            _ => {}
        }
    }

    /// Notes what was written. A tag that does not fit to what was read is about a table that is not known.
    fn count(&mut self, tag: &str, statement: Option<&Arc<Statement>>, counted: u64) {
        let rows = rows_of(tag);
        let targets = statement.map(|statement| statement.targets.as_slice()).unwrap_or_default();
        let word = tag.split(' ').next().unwrap_or_default();
        let verb = COUNTED.iter().find(|(name, _)| *name == word).map(|(_, operation)| *operation);
        let uncounted = UNCOUNTED.iter().find(|(name, _)| *name == tag).map(|(_, operation)| *operation);
        if SILENT.contains(&word) && statement.is_none_or(|statement| statement.unclear) {
            self.session.wrote_unknown("changed", 1);
            return targets.iter().for_each(|target| self.session.wrote(target, 1));
        }
        let mains = || targets.iter().filter(|target| target.is_main);
        if let Some(operation) = verb {
            let is_copy_out = operation == "copy" && statement.is_some() && mains().next().is_none();
            let fitting: Vec<_> = mains().filter(|target| target.operation == operation).collect();
            let rows = rows.saturating_sub(counted);
            match fitting.as_slice() {
                _ if rows == 0 || is_copy_out => {}
                [] => self.session.wrote_unknown(operation, rows),
                some => some.iter().for_each(|target| self.session.wrote(target, rows)),
            }
        } else if let Some(operation) = uncounted.filter(|_| mains().next().is_none()) {
            self.session.wrote_unknown(operation, 0);
        } else {
            mains().for_each(|target| self.session.wrote(target, rows));
        }
        // The server tells no number for these.
        targets.iter().filter(|target| !target.is_main).for_each(|target| self.session.wrote(target, 1));
    }
}

/// The number of rows at the end of a tag.
fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
