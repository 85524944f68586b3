//! All connections of a listener, and which of them makes room for another.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::Limits;
use crate::shares::{Full, Share, Shares};

/// Number of connections closed to make room between two lines in the log.
const TELL_EVERY: u64 = 1000;

/// The number of a connection.
pub(crate) type Id = u64;

/// All connections of a listener. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: Limits,
    shares: Shares,
    closed: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: Id,
    entries: BTreeMap<Id, Entry>,
}

#[derive(Debug)]
struct Entry {
    peer: IpAddr,
    /// Its place among those of a key; `None` while no request showed one.
    share: Option<Share>,
    is_answering: bool,
    /// Time when the connection was accepted, or when it last began or stopped answering.
    since: Instant,
    /// Cancelled to close it.
    close: CancellationToken,
}

impl Registry {
    pub(crate) fn new(limits: Limits, one_key: bool) -> Self {
        let places = limits.authenticated();
        let shares = if one_key { Shares::of_one_key(places) } else { Shares::new(places, limits.per_key) };
        Self(Arc::new(Inner { limits, shares, closed: AtomicU64::new(0), table: Mutex::default() }))
    }

    /// Takes a new connection in; another one makes room for it when there is none.
    pub(crate) fn enter(&self, peer: IpAddr, close: CancellationToken) -> Id {
        let mut table = self.table();
        table.next += 1;
        let id = table.next;
        self.make_room(&mut table, peer);
        let entry = Entry { peer, share: None, is_answering: false, since: Instant::now(), close };
        table.entries.insert(id, entry);
        id
    }

    /// Forgets a connection that ended.
    pub(crate) fn leave(&self, id: Id) {
        self.table().entries.remove(&id);
    }

    /// Notes that a request of a connection is being answered, or that it was.
    pub(crate) fn answering(&self, id: Id, is_answering: bool) {
        if let Some(entry) = self.table().entries.get_mut(&id) {
            (entry.is_answering, entry.since) = (is_answering, Instant::now());
        }
    }

    /// Makes a connection one of a key.
    pub(crate) fn authenticate(&self, id: Id, key: &str) -> Result<(), Full> {
        let mut table = self.table();
        // One that is being closed needs no place.
        let Some(entry) = table.entries.get_mut(&id) else { return Ok(()) };
        if entry.share.as_ref().is_some_and(|share| share.key() == key) {
            return Ok(());
        }
        entry.share = None;
        loop {
            let full = match self.0.shares.take(key) {
                Ok(share) => {
                    if let Some(entry) = table.entries.get_mut(&id) {
                        entry.share = Some(share);
                    }
                    return Ok(());
                }
                Err(full) => full,
            };
            let idle = self.longest_idle(&table, matches!(full, Full::Key(_)).then_some(key));
            self.close(&mut table, idle.ok_or(full)?);
        }
    }

    /// Makes a connection nobody's.
    pub(crate) fn forget_key(&self, id: Id) {
        let mut table = self.table();
        let Some(entry) = table.entries.get_mut(&id).filter(|entry| entry.share.is_some()) else { return };
        let peer = entry.peer;
        entry.share = None;
        let most = self.0.limits.unauthenticated();
        if table.unauthenticated().count() > most {
            self.make_room(&mut table, peer);
        }
    }

    /// Returns the number of connections.
    pub(crate) fn count(&self) -> usize {
        self.table().entries.len()
    }

