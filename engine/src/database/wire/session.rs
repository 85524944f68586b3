//! State of one connection: its writes that are not committed yet, and the statements and tables that its names stand
//! for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::Database;
use super::Unfollowable;
use super::ledger::{Ledger, UNKNOWN, Writes};
use super::sql::{Effect, Statement, Target};

/// Number of prepared statements and temporary tables that one connection can have.
const MOST_NAMES: usize = 10_000;
/// Weight limit of all statements that one connection holds, until they are weighed anew; then, half of it.
const MOST_WEIGHT: usize = 20_000;

/// State of one connection.
#[derive(Debug)]
pub(super) struct Session {
    database: Database,
    /// The database that the service was made for: its tables are named without it.
    home: Option<String>,
    /// The database that this connection is in.
    pub(super) current: Option<String>,
    prepared: BTreeMap<Vec<u8>, Arc<Statement>>,
    temporary: BTreeSet<String>,
    pending_temporary: BTreeSet<String>,
    /// Tables of the transaction that are gone at its end.
    transient: BTreeSet<String>,
    pending: Writes,
    /// Weight of the statements that are held, which is limited.
    weight: usize,
    ledger: Arc<Ledger>,
}

impl Session {
    /// A connection to a database that was made for `home`.
    pub(super) fn new(database: Database, home: Option<String>, ledger: Arc<Ledger>) -> Self {
        Self {
            database,
            home,
            current: None,
            prepared: BTreeMap::new(),
            temporary: BTreeSet::new(),
            pending_temporary: BTreeSet::new(),
            transient: BTreeSet::new(),
            pending: Writes::default(),
            weight: 0,
            ledger,
        }
    }

    /// Remembers a statement by its name.
    pub(super) fn prepare(&mut self, name: &[u8], statement: Arc<Statement>) -> Result<(), Unfollowable> {
        if self.prepared.len() >= MOST_NAMES && !self.prepared.contains_key(name) {
            return Err(Unfollowable::new("too many prepared statements"));
        }
        self.prepared.insert(name.to_owned(), statement);
        Ok(())
    }

