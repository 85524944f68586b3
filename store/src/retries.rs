//! Watches what is tried again until it works, so that nothing waits silently: the first failure and every tenth are told,
//! all are counted, and what fails now can be asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sea_query::{Expr, ExprTrait as _, Order, Query};

use crate::Store;
use crate::counters::count;
use crate::db::row;
use crate::error::StoreError;
use crate::number;
use crate::tables::Counters;

/// Of the failures in a row, the first is told and then each one with a multiple of this number.
const TELL_EVERY: u64 = 10;
/// The kind of counters with numbers of failures.
const KIND: &str = "retries";

/// All that a process tries again. Clones are the same.
#[derive(Clone)]
pub struct Retries(Arc<Inner>);

struct Inner {
    tell: Box<dyn Fn(String) + Send + Sync>,
    operations: Mutex<BTreeMap<&'static str, Operation>>,
}

/// Failures of one kind of operation.
#[derive(Debug, Default)]
struct Operation {
    /// All failures so far.
    total: u64,
    /// Of these, how many are counted in the database.
    counted: u64,
    /// Those that fail now, by the numbers of their observers.
    failing: BTreeMap<u64, Failing>,
    /// The number of the last observer.
    last: u64,
}

#[derive(Debug)]
struct Failing {
    failures: u64,
    reason: String,
}

impl fmt::Debug for Retries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Retries").field(&self.failing()).finish()
    }
}