    /// Returns the number of connections that were closed to make room.
    pub(crate) fn closed(&self) -> u64 {
        self.0.closed.load(Ordering::Relaxed)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes an unauthenticated connection when there is no room for another one from this peer.
    fn make_room(&self, table: &mut Table, peer: IpAddr) {
        let mut peers: HashMap<IpAddr, usize> = HashMap::new();
        for (_, entry) in table.unauthenticated() {
            *peers.entry(entry.peer).or_default() += 1;
        }
        let from = if peers.get(&peer).is_some_and(|own| *own >= self.0.limits.per_peer) {
            Some(peer)
        } else if peers.values().sum::<usize>() >= self.0.limits.unauthenticated() {
            peers.iter().max_by_key(|(peer, own)| (**own, **peer)).map(|(peer, _)| *peer)
        } else {
            None
        };
        let Some(from) = from else { return };
        // Those that ask for nothing go first.
        let of_peer = table.unauthenticated().filter(|(_, entry)| entry.peer == from);
        let oldest = of_peer.min_by_key(|(_, entry)| (entry.is_answering, entry.since)).map(|(id, _)| id);
        if let Some(oldest) = oldest {
            self.close(table, oldest);
        }
    }

    /// The connection of a key that is idle for longest; without a key, one of the key that has most.
    fn longest_idle(&self, table: &Table, key: Option<&str>) -> Option<Id> {
        let shares = &self.0.shares;
        let idle = table.entries.iter().filter_map(|(id, entry)| {
            let share = entry.share.as_ref().filter(|_| !entry.is_answering)?;
            let is_wanted = key.is_none_or(|key| share.key() == key);
            is_wanted.then(|| (std::cmp::Reverse(shares.count_of(share.key())), entry.since, *id))
        });
        idle.min().map(|(_, _, id)| id)
    }

    fn close(&self, table: &mut Table, id: Id) {
        let Some(entry) = table.entries.remove(&id) else { return };
        entry.close.cancel();
        if self.0.closed.fetch_add(1, Ordering::Relaxed).is_multiple_of(TELL_EVERY) {
            let (open, peer) = (table.entries.len(), entry.peer);
            tracing::warn!(open, %peer, "connections are closed to make room for others: see --max-connections");
        }
    }
}

impl Table {
    fn unauthenticated(&self) -> impl Iterator<Item = (Id, &Entry)> {
        self.entries.iter().filter(|(_, entry)| entry.share.is_none()).map(|(id, entry)| (*id, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight places for callers without a key, and 24 for those with one.
    fn registry() -> Registry {
        Registry::new(Limits { connections: 32, per_key: 4, per_peer: 6, ..Limits::default() }, false)
    }

    impl Registry {
        /// Takes a connection in; returns its number, and the token that is cancelled when it is closed.
        fn connect(&self, peer: IpAddr) -> (Id, CancellationToken) {
            let close = CancellationToken::new();
            (self.enter(peer, close.clone()), close)
        }
    }

    fn address(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    #[test]
    fn a_flood_from_one_address_pushes_out_its_own_connections_only() {
        let registry = registry();
        let (_, other) = registry.connect(address(1));
        let flood: Vec<_> = (0..100).map(|_| registry.connect(address(9)).1).collect();
        assert!(!other.is_cancelled(), "somebody else stays");
        assert_eq!(flood.iter().filter(|one| !one.is_cancelled()).count(), 6);
        assert!(!flood[99].is_cancelled(), "the newest is in");
        assert_eq!((registry.count(), registry.closed()), (7, 94));
    }

    #[test]
    fn a_flood_from_many_addresses_is_bounded_and_newcomers_get_in() {
        let registry = registry();
        for number in 0..200 {
            let (_, close) = registry.connect(address(number));
            assert!(!close.is_cancelled());
        }
        assert_eq!(registry.count(), 8);
    }

    #[test]
    fn who_asks_for_something_stays_longer_than_who_does_not() {
        let registry = registry();
        let (id, asking) = registry.connect(address(9));
        registry.answering(id, true);
        let flood: Vec<_> = (0..100).map(|_| registry.connect(address(9)).1).collect();
        assert!(!asking.is_cancelled() && flood[0].is_cancelled());
    }

    #[test]
    fn connections_with_a_key_are_out_of_reach_of_those_without() {
        let registry = registry();
        let keyed: Vec<_> = (0..4).map(|_| registry.connect(address(9))).collect();
        for (id, _) in &keyed {
            registry.authenticate(*id, "ada").expect("a place");
        }
        for number in 0..250 {
            registry.connect(address(number));
            registry.connect(address(9));
        }
        assert!(keyed.iter().all(|(_, close)| !close.is_cancelled()));
        let (late, _) = registry.connect(address(9));
        registry.authenticate(late, "bob").expect("a place in the middle of a flood");
    }

    #[test]
    fn a_key_with_too_many_loses_its_longest_idle_one() {
        let registry = registry();
        let mut own = Vec::new();
        for _ in 0..4 {
            let (id, close) = registry.connect(address(1));
            registry.answering(id, true);
            registry.authenticate(id, "ada").expect("a place");
            own.push((id, close));
        }
        let (fifth, _) = registry.connect(address(1));
        assert_eq!(registry.authenticate(fifth, "ada").expect_err("all are in use"), Full::Key(4));
        registry.answering(own[2].0, false);
        registry.authenticate(fifth, "ada").expect("the place of the idle one");
        assert!(own[2].1.is_cancelled() && own.iter().filter(|(_, close)| close.is_cancelled()).count() == 1);
        registry.leave(fifth);
        let (other, _) = registry.connect(address(1));
        registry.authenticate(other, "bob").expect("others have places");
    }

    #[test]
    fn when_all_places_are_taken_the_key_with_most_gives_up_an_idle_one() {
        let registry = Registry::new(Limits { connections: 12, per_key: 8, per_peer: 9, ..Limits::default() }, false);
        let hog: Vec<_> = (0..7)
            .map(|_| {
                let (id, close) = registry.connect(address(1));
                registry.authenticate(id, "hog").expect("a place");
                close
            })
            .collect();
        let (small, _) = registry.connect(address(2));
        registry.authenticate(small, "small").expect("a place");
        let (last, _) = registry.connect(address(3));
        registry.authenticate(last, "last").expect("a reserved place");
        let (more, _) = registry.connect(address(4));
        registry.authenticate(more, "more").expect("a place of who has most");
        assert_eq!(hog.iter().filter(|close| close.is_cancelled()).count(), 1);
    }

    #[test]
    fn a_key_that_is_not_good_any_more_gives_its_place_back() {
        let registry = registry();
        let kept: Vec<_> = (0..4).map(|_| registry.connect(address(1))).collect();
        for (id, _) in &kept {
            registry.authenticate(*id, "ada").expect("a place");
        }
        registry.forget_key(kept[0].0);
        let (fifth, _) = registry.connect(address(1));
        registry.authenticate(fifth, "ada").expect("the place that came back");
        registry.authenticate(fifth, "ada").expect("it has one already");
        registry.authenticate(fifth, "bob").expect("a connection changes hands");
        assert_eq!(registry.0.shares.count(), 4);
    }
}
