//! The files beside specs, unpacked once for each version.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use engine::entropy;
use store::SpecContent;

/// Unpacks the files of a spec into a folder that is named after their digest; where that is.
///
/// The folder exists whole or not at all, also when several processes do this at once.
pub(crate) fn unpack(bundles: &Path, scratch: &Path, digest: &str, content: &SpecContent) -> io::Result<PathBuf> {
    let folder = bundles.join(digest);
    if folder.is_dir() {
        return Ok(folder);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(bundles)?;
    let unfinished = scratch.join(entropy::uuid().to_string());
    let written = write(&unfinished, content).and_then(|()| fs::rename(&unfinished, &folder));
    if written.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
    }
    match written {
        // Somebody else was faster.
        Err(_) if folder.is_dir() => Ok(folder),
        written => written.map(|()| folder),
    }
}

fn write(folder: &Path, content: &SpecContent) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for file in &content.files {
        let inside = Path::new(&file.path).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return Err(io::Error::other(format!("`{}` leads out of the spec's folder", file.path)));
        }
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mode = if file.executable { 0o755 } else { 0o644 };
        let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        written.write_all(&file.content)?;
        // The name must not come before the content, also when the machine stops.
        written.sync_data()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use store::SpecFile;

    use super::*;

    #[test]
    fn whoever_unpacks_first_the_files_are_there_for_all() {
        let file = |number: usize| SpecFile {
            path: format!("folder/{number}.txt"),
            executable: false,
            content: number.to_string().into_bytes(),
        };
        let content = SpecContent { text: String::new(), files: (0..5).map(file).collect() };
        let root = tempfile::tempdir().unwrap();
        let (bundles, scratch) = (root.path().join("bundles"), root.path().join("scratch"));
        for digest in ["one", "two", "three"] {
            let together = Barrier::new(8);
            let unpack_and_read = || {
                together.wait();
                let folder = unpack(&bundles, &scratch, digest, &content).unwrap();
                (0..5).for_each(|number| {
                    let read = fs::read_to_string(folder.join(format!("folder/{number}.txt"))).unwrap();
                    assert_eq!(read, number.to_string());
                });
            };
            thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(unpack_and_read))));
        }
        assert_eq!(fs::read_dir(&bundles).unwrap().count(), 3);
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    }
}