impl Retries {
    /// Nothing is tried again yet. Failures worth a line in a log go to this function.
    pub fn told_to(tell: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { tell: Box::new(tell), operations: Mutex::default() }))
    }

    /// The same, with lines in the log of the process.
    #[must_use]
    pub fn logged() -> Self {
        Self::told_to(|problem| tracing::warn!("{problem}"))
    }

    /// Begins to watch an operation, named as in `{operation} failed`.
    #[must_use]
    pub fn observe(&self, operation: &'static str) -> RetryObserver {
        let mut operations = self.operations();
        let known = operations.entry(operation).or_default();
        known.last += 1;
        RetryObserver { retries: self.clone(), operation, number: known.last }
    }

    /// Everything that fails now, in words: a line for each operation, with the reason of the one that failed most often.
    #[must_use]
    pub fn failing(&self) -> Vec<String> {
        self.operations().iter().filter_map(|(operation, known)| known.in_words(operation)).collect()
    }

    /// Why an operation fails now; `None` when it does not.
    #[must_use]
    pub fn reason_of(&self, operation: &'static str) -> Option<String> {
        self.operations().get(operation)?.in_words(operation)
    }

    /// The number of failures of each operation so far.
    #[must_use]
    pub fn totals(&self) -> Vec<(&'static str, u64)> {
        self.operations().iter().map(|(operation, known)| (*operation, known.total)).collect()
    }

    fn operations(&self) -> MutexGuard<'_, BTreeMap<&'static str, Operation>> {
        self.0.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operation {
    fn in_words(&self, operation: &str) -> Option<String> {
        let worst = self.failing.values().max_by_key(|failing| failing.failures)?;
        let Failing { failures, reason } = worst;
        let times = if *failures == 1 { "once".to_owned() } else { format!("{failures} times") };
        let others = match self.failing.len() - 1 {
            0 => String::new(),
            others => format!(", and {others} more like it"),
        };
        Some(format!("{operation} failed {times}{others}: {reason}"))
    }
}

/// Watches one operation until it works or is given up. One that is dropped fails no longer.
#[derive(Debug)]
pub struct RetryObserver {
    retries: Retries,
    operation: &'static str,
    number: u64,
}

impl RetryObserver {
    /// Counts a failure, after which the operation is tried again; the number of failures in a row.
    pub fn failed(&mut self, reason: impl fmt::Display) -> u64 {
        let (failures, reason) = (self.note(reason.to_string()), reason);
        if failures == 1 || failures.is_multiple_of(TELL_EVERY) {
            let times = if failures == 1 { String::new() } else { format!(" {failures} times") };
            (self.retries.0.tell)(format!("{} failed{times}, and is tried again: {reason}", self.operation));
        }
        failures
    }

    fn note(&self, reason: String) -> u64 {
        let mut operations = self.retries.operations();
        let known = operations.entry(self.operation).or_default();
        known.total += 1;
        let failing = known.failing.entry(self.number).or_insert(Failing { failures: 0, reason: String::new() });
        failing.failures += 1;
        failing.reason = reason;
        failing.failures
    }

    /// Says that the operation works. That it does again is told.
    pub fn succeeded(&mut self) {
        if let Some(failures) = self.forget() {
            let times = if failures == 1 { "once".to_owned() } else { format!("{failures} times") };
            (self.retries.0.tell)(format!("{} works again; it had failed {times}", self.operation));
        }
    }

    /// The number of failures in a row, when there were any.
    fn forget(&self) -> Option<u64> {
        let mut operations = self.retries.operations();
        operations.get_mut(self.operation)?.failing.remove(&self.number).map(|failing| failing.failures)
    }
}

impl Drop for RetryObserver {
    fn drop(&mut self) {
        self.forget();
    }
}

row! {
    /// A counter.
    CounterRow { name: String, last: i64 }
}

impl Store {
    /// Counts the failures of a process since it did so last. They are counted for all processes together.
    pub async fn count_retries(&self, retries: &Retries) -> Result<(), StoreError> {
        let new: Vec<_> = {
            let operations = retries.operations();
            let new =
                operations.iter().map(|(operation, known)| (*operation, known.total, known.total - known.counted));
            new.filter(|(_, _, new)| *new > 0).collect()
        };
        if new.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        for (operation, _, new) in &new {
            count(&mut tx, KIND, "", operation, number::kept(*new)).await?;
        }
        tx.commit().await?;
        for (operation, total, _) in new {
            retries.operations().entry(operation).or_default().counted = total;
        }
        Ok(())
    }

    /// The number of failures of each operation, of all processes that counted theirs.
    pub async fn retry_counts(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let select = Query::select()
            .columns([Counters::Name, Counters::Last])
            .from(Counters::Table)
            .and_where(Expr::col(Counters::Kind).eq(KIND))
            .order_by(Counters::Name, Order::Asc)
            .to_owned();
        let rows: Vec<CounterRow> = self.db.fetch_all(&select).await?;
        rows.into_iter().map(|row| Ok((row.name, number::read(row.last)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Retries, and the lines that they told.
    fn retries() -> (Retries, Arc<Mutex<Vec<String>>>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&told);
        (Retries::told_to(move |line| to.lock().expect("lines").push(line)), told)
    }

    #[test]
    fn the_first_failure_and_every_tenth_are_told() {
        let (retries, told) = retries();
        let mut observer = retries.observe("writing");
        observer.succeeded();
        for number in 1..=25 {
            assert_eq!(observer.failed(format!("full {number}")), number);
        }
        observer.succeeded();
        observer.succeeded();
        let lines = [
            "writing failed, and is tried again: full 1",
            "writing failed 10 times, and is tried again: full 10",
            "writing failed 20 times, and is tried again: full 20",
            "writing works again; it had failed 25 times",
        ];
        assert_eq!(*told.lock().expect("lines"), lines);
        assert_eq!(retries.totals(), [("writing", 25)]);
    }

    #[test]
    fn what_fails_now_is_known_until_it_works_or_is_given_up() {
        let (retries, _) = retries();
        let (mut one, mut two, mut other) =
            (retries.observe("writing"), retries.observe("writing"), retries.observe("asking"));
        assert_eq!(retries.failing(), Vec::<String>::new());
        one.failed("full");
        assert_eq!(retries.failing(), ["writing failed once: full"]);
        two.failed("slow");
        two.failed("slower");
        other.failed("silence");
        let both = "writing failed 2 times, and 1 more like it: slower";
        assert_eq!(retries.failing(), ["asking failed once: silence", both]);
        assert_eq!(retries.reason_of("writing").as_deref(), Some(both));
        two.succeeded();
        drop(other);
        assert_eq!(retries.failing(), ["writing failed once: full"]);
        drop(one);
        assert_eq!(retries.reason_of("writing"), None);
        assert_eq!(retries.totals(), [("asking", 1), ("writing", 3)], "what was counted stays counted");
    }
}
