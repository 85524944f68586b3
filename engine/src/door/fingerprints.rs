//! Fingerprints of files inside the sandbox, with their contents.

use doorkeeper::protocol::{Event, Fingerprint, Request};

use super::{Door, DoorError};

/// Number of paths in one request.
const MOST_PATHS: usize = 256;
/// Number of bytes that the paths of one request have together, unless a single one has more.
const MOST_PATH_BYTES: usize = 256 * 1024;

impl Door {
    /// Takes fingerprints of files: one for each path, `None` where nothing is. No more than `most_bytes` are read of
    /// all of them; a file that does not fit gets a fingerprint that is not whole.
    pub async fn fingerprints(
        &self,
        root: &str,
        mut paths: Vec<Vec<u8>>,
        most_bytes: u64,
    ) -> Result<Vec<Option<Fingerprint>>, DoorError> {
        let (mut left, mut all) = (most_bytes, Vec::with_capacity(paths.len()));
        while !paths.is_empty() {
            let later = paths.split_off(batch_length(&paths));
            let (found, bytes) = self.fingerprint_batch(root, paths, left).await?;
            left = left.saturating_sub(bytes);
            all.extend(found);
            paths = later;
        }
        Ok(all)
    }

    async fn fingerprint_batch(
        &self,
        root: &str,
        paths: Vec<Vec<u8>>,
        most_bytes: u64,
    ) -> Result<(Vec<Option<Fingerprint>>, u64), DoorError> {
        let (root, asked) = (root.into(), paths.len());
        let mut call = self.connection.call(|id| Request::Fingerprint { id, root, paths, most_bytes })?;
        match call.answer().await?.event {
            Event::Fingerprints { fingerprints, bytes, .. } if fingerprints.len() == asked => Ok((fingerprints, bytes)),
            event => Err(DoorError::unexpected(event)),
        }
    }
}

/// Returns the number of paths that go into one request; at least one.
fn batch_length(paths: &[Vec<u8>]) -> usize {
    let mut bytes = 0;
    let fits = paths.iter().take(MOST_PATHS).take_while(|path| {
        bytes += path.len();
        bytes <= MOST_PATH_BYTES
    });
    fits.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::{MOST_PATHS, batch_length};

    #[test]
    fn a_request_has_many_paths_and_no_more_than_fit() {
        let short = vec![b"a".to_vec(); 1000];
        assert_eq!(batch_length(&short), MOST_PATHS);
        assert_eq!(batch_length(&short[..3]), 3);
        let long = vec![b'x'; 200 * 1024];
        assert_eq!(batch_length(&[long.clone(), long]), 1);
        assert_eq!(batch_length(&[vec![b'x'; 300 * 1024], b"a".to_vec()]), 1);
    }
}
