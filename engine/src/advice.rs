//! Advice on the refusals that people meet most: a full disk, no addresses left, a port that is taken, a registry that
//! cannot be reached.
//!
//! Engines and kernels say what is wrong in words of their own, which change little over the years. Whatever is not known
//! here is told as it was said.

use std::io;

/// Words of known refusals, and the advice on each. The first match counts.
const KNOWN: [(&[&str], &str); 7] = [
    (
        &["no space left on device", "disk quota exceeded", "not enough space"],
        "the disk is full: `touchstone gc --images` removes what is old, `docker system prune` what the engine does not need",
    ),
    (
        &["non-overlapping ipv4 address pool", "predefined address pools have been fully subnetted"],
        "the engine has no addresses left: `docker network prune` frees them, `default-address-pools` in daemon.json gives more",
    ),
    (
        &["port is already allocated", "address already in use"],
        "another program has this port: end it, or choose another one",
    ),
    (
        &["toomanyrequests", "too many requests", "rate limit"],
        "the registry wants you to wait or to sign in: `docker login`",
    ),
    (
        &["manifest unknown", "not found: manifest", "manifest for", "repository does not exist", "pull access denied"],
        "no registry has it under this name: look at its spelling, or sign in with `docker login`",
    ),
    (
        &[
            "no such host",
            "network is unreachable",
            "i/o timeout",
            "dial tcp",
            "tls handshake timeout",
            "server misbehaving",
            "context deadline exceeded",
        ],
        "no registry can be reached from here",
    ),
    (
        &["permission denied while trying to connect", "dial unix"],
        "the engine's socket is not open to this user: join its group, or be root",
    ),
];

/// Returns advice on a refusal, when it is a known one.
pub(crate) fn advice(said: &str) -> Option<&'static str> {
    let said = said.to_lowercase();
    KNOWN.iter().find(|(words, _)| words.iter().any(|word| said.contains(word))).map(|(_, advice)| *advice)
}

/// A refusal with what to do about it.
pub(crate) fn with_advice(said: String) -> String {
    match advice(&said) {
        Some(advice) => format!("{said}; {advice}"),
        None => said,
    }
}

/// Returns the advice that is appended to an error of a file of ours: a full disk has a remedy.
pub(crate) fn after(error: &io::Error) -> String {
    advice(&error.to_string()).map(|advice| format!("; {advice}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{after, with_advice};

    #[track_caller]
    fn check(said: &str, told: &str) {
        let text = with_advice(said.to_owned());
        assert!(text.starts_with(said) && text.contains(told), "{text}");
    }

    #[test]
    fn what_engines_say_is_told_with_what_to_do() {
        check("write /var/lib/docker/tmp/x: no space left on device", "touchstone gc --images");
        check(
            "could not find an available, non-overlapping IPv4 address pool among the defaults",
            "docker network prune",
        );
        check("all predefined address pools have been fully subnetted", "docker network prune");
        check("Bind for 0.0.0.0:80 failed: port is already allocated", "choose another one");
        check("toomanyrequests: You have reached your pull rate limit", "docker login");
        check("manifest for nobody/has-it:latest not found: manifest unknown", "look at its spelling");
        check(
            "pull access denied for x, repository does not exist or may require 'docker login'",
            "look at its spelling",
        );
        check("Get \"https://r/v2/\": dial tcp: lookup r on 127.0.0.11:53: no such host", "no registry can be reached");
    }

    #[test]
    fn what_nobody_knows_is_told_as_it_was_said() {
        assert_eq!(with_advice("the moon is full".to_owned()), "the moon is full");
        assert_eq!(after(&io::Error::other("x")), "");
        assert!(after(&io::Error::from_raw_os_error(28)).contains("the disk is full"));
    }
}
