//! Use of images with packages, and the images that can be removed.
//!
//! The last use of one is the time of a file `<data-dir>/cache/<tag>`. One that only other data directories use has no
//! file here: then the time of its making counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::bake::CACHE;
use crate::data_dir::DataDir;

/// Time for which an image that was used stays: another process may be about to use it.
const JUST_NOW: Duration = Duration::from_secs(10 * 60);

/// An image that was made for its packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cached {
    /// Its name.
    pub(super) name: String,
    /// Time of its last use.
    pub(super) used: SystemTime,
    /// True when a container was made from it.
    pub(super) in_use: bool,
}

/// The images that can go, least recently used first: no container uses them, and for so long nobody else did.
pub(super) fn evictable(mut images: Vec<Cached>, now: SystemTime, unused_for: Duration) -> Vec<Cached> {
    images.retain(|image| !image.in_use && is_unused(image.used, now, unused_for));
    images.sort_by(|left, right| (left.used, &left.name).cmp(&(right.used, &right.name)));
    images
}

/// Returns true if an image was unused for this long, and not used just now either. A time of use in the future does
/// not count as long ago.
pub(super) fn is_unused(used: SystemTime, now: SystemTime, unused_for: Duration) -> bool {
    now.duration_since(used).is_ok_and(|age| age >= unused_for.max(JUST_NOW))
}

/// Notes that an image is used now. When that cannot be noted, it may go earlier, and is made again then.
pub(super) fn touch(data_dir: &DataDir, name: &str) {
    let Some(path) = note(data_dir, name) else { return };
    let noted = fs::create_dir_all(folder(data_dir)).and_then(|()| fs::write(&path, name));
    if let Err(error) = noted {
        tracing::warn!(path = %path.display(), %error, "the use of the image {name} could not be noted");
    }
}

/// Returns the time when an image was used last, as far as it was noted here.
pub(super) fn last_use(data_dir: &DataDir, name: &str) -> Option<SystemTime> {
    fs::metadata(note(data_dir, name)?).and_then(|metadata| metadata.modified()).ok()
}

/// Forgets the uses of images that are not there any more.
pub(super) fn forget_others(data_dir: &DataDir, images: &[Cached], now: SystemTime) -> io::Result<()> {
    let entries = match fs::read_dir(folder(data_dir)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        let is_there = images.iter().any(|image| note(data_dir, &image.name).as_deref() == Some(&path));
        // One that is being made has a file already.
        if !is_there && is_old(&path, now) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn is_old(path: &Path, now: SystemTime) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| is_unused(modified, now, Duration::ZERO))
}

/// The file whose time is the last use of an image.
fn note(data_dir: &DataDir, name: &str) -> Option<PathBuf> {
    let tag = name.strip_prefix(CACHE)?.strip_prefix(':')?;
    Some(folder(data_dir).join(tag))
}

fn folder(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join("cache")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::{Cached, JUST_NOW, evictable, forget_others, last_use, touch};
    use crate::data_dir::DataDir;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn image(name: &str, used: u64) -> Cached {
        Cached { name: name.to_owned(), used: at(used), in_use: false }
    }

    fn names(images: Vec<Cached>, now: u64, unused_for: u64) -> Vec<String> {
        let gone = evictable(images, at(now), Duration::from_secs(unused_for));
        gone.into_iter().map(|image| image.name).collect()
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let images = vec![image("b", 200), image("a", 300), image("d", 100), image("c", 100)];
        assert_eq!(names(images, 10_000, 0), ["c", "d", "b", "a"]);
    }

    #[test]
    fn what_a_container_uses_stays() {
        let used = Cached { in_use: true, ..image("used", 1) };
        assert_eq!(names(vec![used, image("other", 2)], 10_000, 0), ["other"]);
    }

    #[test]
    fn what_was_used_just_now_stays_however_little_is_asked_for() {
        let now = 10_000;
        let border = now - JUST_NOW.as_secs();
        let images = vec![image("old", border), image("new", border + 1), image("to-come", now + 5)];
        assert_eq!(names(images, now, 0), ["old"]);
    }

    #[test]
    fn only_what_was_not_used_for_so_long_goes() {
        let images = vec![image("long", 1_000), image("short", 1_001)];
        assert_eq!(names(images, 10_000, 9_000), ["long"]);
    }

    #[test]
    fn uses_are_noted_and_forgotten_with_their_image() {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        let (here, gone) = ("touchstone/cache:here", "touchstone/cache:gone");
        assert_eq!(last_use(&data_dir, here), None);
        touch(&data_dir, here);
        touch(&data_dir, gone);
        let noted = last_use(&data_dir, here).expect("a time");
        let images = [Cached { name: here.to_owned(), used: noted, in_use: false }];
        forget_others(&data_dir, &images, noted).expect("nothing to do yet");
        assert!(last_use(&data_dir, gone).is_some(), "it may be in the making");
        forget_others(&data_dir, &images, noted + JUST_NOW * 2).expect("forgotten");
        assert!(last_use(&data_dir, gone).is_none() && last_use(&data_dir, here).is_some());
        assert_eq!(last_use(&data_dir, "elsewhere:1"), None);
    }
}
