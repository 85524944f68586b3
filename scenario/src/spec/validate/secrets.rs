//! `secrets`: each has one name and one source.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::rules::Rules;
use crate::spec::code::Code;
use crate::spec::sections::SecretFrom;

/// Matches the prefixes of well-known providers' keys, followed by long runs of mixed characters.
static LOOKS_REAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(sk-|sk_live_|ghp_|gho_|github_pat_|glpat-|xox[abp]-|AKIA|AIza|ks_live_|plr_live_|eyJ)[A-Za-z0-9_\-./+=]{12,}$").ok()
});

pub(super) fn check(rules: &mut Rules<'_>) {
    let spec = rules.spec;
    let mut names = HashSet::new();
    let mut rules = rules.at("secrets");
    for (index, secret) in spec.secrets.iter().enumerate() {
        let mut rules = rules.index(index);
        let entry = secret.entry();
        if !names.insert(secret.name()) {
            rules.report(Code::DuplicateName, format!("there are two secrets `{}`", secret.name()), None);
        }
        match (&entry.source, &entry.from) {
            (Some(_), Some(_)) => rules.one_of(&["source", "from"]),
            (None, None) => {
                let message = format!(
                    "the secret `{}` has neither `source` nor `from`, so it is taken from the caller's environment",
                    secret.name()
                );
                rules.report(Code::SecretSource, message, Some("write `source: env` to say so"));
            }
            (None, Some(SecretFrom::Static(value))) if LOOKS_REAL.as_ref().is_some_and(|form| form.is_match(value)) => {
                rules.at("from").report(
                    Code::SecretLiteral,
                    format!("the value of `{}` looks like a real key", secret.name()),
                    Some("take it from `source: env` or `file:PATH`"),
                );
            }
            _ => {}
        }
    }
}
