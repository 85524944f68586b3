//! Finds the target of a request by its path.

/// Target of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'p> {
    /// The question if the gateway is available.
    Health,
    /// The list of all sandboxes that the token is good for.
    Sandboxes,
    /// A sandbox.
    Sandbox(&'p str),
    /// The reports of a sandbox's agent.
    Trace(&'p str),
    /// Another part of a sandbox, such as `files`.
    Part(&'p str, &'p str),
    /// Reports of an agent that does not name its sandbox.
    Traces,
    /// A part of the API that only a server has.
    ServersOnly,
    /// No part of the API.
    Unknown,
}

/// Finds the target of a path. Keystone's clients do not escape what they put into it.
pub(super) fn target(path: &str) -> Target<'_> {
    match path {
        "/health" | "/healthz" => return Target::Health,
        _ if path.starts_with("/otel/") => return Target::ServersOnly,
        _ => {}
    }
    let Some(rest) = path.strip_prefix("/v1/") else { return Target::Unknown };
    let mut words = rest.splitn(3, '/');
    match (words.next(), words.next().filter(|word| !word.is_empty()), words.next()) {
        (Some("sandboxes"), None, None) => Target::Sandboxes,
        (Some("sandboxes"), Some(id), None | Some("")) => Target::Sandbox(id),
        (Some("sandboxes"), Some(id), Some("trace")) => Target::Trace(id),
        (Some("sandboxes"), Some(id), Some(rest)) => Target::Part(id, rest.split('/').next().unwrap_or_default()),
        (Some("traces"), None, None) => Target::Traces,
        _ => Target::ServersOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, target};

    #[test]
    fn paths_are_told_apart() {
        for (path, expected) in [
            ("/health", Target::Health),
            ("/healthz", Target::Health),
            ("/v1/sandboxes", Target::Sandboxes),
            ("/v1/sandboxes/", Target::Sandboxes),
            ("/v1/sandboxes/sb-1", Target::Sandbox("sb-1")),
            ("/v1/sandboxes/sb-1/", Target::Sandbox("sb-1")),
            ("/v1/sandboxes/sb-1/trace", Target::Trace("sb-1")),
            ("/v1/sandboxes/sb-1/state", Target::Part("sb-1", "state")),
            ("/v1/sandboxes/sb-1/files//tmp/x", Target::Part("sb-1", "files")),
            ("/v1/traces", Target::Traces),
            ("/v1/traces/0123", Target::ServersOnly),
            ("/v1/experiments", Target::ServersOnly),
            ("/otel/v1/traces", Target::ServersOnly),
            ("/v2/x", Target::Unknown),
            ("/", Target::Unknown),
            ("*", Target::Unknown),
        ] {
            assert_eq!(target(path), expected, "{path}");
        }
    }
}
