//! Things that are made once and shown often, as many as a number of bytes allows.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Things by their keys. When there is no room, those that were not asked for the longest go.
pub(crate) struct Cache<K, V> {
    most: usize,
    kept: Mutex<Kept<K, V>>,
}

#[derive(Debug)]
struct Kept<K, V> {
    /// The things, how many bytes each has, and when it was asked for last.
    things: HashMap<K, (V, usize, u64)>,
    /// Keys in the order of their last use.
    asked: BTreeMap<u64, K>,
    bytes: usize,
    /// Counts askings.
    now: u64,
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cache").field("most", &self.most).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    /// A cache for so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        let kept = Kept { things: HashMap::new(), asked: BTreeMap::new(), bytes: 0, now: 0 };
        Self { most, kept: Mutex::new(kept) }
    }

    /// The thing with this key.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut kept = self.lock();
        kept.now += 1;
        let now = kept.now;
        let (thing, _, asked) = kept.things.get_mut(key)?;
        let (thing, before) = (thing.clone(), std::mem::replace(asked, now));
        kept.asked.remove(&before);
        kept.asked.insert(now, key.clone());
        Some(thing)
    }

    /// Keeps a thing of so many bytes, instead of the one with its key; one that has more bytes than there is room for
    /// is not kept.
    pub(crate) fn put(&self, key: K, thing: V, bytes: usize) {
        let mut kept = self.lock();
        kept.remove(&key);
        if bytes > self.most {
            return;
        }
        while kept.bytes + bytes > self.most {
            let Some((_, oldest)) = kept.asked.first_key_value() else { break };
            let oldest = oldest.clone();
            kept.remove(&oldest);
        }
        kept.now += 1;
        let now = kept.now;
        kept.bytes += bytes;
        kept.asked.insert(now, key.clone());
        kept.things.insert(key, (thing, bytes, now));
    }

    fn lock(&self) -> MutexGuard<'_, Kept<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, V> Kept<K, V> {
    fn remove(&mut self, key: &K) {
        if let Some((_, bytes, asked)) = self.things.remove(key) {
            self.asked.remove(&asked);
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    #[test]
    fn who_was_not_asked_for_the_longest_goes_first() {
        let cache = Cache::new(10);
        cache.put("a", 1, 4);
        cache.put("b", 2, 4);
        assert_eq!(cache.get(&"a"), Some(1));
        cache.put("c", 3, 4);
        assert_eq!((cache.get(&"a"), cache.get(&"b"), cache.get(&"c")), (Some(1), None, Some(3)));
    }

    #[test]
    fn what_is_too_large_is_not_kept_and_replaces_nothing_else() {
        let cache = Cache::new(10);
        cache.put("a", 1, 10);
        cache.put("b", 2, 11);
        assert_eq!((cache.get(&"a"), cache.get(&"b")), (Some(1), None));
        cache.put("a", 3, 11);
        assert_eq!(cache.get(&"a"), None, "the old one is not shown instead");
        cache.put("a", 4, 3);
        cache.put("a", 5, 9);
        cache.put("b", 6, 1);
        assert_eq!((cache.get(&"a"), cache.get(&"b")), (Some(5), Some(6)));
    }
}
