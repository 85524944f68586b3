//! `serial_only` judged afterwards: calls of two sessions that were in flight on one resource at the same time.

/// A call from its dispatch to its completion.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The session.
    pub session: String,
    /// The instance of the resource.
    pub instance: String,
    /// Time at which it was sent.
    pub start: f64,
    /// Time at which it ended.
    pub end: f64,
    /// True when it changes something.
    pub is_mutating: bool,
}

/// The pairs of calls, by their places, that overlap although one of them changes something.
#[must_use]
pub fn overlaps(intervals: &[Interval]) -> Vec<(usize, usize)> {
    let pairs = (0..intervals.len()).flat_map(|left| (left + 1..intervals.len()).map(move |right| (left, right)));
    pairs.filter(|(left, right)| do_overlap(&intervals[*left], &intervals[*right])).collect()
}

fn do_overlap(left: &Interval, right: &Interval) -> bool {
    left.session != right.session
        && left.instance == right.instance
        && (left.is_mutating || right.is_mutating)
        && left.start < right.end
        && right.start < left.end
}