    /// Holds something more, beside what `others` hold already and the prepared statements.
    pub(super) fn hold<'a>(
        &mut self,
        more: usize,
        others: impl Iterator<Item = &'a Arc<Statement>>,
    ) -> Result<(), Unfollowable> {
        self.weight = self.weight.saturating_add(more);
        if self.weight > MOST_WEIGHT {
            let prepared: usize = self.prepared.values().map(|one| one.weight()).sum();
            self.weight = more + prepared + others.map(|one| one.weight()).sum::<usize>();
            if self.weight > MOST_WEIGHT / 2 {
                return Err(Unfollowable::new("too many statements are held at once"));
            }
        }
        Ok(())
    }

    /// The statement with this name.
    pub(super) fn prepared(&self, name: &[u8]) -> Option<Arc<Statement>> {
        self.prepared.get(name).map(Arc::clone)
    }

    /// Forgets a statement.
    pub(super) fn forget(&mut self, name: &[u8]) {
        self.prepared.remove(name);
    }

    /// Forgets all statements and temporary tables.
    pub(super) fn reset(&mut self) {
        self.prepared.clear();
        self.temporary.clear();
        self.pending_temporary.clear();
        self.transient.clear();
    }

    /// Resolves a statement: that of the prepared one, when it runs one. `None` when that is not known.
    pub(super) fn resolve(&self, statement: Option<Arc<Statement>>) -> Option<Arc<Statement>> {
        let statement = statement?;
        match &statement.effect {
            Effect::Execute(name) => self.prepared(name.as_bytes()),
            Effect::ExplainedExecute(name) => {
                let mut done = self.prepared(name.as_bytes()).as_deref().cloned()?;
                done.targets.iter_mut().for_each(|target| target.is_main = false);
                Some(Arc::new(Statement { effect: Effect::Explained, ..done }))
            }
            _ => Some(statement),
        }
    }

    /// Keeps what a statement that succeeded changed besides tables.
    pub(super) fn succeeded(&mut self, statement: &Statement) -> Result<(), Unfollowable> {
        match &statement.effect {
            Effect::Prepare(name, inner) => self.prepare(name.as_bytes(), Arc::clone(inner))?,
            Effect::Use(name) => self.current = Some(name.clone()),
            Effect::Discard => self.reset(),
            Effect::Deallocate(name) => self.forget(name.as_bytes()),
            Effect::DeallocateAll => self.prepared.clear(),
            _ => {}
        }
        Ok(())
    }

    /// Notes a write, which counts once it is committed.
    pub(super) fn wrote(&mut self, target: &Target, rows: u64) {
        let is_postgres = self.database == Database::Postgres;
        let key = match is_postgres {
            true => target.table.clone(),
            false => {
                [target.schema.as_ref().or(self.current.as_ref()).map_or("", String::as_str), &target.table].join(".")
            }
        };
        let in_temporary = is_postgres && target.schema.as_ref().is_some_and(|schema| schema.starts_with("pg_temp"));
        if target.temporary || (in_temporary && target.operation == "create") {
            if self.temporary.len() + self.pending_temporary.len() + self.transient.len() < MOST_NAMES {
                let tables = if target.until_commit { &mut self.transient } else { &mut self.pending_temporary };
                tables.insert(key);
            }
            return;
        }
        // A temporary table may hide one that was there before: then it may be that one again by now.
        let is_elsewhere = is_postgres && target.schema.is_some();
        let known = [&self.temporary, &self.pending_temporary, &self.transient];
        let is_hidden = !is_elsewhere && known.iter().any(|tables| tables.contains(&key));
        let is_temporary = in_temporary || (is_hidden && !self.ledger.knows(&key));
        if is_temporary && target.operation == "drop" {
            for tables in [&mut self.temporary, &mut self.pending_temporary, &mut self.transient] {
                tables.remove(&key);
            }
        }
        if !is_temporary {
            self.pending.add(self.name(target), target.operation, rows);
        }
    }

    /// Notes a write to a table that is not known.
    pub(super) fn wrote_unknown(&mut self, operation: &'static str, rows: u64) {
        self.pending.add(UNKNOWN.to_owned(), operation, rows);
    }

    /// The tables that were written to since the last commit.
    pub(super) fn pending_tables(&self) -> Vec<String> {
        self.pending.iter().map(|(table, ..)| table.to_owned()).collect()
    }

    /// A table's name: without what is meant by default.
    fn name(&self, target: &Target) -> String {
        let Target { schema, table, .. } = target;
        let is_home = self.current.is_none() || self.current == self.home;
        match self.database {
            Database::Postgres => {
                let schema = schema.as_deref().filter(|schema| *schema != "public");
                match (is_home, schema) {
                    (true, None) => table.clone(),
                    (true, Some(schema)) => format!("{schema}.{table}"),
                    (false, schema) => {
                        let current = self.current.as_deref().unwrap_or_default();
                        format!("{current}.{}.{table}", schema.unwrap_or("public"))
                    }
                }
            }
            Database::MySql => match schema.as_ref().or(self.current.as_ref()) {
                Some(schema) if Some(schema) != self.home.as_ref() => format!("{schema}.{table}"),
                _ => table.clone(),
            },
        }
    }

    /// Keeps the writes of the transaction.
    pub(super) fn commit(&mut self) {
        let kept = std::mem::take(&mut self.pending_temporary);
        self.temporary.extend(kept);
        self.transient.clear();
        if !self.pending.is_empty() {
            self.ledger.add(std::mem::take(&mut self.pending));
        }
    }

    /// Undoes the writes of the transaction.
    pub(super) fn roll_back(&mut self) {
        self.pending = Writes::default();
        self.pending_temporary.clear();
        self.transient.clear();
    }

    /// A part of it may be undone; which part, only the server knows. So the writes count, and tables that may be gone are
    /// not taken for temporary any more.
    pub(super) fn roll_back_partly(&mut self) {
        self.pending_temporary.clear();
        self.transient.clear();
    }
}
