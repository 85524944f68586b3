//! Experiments by how new they are: `latest`, and `latest~1` for the one before it.

use crate::Store;
use crate::error::StoreError;
use crate::experiments::Experiment;

/// The name of the newest experiment.
const LATEST: &str = "latest";

/// The number of experiments that are newer than the named one: none for `latest`, two for `latest~2`; `None` for every
/// other name.
#[must_use]
pub fn newer_than(name: &str) -> Option<u32> {
    match name.strip_prefix(LATEST)? {
        "" => Some(0),
        steps => steps
            .strip_prefix('~')
            .filter(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))?
            .parse()
            .ok(),
    }
}

impl Store {
    /// The experiment that so many others are newer than.
    pub(crate) async fn newest_but(&self, newer: u32) -> Result<Experiment, StoreError> {
        let mut experiments = self.experiments(u64::from(newer) + 1, None).await?;
        let there = experiments.len();
        experiments.drain(..there.min(usize::try_from(newer).unwrap_or(usize::MAX)));
        experiments.pop().ok_or_else(|| {
            StoreError::NotFound(match there {
                0 => "there is no experiment yet".to_owned(),
                1 => format!("there is no experiment `{LATEST}~{newer}`: there is only one"),
                there => format!("there is no experiment `{LATEST}~{newer}`: there are only {there}"),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::newer_than;

    #[test]
    fn the_newest_ones_are_counted_from_the_end() {
        for (name, newer) in [("latest", 0), ("latest~0", 0), ("latest~1", 1), ("latest~12", 12)] {
            assert_eq!(newer_than(name), Some(newer), "{name}");
        }
        for name in ["", "late", "latest~", "latest~x", "latest~+1", "latest~-1", "latest1", "latest~99999999999"] {
            assert_eq!(newer_than(name), None, "{name}");
        }
    }
}
