//! Images that the programs of this machine can honestly stand in for, where nobody asked for them.
//!
//! A sandbox without Docker has the programs of the host, whatever `base` says. Who asks for that knows it. Who does not is given it
//! only for images that are well known and whose programs the host has, or that an alias of the machine's owner leads to: any other
//! name may be a slip, and what ran without it would say nothing about the world that the spec describes.

use std::path::Path;

use scenario::spec::Spec;
use scenario::spec::diagnostic::did_you_mean;

use crate::images::reference::normalise;
use crate::images::{Aliases, recipe};

/// Official images, and a program that the host must have to stand in for each.
const KNOWN: [(&str, &str); 14] = [
    ("bash", "bash"),
    ("busybox", "sh"),
    ("debian", "dpkg"),
    ("gcc", "gcc"),
    ("golang", "go"),
    ("mariadb", "mariadb"),
    ("mysql", "mysql"),
    ("node", "node"),
    ("perl", "perl"),
    ("postgres", "psql"),
    ("python", "python3"),
    ("redis", "redis-cli"),
    ("ruby", "ruby"),
    ("ubuntu", "dpkg"),
];

/// Prefix of the names of images that Touchstone makes itself.
const OURS: &str = "touchstone/";

/// Explains why the programs of this machine cannot stand in for the base of a spec; `None` when they can.
#[must_use]
pub fn refusal(spec: &Spec, aliases: &Aliases) -> Option<String> {
    refusal_with(spec.base.source(), aliases, is_installed)
}

/// A name that may have been meant, as a sentence.
#[must_use]
pub fn suggestion(image: &str) -> Option<String> {
    let name = repository(&normalise(image));
    let known = recipe::all().iter().flat_map(|recipe| recipe.stands_in_for);
    let mut names: Vec<String> = known.map(|name| repository(name)).collect();
    names.extend(KNOWN.iter().map(|(name, _)| (*name).to_owned()));
    if names.contains(&name) {
        return None;
    }
    did_you_mean(&name, names.iter().map(String::as_str))
}

fn refusal_with(image: &str, aliases: &Aliases, is_installed: impl Fn(&str) -> bool) -> Option<String> {
    // A folder or an archive that the machine's owner named for this image.
    if aliases.resolve(image).is_some_and(|target| target.starts_with('/')) {
        return None;
    }
    if image.contains("{{") {
        return Some(format!("which image `{image}` is depends on a parameter"));
    }
    let name = normalise(image);
    // Ours are named like what they stand in for.
    let name = name.strip_prefix(OURS).unwrap_or(&name);
    if name.contains('@') {
        return Some(format!("`{image}` is asked for by its digest, so nothing else will do"));
    }
    match KNOWN.iter().find(|(known, _)| *known == repository(name) && !name.contains('/')) {
        Some((_, program)) if is_installed(program) => None,
        Some((_, program)) => Some(format!("this machine has no `{program}` to stand in for the image `{image}`")),
        None => {
            let meant = suggestion(image).map(|meant| format!("; {meant}")).unwrap_or_default();
            Some(format!("the image `{image}` is not one that this machine's programs can stand in for{meant}"))
        }
    }
}

/// The name of an image without its tag and digest.
fn repository(normalised: &str) -> String {
    let path = normalised.split('@').next().unwrap_or(normalised);
    let tag = path.rfind(':').filter(|at| !path[*at..].contains('/'));
    path[..tag.unwrap_or(path.len())].to_owned()
}

fn is_installed(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::{refusal_with, suggestion};
    use crate::data_dir::DataDir;
    use crate::images::Aliases;

    fn refusal(image: &str, installed: &[&str], aliases: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().to_owned())).expect("a data directory");
        std::fs::write(data_dir.path().join("images.yaml"), aliases).expect("a file");
        let aliases = Aliases::read(&data_dir).expect("aliases");
        refusal_with(image, &aliases, |program| installed.contains(&program))
    }

    #[test]
    fn well_known_images_are_stood_in_for_where_their_programs_are() {
        for image in ["debian", "debian:12-slim", "library/ubuntu:24.04", "docker.io/library/debian"] {
            assert_eq!(refusal(image, &["dpkg"], ""), None, "{image}");
        }
        assert_eq!(refusal("python:3.12-slim", &["python3"], ""), None);
        assert_eq!(refusal("touchstone/busybox:1", &["sh"], ""), None);
        let without = refusal("node:22", &["python3"], "").expect("a refusal");
        assert!(without.contains("has no `node`"), "{without}");
    }

    #[test]
    fn other_names_are_not() {
        let everything = ["dpkg", "python3", "bash", "node"];
        for image in ["debain", "team/debian:12", "registry.example/debian", "debian@sha256:00", "debian:{{ tag }}"] {
            assert!(refusal(image, &everything, "").is_some(), "{image}");
        }
        let typo = refusal("debain:12", &everything, "").expect("a refusal");
        assert!(typo.ends_with("did you mean `debian`?"), "{typo}");
    }

    #[test]
    fn an_alias_to_a_system_of_the_machine_decides() {
        let aliases =
            "alias: {\"team/agent:1\": \"/srv/agent.tar\", \"team/other:1\": \"touchstone/debian:bookworm\"}\n";
        assert_eq!(refusal("team/agent:1", &[], aliases), None);
        assert!(refusal("team/other:1", &[], aliases).is_some(), "that is an image of Docker");
    }

    #[test]
    fn a_slip_is_recognised() {
        assert_eq!(suggestion("pyhton:3").as_deref(), Some("did you mean `python`?"));
        assert_eq!(suggestion("postgress:16").as_deref(), Some("did you mean `postgres`?"));
        assert_eq!((suggestion("debian:99"), suggestion("team/agent")), (None, None));
    }
}
