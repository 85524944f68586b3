//! Checks for the programs of this machine that can be services and clocks of sandboxes without Docker.

use engine::backend::local::{Installed, clock_library, installed};

use super::Finding;

/// The services to look for: the name of each here, and an image that it stands in for.
const WANTED: [(&str, &str); 3] = [("postgres", "postgres"), ("mariadb or mysql", "mysql"), ("redis", "redis")];

/// Looks for programs that can be services, and for the library of clocks.
pub(super) fn look() -> Vec<Finding> {
    let installed = installed();
    let mut findings: Vec<_> = WANTED.iter().map(|(what, image)| service(what, image, &installed)).collect();
    findings.push(clock());
    findings
}

/// Reports the program that stands in for an image, or the package to install for it.
fn service(what: &'static str, image: &str, installed: &[Installed]) -> Finding {
    let fitting: Vec<_> = installed.iter().filter(|one| one.images.contains(&image)).collect();
    let found = fitting.iter().rev().find_map(|one| one.found.as_ref().map(|found| (one.name, found)));
    match (found, fitting.first()) {
        (Some((name, (version, folder))), _) => {
            Finding::ok(what, format!("{name} {version} of `{}` can be a service without Docker", folder.display()))
        }
        (None, first) => {
            let package = first.map_or(image, |first| first.package);
            let fix = format!("apt-get install {package}, or use Docker, for specs with such a service");
            Finding::note(what, "not installed: no service of sandboxes without Docker", fix)
        }
    }
}

fn clock() -> Finding {
    const WHAT: &str = "libfaketime";
    match clock_library() {
        Some(library) => {
            Finding::ok(WHAT, format!("`{}`: `determinism.clock` works without Docker", library.display()))
        }
        None => Finding::note(
            WHAT,
            "not installed: sandboxes without Docker have no clock of their own",
            "apt-get install libfaketime, or use Docker, for specs with `determinism.clock`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use engine::backend::local::Installed;

    use super::super::finding::State;
    use super::service;

    #[test]
    fn what_is_missing_is_a_note_with_what_to_install() {
        let one = |name, images, package, version: Option<&str>| Installed {
            name,
            images,
            package,
            found: version.map(|version| (version.to_owned(), PathBuf::from("/usr/bin"))),
        };
        let mariadb = |version| one("MariaDB", &["mariadb", "mysql"][..], "mariadb-server-core", version);
        let mysql = |version| one("MySQL", &["mysql"][..], "mysql-server-core", version);
        let found = service("mariadb or mysql", "mysql", &[mariadb(Some("10.11")), mysql(None)]);
        assert!(found.state == State::Ok && found.line().contains("MariaDB 10.11 of `/usr/bin`"), "{found:?}");
        let found = service("mariadb or mysql", "mysql", &[mariadb(Some("10.11")), mysql(Some("8.0"))]);
        assert!(found.line().contains("MySQL 8.0"), "the image's own program comes first: {found:?}");
        let missing = service("mariadb or mysql", "mysql", &[mariadb(None), mysql(None)]);
        let fix = missing.fix.clone().unwrap_or_default();
        assert!(missing.state == State::Note && fix.contains("install mariadb-server-core"), "{missing:?}");
    }
}
