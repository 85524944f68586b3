//! Names of images, which people write in many ways.

/// The folder of a registry that holds the official images; their names are usually written without it.
const OFFICIAL: &str = "library/";

/// The short form of a reference, so that two that mean the same official image are the same text.
///
/// `postgres`, `library/postgres:latest` and `registry.example/library/postgres` all become `postgres:latest`.
#[must_use]
pub fn normalise(reference: &str) -> String {
    let reference = without_official(reference.trim());
    let (path, digest) = reference.split_once('@').map_or((reference, None), |(path, digest)| (path, Some(digest)));
    let has_tag = path.rsplit('/').next().is_some_and(|last| last.contains(':'));
    let tag = if has_tag || digest.is_some() { "" } else { ":latest" };
    let digest = digest.map(|digest| format!("@{digest}")).unwrap_or_default();
    format!("{path}{tag}{digest}")
}

/// A reference without the folder of official images, wherever they come from.
fn without_official(reference: &str) -> &str {
    let below = match reference.split_once('/') {
        // The first part is a domain when it could not be a user's name, as Docker sees it.
        Some((first, path)) if first == "localhost" || first.contains(['.', ':']) => path,
        _ => reference,
    };
    below.strip_prefix(OFFICIAL).filter(|name| !name.contains('/')).unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use super::normalise;

    fn check(reference: &str, expected: &str) {
        assert_eq!(normalise(reference), expected);
    }

    #[test]
    fn names_that_mean_the_same_image_become_the_same_text() {
        for reference in [
            "postgres",
            "postgres:latest",
            "library/postgres",
            "registry.example/library/postgres:latest",
            " postgres ",
        ] {
            check(reference, "postgres:latest");
        }
    }

    #[test]
    fn tags_digests_and_other_registries_are_kept() {
        check("postgres:16", "postgres:16");
        check("touchstone/postgres:15", "touchstone/postgres:15");
        check("localhost/agent", "localhost/agent:latest");
        check("registry:5000/team/agent", "registry:5000/team/agent:latest");
        check("registry:5000/team/agent:2", "registry:5000/team/agent:2");
        check("registry:5000/library/team/agent", "registry:5000/library/team/agent:latest");
        check("postgres@sha256:00", "postgres@sha256:00");
        check("postgres:16@sha256:00", "postgres:16@sha256:00");
    }
}
