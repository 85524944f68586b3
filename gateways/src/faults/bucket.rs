//! A rate of calls: tokens that come back with time.

/// A bucket of tokens, in thousandths, so that no time is lost to rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    per_second: u64,
    most: u64,
    thousandths: u64,
    filled_ms: u64,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(per_second: i64, at_once: i64) -> Self {
        let count = |count: i64| u64::try_from(count).unwrap_or(1);
        let most = count(at_once) * 1000;
        Self { per_second: count(per_second), most, thousandths: most, filled_ms: 0 }
    }

    /// Takes a token at this time, if there is one.
    pub(super) fn take(&mut self, at_ms: u64) -> bool {
        let passed = at_ms.saturating_sub(self.filled_ms);
        self.filled_ms = self.filled_ms.max(at_ms);
        self.thousandths = self.thousandths.saturating_add(passed.saturating_mul(self.per_second)).min(self.most);
        let is_there = self.thousandths >= 1000;
        if is_there {
            self.thousandths -= 1000;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::Bucket;

    #[test]
    fn tokens_come_back_with_time_and_never_pile_up() {
        let mut bucket = Bucket::new(2, 3);
        let taken = |bucket: &mut Bucket, at_ms| (0..5).filter(|_| bucket.take(at_ms)).count();
        assert_eq!(taken(&mut bucket, 0), 3);
        assert_eq!(taken(&mut bucket, 499), 0);
        assert_eq!(taken(&mut bucket, 500), 1);
        assert_eq!(taken(&mut bucket, 60_000), 3);
    }
}
