//! Where secrets were seen.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use scenario::evidence::Leak;

/// How many places are told apart; an agent can choose some of their names.
const MOST_PLACES: usize = 256;
/// What stands for all places after those.
const ELSEWHERE: &str = "other places";

/// How often each secret was seen, by place.
#[derive(Debug, Default)]
pub(super) struct Sightings(Mutex<BTreeMap<(String, String), u64>>);

impl Sightings {
    /// Counts one.
    pub(super) fn add(&self, secret: &str, place: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (secret.to_owned(), place.to_owned());
        if seen.len() >= MOST_PLACES && !seen.contains_key(&key) {
            ELSEWHERE.clone_into(&mut key.1);
        }
        let count = seen.entry(key).or_default();
        *count = count.saturating_add(1);
    }

    /// All of them.
    pub(super) fn list(&self) -> Vec<Leak> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let leak = |((secret, place), count): (&(String, String), &u64)| Leak {
            secret: secret.clone(),
            place: place.clone(),
            count: *count,
        };
        seen.iter().map(leak).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_PLACES, Sightings};

    #[test]
    fn many_places_become_one() {
        let sightings = Sightings::default();
        for place in 0..MOST_PLACES * 2 {
            sightings.add("KEY", &format!("egress {place}.example"));
        }
        sightings.add("KEY", "egress 0.example");
        let seen = sightings.list();
        let count = |place: &str| seen.iter().find(|leak| leak.place == place).map(|leak| leak.count);
        assert_eq!(
            (seen.len(), count("other places"), count("egress 0.example")),
            (MOST_PLACES + 1, Some(256), Some(2))
        );
    }
}
