//! Counts of requests that are not kept.

use std::collections::HashMap;

use scenario::evidence::{Overflow, OverflowCount};

/// Number of different pairs of method and path that are counted apart.
pub const COUNTED_PAIRS: usize = 1_000;
/// Number of different methods that are counted apart among the requests whose paths are not.
pub const COUNTED_METHODS: usize = 100;
/// The longest path that is counted apart. A longer one is counted without its path.
const LONGEST_PATH: usize = 8 * 1024;
/// The method of requests whose methods are not told apart. It is no method that a request can have.
const OTHER_METHODS: &str = "(other)";

/// Counts requests by method and path, as far as they are counted apart. No request is lost: each is in exactly one
/// count.
#[derive(Debug, Default)]
pub struct OverflowCounter {
    /// Index of a pair in `counts`.
    places: HashMap<(String, Option<String>), usize>,
    /// The counts, in the order in which the pairs came.
    counts: Vec<OverflowCount>,
    /// Number of pairs with a path.
    pairs: usize,
    /// The sum of the counts.
    total: u64,
}

impl OverflowCounter {
    /// Counts one request.
    pub fn count(&mut self, method: &str, path: &str) {
        self.total += 1;
        let pair = (method.to_owned(), Some(path.to_owned()));
        if let Some(place) = self.places.get(&pair) {
            self.counts[*place].count += 1;
        } else if self.pairs < COUNTED_PAIRS && path.len() <= LONGEST_PATH {
            self.pairs += 1;
            self.add(pair);
        } else {
            self.count_without_path(method);
        }
    }

    /// Returns the number of requests that were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The counts; `None` when nothing was counted.
    #[must_use]
    pub fn overflow(&self) -> Option<Overflow> {
        (!self.counts.is_empty()).then(|| Overflow { counts: self.counts.clone() })
    }

    fn count_without_path(&mut self, method: &str) {
        let methods = self.counts.len() - self.pairs;
        let mut pair = (method.to_owned(), None);
        if methods >= COUNTED_METHODS && !self.places.contains_key(&pair) {
            OTHER_METHODS.clone_into(&mut pair.0);
        }
        match self.places.get(&pair) {
            Some(place) => self.counts[*place].count += 1,
            None => self.add(pair),
        }
    }

    fn add(&mut self, pair: (String, Option<String>)) {
        self.places.insert(pair.clone(), self.counts.len());
        self.counts.push(OverflowCount { method: pair.0, path: pair.1, count: 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNTED_METHODS, COUNTED_PAIRS, LONGEST_PATH, OTHER_METHODS, OverflowCounter};

    fn count_of(counter: &OverflowCounter, method: &str, path: Option<&str>) -> u64 {
        let overflow = counter.overflow().expect("counts");
        let of = overflow.counts.iter().filter(|counted| counted.method == method && counted.path.as_deref() == path);
        of.map(|counted| counted.count).sum()
    }

    #[test]
    fn pairs_are_told_apart_up_to_their_largest_number() {
        let mut counter = OverflowCounter::default();
        assert_eq!(counter.overflow(), None);
        for path in 0..COUNTED_PAIRS + 5 {
            counter.count("GET", &format!("/{path}"));
        }
        counter.count("GET", "/7");
        counter.count("POST", "/new");
        assert_eq!(count_of(&counter, "GET", Some("/7")), 2);
        assert_eq!(count_of(&counter, "GET", None), 5);
        assert_eq!(count_of(&counter, "POST", None), 1);
        assert_eq!(counter.total(), COUNTED_PAIRS as u64 + 7);
    }

    #[test]
    fn a_very_long_path_is_counted_without_its_path() {
        let mut counter = OverflowCounter::default();
        counter.count("GET", &"/".repeat(LONGEST_PATH + 1));
        assert_eq!(count_of(&counter, "GET", None), 1);
    }

    #[test]
    fn no_flood_of_methods_grows_without_end_or_loses_a_count() {
        let mut counter = OverflowCounter::default();
        for path in 0..COUNTED_PAIRS {
            counter.count("GET", &format!("/{path}"));
        }
        for method in 0..COUNTED_METHODS + 50 {
            counter.count(&format!("M{method}"), "/more");
        }
        counter.count("M3", "/more");
        assert_eq!(count_of(&counter, "M3", None), 2);
        assert_eq!(count_of(&counter, OTHER_METHODS, None), 50);
        let sum = counter.overflow().expect("counts").total();
        assert_eq!((counter.total(), sum), (sum, (COUNTED_PAIRS + COUNTED_METHODS + 51) as u64));
    }
}
