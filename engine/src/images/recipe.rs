//! Recipe of an image that Touchstone makes itself.

use super::catalogue;

/// An image of Debian packages that stands in for a well-known one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Its name. Never the name of the image that it stands in for, because it is not that image.
    pub name: &'static str,
    /// Description in a few words.
    pub description: &'static str,
    /// The images that it is used for when they can be neither found nor pulled.
    pub stands_in_for: &'static [&'static str],
    /// The release of Debian that the packages come from.
    pub suite: &'static str,
    /// Content besides the packages.
    pub foundation: Foundation,
    /// The packages.
    pub packages: &'static [&'static str],
    /// A shell script that runs on the host once the first packages are unpacked; `$1` is the image's root.
    pub before: Option<&'static str>,
    /// Files that are put into it.
    pub files: &'static [File],
    /// A shell script that runs inside the image at the very end.
    pub inside: Option<&'static str>,
    /// Settings with which a container of it starts, as lines of a Dockerfile.
    pub settings: &'static [&'static str],
}

/// Content of an image besides its packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foundation {
    /// No packages of a system: the recipe's packages are unpacked and not installed.
    Nothing,
    /// The packages that every Debian system has, and `apt`.
    Essential,
    /// Also what Debian calls required.
    Required,
}

/// A file of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its path in the image.
    pub path: &'static str,
    /// Its permissions, in octal.
    pub mode: &'static str,
    /// Its content.
    pub content: &'static str,
}

/// Returns all recipes, those that take longest first, so that none of them is waited for at the end.
#[must_use]
pub fn all() -> &'static [Recipe] {
    &catalogue::ALL
}

/// The recipe that a person means: `postgres`, `postgres:15` or `touchstone/postgres:15`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Recipe> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    all().iter().find(|recipe| recipe.short_name() == name || recipe.short_name().split(':').next() == Some(name))
}

/// Prefix of the names of all recipes.
const PREFIX: &str = "touchstone/";

impl Recipe {
    /// The name without the part that all have.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.strip_prefix(PREFIX).unwrap_or(self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{all, find};
    use crate::images::reference::normalise;

    #[test]
    fn no_stand_in_bears_the_name_of_the_real_one() {
        for recipe in all() {
            assert!(recipe.name.starts_with("touchstone/"), "{}", recipe.name);
        }
    }

    #[test]
    fn every_name_has_one_stand_in() {
        let mut seen = BTreeMap::new();
        for recipe in all() {
            for name in recipe.stands_in_for {
                assert_eq!(seen.insert(normalise(name), recipe.name), None, "{name}");
            }
        }
        for name in ["debian:bookworm-slim", "ubuntu:24.04", "python:3.11-slim", "postgres:16", "mysql:8", "redis:7"] {
            assert!(seen.contains_key(&normalise(name)), "{name}");
        }
    }

    #[test]
    fn recipes_are_found_by_the_names_that_people_use() {
        for name in ["postgres", "postgres:15", "touchstone/postgres:15", "touchstone/postgres"] {
            assert_eq!(find(name).map(|recipe| recipe.name), Some("touchstone/postgres:15"), "{name}");
        }
        assert_eq!(find("postgres:16"), None);
        assert_eq!(find("oracle"), None);
    }
}
