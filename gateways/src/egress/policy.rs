//! Policy of the names that may be reached.

use std::net::IpAddr;

use scenario::spec::sections::{Egress as Settings, Policy as Otherwise};

use crate::addresses::DOMAIN;

/// The longest name.
const LONGEST: usize = 253;
/// The longest part of a name.
const LONGEST_LABEL: usize = 63;

/// Policy of the names that may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// All names: while the sandbox is set up.
    Open,
    /// Names that the spec lists, or all.
    Listed {
        /// True when names that are not listed may be reached too.
        others: bool,
        /// The names, and `*.` with the end of names.
        names: Vec<String>,
    },
}

impl Policy {
    /// Returns the policy of the spec. Names of services are no names of the outside, though specs like to list them.
    pub fn of(settings: &Settings) -> Self {
        let names = settings.allow.iter().map(|name| name.as_str().to_ascii_lowercase());
        let names = names.filter(|name| !format!(".{name}").ends_with(DOMAIN)).collect();
        Self::Listed { others: settings.default == Otherwise::Allow, names }
    }

    /// Returns true if anything may be reached.
    pub fn lets_anything_out(&self) -> bool {
        match self {
            Self::Open => true,
            Self::Listed { others, names } => *others || !names.is_empty(),
        }
    }

    /// Returns true if a name may be reached. It must be in lower case. A name of one word means a service, or one that
    /// is misspelt, unless it is listed.
    pub(super) fn allows(&self, name: &str) -> bool {
        match self {
            Self::Open => name.contains('.'),
            Self::Listed { others, names } => {
                (*others && name.contains('.')) || names.iter().any(|listed| matches(listed, name))
            }
        }
    }
}

/// Returns true if a name is the listed one, or below it where `*.` stands in front.
fn matches(listed: &str, name: &str) -> bool {
    match listed.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => listed == name,
    }
}

/// A name as it is compared: in lower case, without a dot at its end. `None` when it is none: too long, an address in any
/// form that a resolver would take for one, or no name that a host can have.
pub(super) fn host_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let fits = (1..=LONGEST_LABEL).contains(&label.len());
        fits && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    let is_name =
        name.len() <= LONGEST && name.split('.').all(is_label) && !is_number && name.parse::<IpAddr>().is_err();
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use scenario::spec::load;

    use super::{Policy, host_name};

    fn policy(egress: &str) -> Policy {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\nnetwork: {{egress: {egress}}}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        Policy::of(&load(&text, None).spec.expect("a spec").network.egress)
    }

    #[test]
    fn a_star_means_the_names_below_and_not_the_name_itself() {
        let policy = policy("{allow: ['*.Example.com', exact.org]}");
        for name in ["a.example.com", "a.b.example.com", "exact.org"] {
            assert!(policy.allows(name), "{name}");
        }
        for name in ["example.com", "evilexample.com", "a.example.com.evil", "www.exact.org", "org", ".example.com"] {
            assert!(!policy.allows(name) || host_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_name_of_one_word_goes_out_only_when_it_is_listed() {
        let open = policy("{default: allow, allow: [intranet]}");
        assert_eq!(["a.example", "intranet", "postgress"].map(|name| open.allows(name)), [true, true, false]);
        assert!(!Policy::Open.allows("postgress") && Policy::Open.allows("a.example"));
    }

    #[test]
    fn names_of_services_are_no_way_out() {
        assert!(!policy("{allow: ['*.services.internal', mail.services.internal]}").lets_anything_out());
        assert!(!policy("{}").lets_anything_out());
        assert!(policy("{default: allow}").lets_anything_out() && policy("{allow: [a.example]}").lets_anything_out());
    }

    #[test]
    fn an_address_is_no_name_however_it_is_written() {
        assert_eq!(host_name("WWW.Example.COM.").as_deref(), Some("www.example.com"));
        let long = format!("{}example.com", "a.".repeat(130));
        for text in [
            "",
            ".",
            "a..b",
            "1.2.3.4",
            "2130706433",
            "0x7f000001",
            "127.1",
            "a.0x1",
            "::1",
            "[::1]",
            "a b",
            "a/b",
            "é.example",
            &long,
        ] {
            assert_eq!(host_name(text), None, "{text}");
        }
    }
}
