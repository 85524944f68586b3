//! Differences between the texts of the workspace before and after the agent, as far as they are small enough to keep.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use gateways::redact::Redactor;
use scenario::evidence::FileDiff;
use similar::TextDiff;

use crate::backend::WORKSPACE;
use crate::door::{Door, DoorError};
use crate::snapshot::{Changes, Snapshot};
use crate::world::World;

/// The longest file whose text is kept, and the longest difference.
const MOST_BYTES: u64 = 64 << 10;
/// Size limit of all files that are kept while the agent acts.
const MOST_BYTES_BEFORE: u64 = 4 << 20;
/// Number of files that are read before the agent starts.
const MOST_FILES_BEFORE: usize = 2000;
/// Number of differences that are kept.
const MOST_DIFFS: usize = 50;
/// Size limit of all differences together.
const MOST_BYTES_IN_ALL: usize = 256 << 10;
/// Number of files that are read at once.
const AT_ONCE: usize = 16;
/// Time limit of the search for the shortest difference; then a longer one is taken.
const PATIENCE: Duration = Duration::from_millis(100);
/// Folders whose files are no work of the agent.
const PASSED_OVER: [&[u8]; 2] = [b".keystone/", b".git/"];

/// The texts of small files, by path.
pub(crate) type Texts = BTreeMap<Vec<u8>, String>;

/// Reads the texts of small files before the agent starts.
pub(super) async fn take(door: &Door, workspace: &Snapshot) -> Result<Texts, DoorError> {
    let mut room = MOST_BYTES_BEFORE;
    let files = workspace.files().filter(|(path, size)| is_wanted(path, *size));
    let fitting = files.take(MOST_FILES_BEFORE).take_while(|(_, size)| {
        let fits = *size <= room;
        room = room.saturating_sub(*size);
        fits
    });
    let paths: Vec<_> = fitting.map(|(path, _)| path.to_vec()).collect();
    read_all(door, paths).await
}

fn is_wanted(path: &[u8], size: u64) -> bool {
    size <= MOST_BYTES && !PASSED_OVER.iter().any(|folder| path.starts_with(folder))
}

/// The texts of files; what cannot be read or is no text is not there.
async fn read_all(door: &Door, paths: Vec<Vec<u8>>) -> Result<Texts, DoorError> {
    let read = paths.into_iter().map(|path| async move {
        let content = match door.read(WORKSPACE, &path, MOST_BYTES).await {
            Ok(content) => content,
            Err(DoorError::Failed(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let text = String::from_utf8(content).ok().filter(|text| !text.contains('\0'));
        Ok(text.map(|text| (path, text)))
    });
    stream::iter(read).buffered(AT_ONCE).try_filter_map(|read| async move { Ok(read) }).try_collect().await
}

/// Compares the texts that the agent wrote with those that were there before.
pub(super) async fn collect(
    world: &World,
    before: &Texts,
    after: &Snapshot,
    changes: &Changes,
) -> Result<Vec<FileDiff>, DoorError> {
    let size = |path: &String| after.file_size(path.as_bytes()).filter(|size| is_wanted(path.as_bytes(), *size));
    let modified = changes.modified.iter().filter(|path| before.contains_key(path.as_bytes()));
    let paths = modified.chain(&changes.added).filter(|path| size(path).is_some()).take(MOST_DIFFS);
    let texts = read_all(world.sandbox.door(), paths.map(|path| path.clone().into_bytes()).collect()).await?;
    Ok(differences(before, &texts, &world.redactor))
}

fn differences(before: &Texts, after: &Texts, redactor: &Redactor) -> Vec<FileDiff> {
    let mut room = MOST_BYTES_IN_ALL;
    let mut diffs = Vec::new();
    for (path, text) in after {
        // Whole first, so that no part of a secret stays at the cut; and before they are compared, because the signs of a
        // difference would stand in a value of several lines.
        let [old, new] = [before.get(path).map_or("", String::as_str), text].map(|text| redactor.text(text));
        let diff = difference(&old, &new);
        if diff.is_empty() {
            continue;
        }
        let most = room.min(usize::try_from(MOST_BYTES).unwrap_or(usize::MAX));
        let cut = cut(&diff, most);
        room -= cut.len();
        let path = redactor.text(&String::from_utf8_lossy(path));
        diffs.push(FileDiff { path, incomplete: cut.len() < diff.len(), diff: cut.to_owned() });
    }
    diffs
}

fn difference(before: &str, after: &str) -> String {
    TextDiff::configure().timeout(PATIENCE).diff_lines(before, after).unified_diff().context_radius(3).to_string()
}

/// The beginning of a text, in whole lines.
fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.as_bytes()[..most].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[(&str, &str)]) -> Texts {
        list.iter().map(|(path, text)| (path.as_bytes().to_vec(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_difference_shows_the_lines_that_changed() {
        let before = texts(&[("a.txt", "one\ntwo\nthree\n"), ("same", "x\n")]);
        let after = texts(&[("a.txt", "one\n2 s3cret\nthree\n"), ("new", "hello"), ("same", "x\n")]);
        let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
        let diffs = differences(&before, &after, &Redactor::new(&secrets, "k"));
        let shown: Vec<_> = diffs.iter().map(|diff| format!("{}\n{}", diff.path, diff.diff)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        a.txt
        @@ -1,3 +1,3 @@
         one
        -two
        +2 [redacted:KEY:k]
         three

        new
        @@ -0,0 +1 @@
        +hello
        \ No newline at end of file
        ");
    }

    #[test]
    fn a_value_of_several_lines_is_in_no_difference() {
        let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret-and-more".to_owned())]);
        let after = texts(&[("new", "7333637265742d61\n6e642d6d6f7265\n")]);
        let diffs = differences(&Texts::new(), &after, &Redactor::new(&secrets, "k"));
        assert_eq!(diffs[0].diff, "@@ -0,0 +1 @@\n+[redacted:KEY/wrapped:k]\n");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let after: Texts = (0..9).map(|number| (vec![b'a' + number], "0123456789\n".repeat(5900))).collect();
        let diffs = differences(&Texts::new(), &after, &Redactor::default());
        assert!(diffs.iter().all(|diff| diff.incomplete && diff.diff.len() <= 64 << 10));
        assert!(diffs.iter().map(|diff| diff.diff.len()).sum::<usize>() <= 256 << 10);
        assert_eq!(diffs.len(), 9);
    }
}
