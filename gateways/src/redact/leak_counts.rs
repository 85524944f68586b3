//! Counts sightings of secrets, by place.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use scenario::evidence::Leak;

/// Number of places that are counted apart; an agent can choose some of their names.
const MOST_PLACES: usize = 256;
/// Name of all places after those.
const ELSEWHERE: &str = "other places";

/// Number of times that each secret was seen, by place.
#[derive(Debug, Default)]
pub(super) struct Sightings(Mutex<BTreeMap<(String, String), u64>>);

/// Way of counting a sighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Counting {
    /// Each sighting counts.
    #[default]
    Each,
    /// A sighting only shows that there was one: others look at the same bytes and count them.
    Glimpse,
}

impl Sightings {
    /// Counts one.
    pub(super) fn add(&self, secret: &str, place: &str, counting: Counting) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (secret.to_owned(), place.to_owned());
        if seen.len() >= MOST_PLACES && !seen.contains_key(&key) {
            ELSEWHERE.clone_into(&mut key.1);
        }
        let count = seen.entry(key).or_default();
        // A glimpse is kept as none, and told as one unless somebody counts it.
        *count = count.saturating_add(u64::from(counting == Counting::Each));
    }

    /// Lists all sightings.
    pub(super) fn list(&self) -> Vec<Leak> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let leak = |((secret, place), count): (&(String, String), &u64)| Leak {
            secret: secret.clone(),
            place: place.clone(),
            count: (*count).max(1),
        };
        seen.iter().map(leak).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counting, MOST_PLACES, Sightings};

    #[test]
    fn many_places_become_one() {
        let sightings = Sightings::default();
        for place in 0..MOST_PLACES * 2 {
            sightings.add("KEY", &format!("egress {place}.example"), Counting::Each);
        }
        sightings.add("KEY", "egress 0.example", Counting::Each);
        let seen = sightings.list();
        let count = |place: &str| seen.iter().find(|leak| leak.place == place).map(|leak| leak.count);
        assert_eq!(
            (seen.len(), count("other places"), count("egress 0.example")),
            (MOST_PLACES + 1, Some(256), Some(2))
        );
    }
}
