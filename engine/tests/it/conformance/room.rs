//! Room on disk, and images that go to make more.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use super::{TestImage, output, suite};
use crate::harness::Harness;

/// Age of an image that is so old that no real image was made then: nothing of another test can be meant.
const AGES: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

suite! {
    room_is_measured_and_nothing_goes_when_there_is_enough,
    images_that_were_not_used_for_ages_go_unless_a_container_uses_them,
}

/// A tiny image as it is made for packages, and the file of its last use.
fn cached(harness: &Harness, used: Option<Duration>) -> (TestImage, PathBuf) {
    let tag = format!("test-{}", engine::entropy::hex(8));
    let name = format!("touchstone/cache:{tag}");
    let image = TestImage::make_named(name, "touchstone/busybox:1", "true", &["LABEL touchstone=cache"]);
    let file = harness.data_dir.path().join("cache").join(tag);
    if let Some(used) = used {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        let note = File::create(&file).expect("a file");
        note.set_modified(UNIX_EPOCH + used).expect("a time");
    }
    (image, file)
}

fn is_there(image: &TestImage) -> bool {
    Command::new("docker").args(["image", "inspect", image.name()]).output().expect("docker").status.success()
}

async fn room_is_measured_and_nothing_goes_when_there_is_enough(harness: &mut Harness) {
    let (old, _) = cached(harness, Some(Duration::from_secs(1)));
    let space = harness.backend.make_room(1).await.expect("room");
    assert!(space.free > 0 && space.evicted.is_empty(), "{space:?}");
    assert!(is_there(&old));
}

async fn images_that_were_not_used_for_ages_go_unless_a_container_uses_them(harness: &mut Harness) {
    let (older, note) = cached(harness, Some(Duration::from_secs(1)));
    let (old, _) = cached(harness, Some(Duration::from_secs(2)));
    let (used, _) = cached(harness, Some(Duration::from_secs(3)));
    let (new, _) = cached(harness, None);
    let container = output("docker", &["create", "--label", "touchstone=test", used.name(), "true"]);
    let evicted = harness.backend.evict(AGES).await;
    output("docker", &["rm", "--force", &container]);
    assert_eq!(evicted.expect("evicted"), [older.name(), old.name()], "the least recently used goes first");
    assert!(!is_there(&older) && !is_there(&old) && is_there(&used) && is_there(&new));
    assert!(!note.exists(), "its use is forgotten with it");
}
