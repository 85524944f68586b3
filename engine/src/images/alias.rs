//! Aliases of images: names that stand-ins answer to, in the file `images.yaml` of the data directory.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::recipe::{self, Recipe};
use super::reference::normalise;
use crate::data_dir::DataDir;

/// The name of the file in the data directory.
const FILE: &str = "images.yaml";
/// First lines of the file, which describe it.
const HEADER: &str = "\
# Which image is used when a spec names one that is neither present nor can be pulled.
# `touchstone images build` adds its own; entries that lead elsewhere are yours, and are kept.
";

/// Names of images, and what is used instead when they cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aliases {
    path: PathBuf,
    file: File,
    by_reference: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    alias: BTreeMap<String, String>,
}

/// Reason why the aliases cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AliasError {
    /// The file is there and cannot be read.
    #[error("cannot read the image aliases in `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("`{}` is no list of image aliases ({source}); it looks like `alias: {{\"postgres:16\": \"touchstone/postgres:15\"}}`: correct it, or remove it and run `touchstone images build`", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The error in it.
        source: Box<serde_yaml::Error>,
    },
    /// The file cannot be written.
    #[error("cannot write the image aliases to `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl Aliases {
    /// Reads the aliases of a data directory; none when it has no such file.
    pub fn read(data_dir: &DataDir) -> Result<Self, AliasError> {
        let path = data_dir.path().join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(AliasError::Read { path, source }),
            Ok(text) => text,
        };
        let file = parse(&path, &text)?;
        let by_reference = file.alias.iter().map(|(name, target)| (normalise(name), target.clone())).collect();
        Ok(Self { path, file, by_reference })
    }

    /// Returns the image to use for this reference, however it is written. An image that is asked for by its digest has
    /// no stand-in.
    #[must_use]
    pub fn resolve(&self, reference: &str) -> Option<&str> {
        self.by_reference.get(&normalise(reference)).map(String::as_str)
    }

    /// Makes the names that a recipe stands in for resolve to it, where the user has not said otherwise. Returns how many
    /// were added or changed.
    pub fn register(&mut self, recipe: &Recipe) -> usize {
        let mut changed = 0;
        for name in recipe.stands_in_for {
            let old = self.resolve(name);
            if old == Some(recipe.name) || old.is_some_and(is_the_users) {
                continue;
            }
            let reference = normalise(name);
            self.file.alias.retain(|there, _| normalise(there) != reference);
            self.file.alias.insert((*name).to_owned(), recipe.name.to_owned());
            self.by_reference.insert(reference, recipe.name.to_owned());
            changed += 1;
        }
        changed
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self) -> Result<(), AliasError> {
        self.try_write().map_err(|source| AliasError::Write { path: self.path.clone(), source })
    }

    fn try_write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        let text = serde_yaml::to_string(&self.file).map_err(io::Error::other)?;
        temporary.write_all(format!("{HEADER}{text}").as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(&self.path)?;
        Ok(())
    }
}

/// An empty file, or one of comments, has no aliases.
fn parse(path: &Path, text: &str) -> Result<File, AliasError> {
    let broken = |source| AliasError::Broken { path: path.to_owned(), source: Box::new(source) };
    serde_yaml::from_str::<Option<File>>(text).map(Option::unwrap_or_default).map_err(broken)
}

fn is_the_users(target: &str) -> bool {
    recipe::all().iter().all(|recipe| normalise(recipe.name) != normalise(target))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::{AliasError, Aliases, FILE};
    use crate::data_dir::DataDir;
    use crate::images::recipe;

    fn data_dir(content: Option<&str>) -> (TempDir, DataDir) {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(content) = content {
            fs::write(folder.path().join(FILE), content).expect("written");
        }
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        (folder, data_dir)
    }

    #[test]
    fn what_is_registered_is_found_again_however_it_is_written() {
        let (_folder, data_dir) = data_dir(None);
        let mut aliases = Aliases::read(&data_dir).expect("no aliases");
        assert_eq!(aliases.resolve("postgres:16"), None);
        for recipe in recipe::all() {
            assert_eq!(aliases.register(recipe), recipe.stands_in_for.len());
        }
        aliases.write().expect("written");
        let mut again = Aliases::read(&data_dir).expect("aliases");
        assert_eq!(again, aliases);
        assert_eq!(again.resolve("registry.example/library/postgres:16"), Some("touchstone/postgres:15"));
        assert_eq!(again.resolve("busybox"), Some("touchstone/busybox:1"));
        assert_eq!(again.resolve("postgres:16@sha256:00"), None);
        assert_eq!(again.resolve("somebody/postgres:16"), None);
        assert_eq!(recipe::all().iter().map(|recipe| again.register(recipe)).sum::<usize>(), 0);
    }

    #[test]
    fn entries_of_the_user_are_kept() {
        let (_folder, data_dir) = data_dir(Some("alias:\n  library/mysql: my/mysql\n  postgres: touchstone/redis:7\n"));
        let mut aliases = Aliases::read(&data_dir).expect("aliases");
        for recipe in recipe::all() {
            aliases.register(recipe);
        }
        aliases.write().expect("written");
        let again = Aliases::read(&data_dir).expect("aliases");
        assert_eq!(again.resolve("mysql:latest"), Some("my/mysql"));
        assert_eq!(again.resolve("postgres"), Some("touchstone/postgres:15"), "ours are put right");
    }

    #[test]
    fn an_empty_file_has_no_aliases() {
        for content in ["", "# nothing\n", "alias: {}\n"] {
            let (_folder, data_dir) = data_dir(Some(content));
            assert_eq!(Aliases::read(&data_dir).expect("aliases").resolve("postgres"), None, "{content:?}");
        }
    }

    #[test]
    fn a_broken_file_is_said_with_what_to_do() {
        for content in ["alias: [postgres]\n", "aliases: {}\n", "alias: {postgres: [a]}\n", "{"] {
            let (folder, data_dir) = data_dir(Some(content));
            let error = Aliases::read(&data_dir).expect_err("broken");
            assert!(matches!(error, AliasError::Broken { .. }), "{content:?}: {error}");
            let message = error.to_string();
            assert!(message.contains(&*folder.path().join(FILE).to_string_lossy()), "{message}");
            assert!(message.contains("touchstone images build"), "{message}");
        }
    }
}
