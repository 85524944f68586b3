//! Systems that sandboxes are made from instead of the programs of the machine: folders, and archives that are unpacked once.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use scenario::hex;
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

use crate::data_dir::DataDir;

/// The folder of the data directory with what was unpacked.
const UNPACKED: &str = "roots";
/// First bytes of a file that is packed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The folder with a system: as it is, or what an archive holds. A new version of an archive is another folder.
pub(super) fn folder(data_dir: &DataDir, path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path).map_err(|error| {
        io::Error::new(error.kind(), format!("there is no system for sandboxes at `{}`: {error}", path.display()))
    })?;
    let found = fs::metadata(&path)?;
    if found.is_dir() {
        return Ok(path);
    }
    let mark = format!("{} {} {} {}", path.display(), found.len(), found.mtime(), found.mtime_nsec());
    let mark = hex(&Sha256::digest(mark)[..8]);
    let all = data_dir.path().join(UNPACKED);
    let folder = all.join(mark);
    if !folder.exists() {
        fs::create_dir_all(&all)?;
        // Under another name first: another process may be doing the same.
        let temporary = tempfile::Builder::new().prefix(".new-").tempdir_in(&all)?;
        unpack(&path, temporary.path()).map_err(|error| {
            io::Error::new(error.kind(), format!("`{}` cannot be unpacked: {error}", path.display()))
        })?;
        match fs::rename(temporary.path(), &folder) {
            Ok(()) => drop(temporary.keep()),
            Err(_) if folder.exists() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(folder)
}

fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    let mut file = File::open(archive)?;
    let mut beginning = [0; 2];
    let is_packed = file.read_exact(&mut beginning).is_ok() && beginning == GZIP;
    file.rewind()?;
    let file = BufReader::with_capacity(1 << 16, file);
    let content: Box<dyn Read> = if is_packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    let mut archive = Archive::new(content);
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(rustix::process::geteuid().is_root());
    let mut files = 0;
    for entry in archive.entries()? {
        let mut entry = entry?;
        // A sandbox has devices of its own.
        if matches!(entry.header().entry_type(), EntryType::Block | EntryType::Char | EntryType::Fifo) {
            continue;
        }
        entry.unpack_in(folder)?;
        files += 1;
    }
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    if files == 0 {
        Err(io::Error::new(io::ErrorKind::InvalidData, "it is no archive, or an empty one"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::folder;
    use crate::data_dir::DataDir;

    #[test]
    fn a_folder_is_taken_as_it_is_and_an_archive_is_unpacked_once() {
        let place = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(place.path().join("data"))).expect("a data directory");
        let system = place.path().join("system");
        fs::create_dir_all(system.join("bin")).expect("a folder");
        fs::write(system.join("bin/tool"), "x").expect("a file");
        assert_eq!(folder(&data_dir, &system).expect("a folder"), fs::canonicalize(&system).expect("a path"));
        let packed = place.path().join("system.tar.gz");
        let file = GzEncoder::new(File::create(&packed).expect("a file"), Compression::fast());
        let mut archive = tar::Builder::new(file);
        archive.append_dir_all(".", &system).expect("packed");
        archive.into_inner().expect("written").finish().expect("written");
        let unpacked = folder(&data_dir, &packed).expect("unpacked");
        assert_eq!(fs::read_to_string(unpacked.join("bin/tool")).expect("a file"), "x");
        fs::write(unpacked.join("mark"), "").expect("a file");
        assert!(folder(&data_dir, &packed).expect("unpacked").join("mark").exists(), "once");
    }

    #[test]
    fn what_is_no_system_is_refused_with_its_name() {
        let place = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(place.path().join("data"))).expect("a data directory");
        let nothing = place.path().join("nothing");
        assert!(folder(&data_dir, &nothing).expect_err("nothing").to_string().contains("nothing"));
        fs::write(&nothing, "this is no archive at all").expect("a file");
        assert!(folder(&data_dir, &nothing).expect_err("no archive").to_string().contains("cannot be unpacked"));
        assert_eq!(fs::read_dir(place.path().join("data/roots")).expect("a folder").count(), 0, "nothing is left");
    }
}
