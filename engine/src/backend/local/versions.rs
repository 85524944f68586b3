//! Versions of this machine's programs that stand in for images, and their differences from the images.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use scenario::spec::Spec;

use super::LocalBackend;
use super::programs::{InstalledProgram, PROGRAMS, find, here, repository};
use crate::backend::fit;

/// A program that can be a service where there is no Docker, and whether it is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its name for people: `Postgres`.
    pub name: &'static str,
    /// The images that it stands in for, without a tag.
    pub images: &'static [&'static str],
    /// The Debian package that has it.
    pub package: &'static str,
    /// Its version and the folder that it is in, when it is there.
    pub found: Option<(String, PathBuf)>,
}

/// Returns all programs that can be services, with the versions that are installed.
#[must_use]
pub fn installed() -> Vec<Installed> {
    let look = |program: &super::programs::Program| {
        let found = here(program).map(|found| (found.version().unwrap_or_default(), found.folder));
        Installed { name: program.name, images: program.images, package: program.package, found }
    };
    PROGRAMS.iter().map(look).collect()
}

/// The library with which sandboxes of this machine have a clock of their own, when it is there.
#[must_use]
pub fn clock_library() -> Option<PathBuf> {
    crate::faketime::on_this_machine()
}

/// The versions that were asked for already: asking starts a program.
#[derive(Debug, Default)]
pub(super) struct Versions(Mutex<BTreeMap<String, Option<String>>>);

impl Versions {
    fn of(&self, found: &InstalledProgram) -> Option<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(found.mark()).or_insert_with(|| found.version()).clone()
    }
}

impl LocalBackend {
    /// Names the program that stands in for an image as a service: `Postgres 15.18`; `None` when no program of this
    /// machine does.
    pub(super) fn stand_in(&self, reference: &str) -> Option<String> {
        let found = find(reference)?.ok()?;
        let version = self.0.versions.of(&found).map(|version| format!(" {version}")).unwrap_or_default();
        Some(format!("{}{version}", found.program.name))
    }

    /// Describes the differences between services of specs and their images, in words for people: another program, or
    /// another version.
    #[must_use]
    pub fn differences(&self, specs: &[&Spec]) -> Vec<String> {
        let images: BTreeSet<_> =
            specs.iter().flat_map(|spec| fit::service_images(spec)).map(|(_, image)| image).collect();
        images.iter().filter_map(|image| self.difference(image)).collect()
    }

    fn difference(&self, image: &str) -> Option<String> {
        let found = find(image)?.ok()?;
        let version = self.0.versions.of(&found)?;
        let is_other = !found.program.name.eq_ignore_ascii_case(repository(image));
        let is_newer_or_older = wanted(image).is_some_and(|wanted| wanted != major(&version));
        (is_other || is_newer_or_older).then(|| format!("`{image}` is {} {version} here", found.program.name))
    }
}

impl InstalledProgram {
    /// Its version, as it says itself: `15.18`.
    fn version(&self) -> Option<String> {
        let said = Command::new(self.folder.join(self.program.program)).arg("--version").output().ok()?;
        read(&String::from_utf8_lossy(&said.stdout))
    }
}

/// The first number in what a program says about its version.
fn read(said: &str) -> Option<String> {
    let mut words = said.split([' ', '=']).filter(|word| word.starts_with(|sign: char| sign.is_ascii_digit()));
    let word = words.next()?;
    let end = word.find(|sign: char| !(sign.is_ascii_digit() || sign == '.')).unwrap_or(word.len());
    Some(word[..end].trim_end_matches('.').to_owned())
}

/// The version before its first dot.
fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

/// The version that an image's tag begins with, as far as its first dot.
fn wanted(image: &str) -> Option<&str> {
    let name = image.split('@').next()?.rsplit('/').next()?;
    let (_, tag) = name.split_once(':')?;
    let end = tag.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(tag.len());
    (end > 0).then(|| &tag[..end])
}

#[cfg(test)]
mod tests {
    use super::{major, read, wanted};

    #[test]
    fn programs_say_their_versions_in_many_ways() {
        for (said, version) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some("15.18")),
            ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", Some("10.11.19")),
            ("mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", Some("8.0.36")),
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", Some("7.0.15")),
            ("postgres (PostgreSQL) 17beta1", Some("17")),
            ("not a word about it", None),
        ] {
            assert_eq!(read(said).as_deref(), version, "{said}");
        }
        assert_eq!((major("15.18"), major("7")), ("15", "7"));
    }

    #[test]
    fn images_say_a_version_in_their_tags_or_none() {
        for (image, version) in [
            ("postgres:9", Some("9")),
            ("docker.io/library/postgres:16-alpine@sha256:00", Some("16")),
            ("mysql:8.0.36", Some("8")),
            ("redis", None),
            ("localhost:5000/redis", None),
            ("postgres:latest", None),
        ] {
            assert_eq!(wanted(image), version, "{image}");
        }
    }
}
