//! The values of a spec's secrets, from where the spec says they are.

mod command;
mod forwarded;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;

use engine::entropy;
use scenario::spec::Spec;
use scenario::spec::sections::{SecretEntry, SecretFrom, SecretSource};
use scenario::spec::types::SecretName;

use command::SecretCommandError;
pub(crate) use forwarded::{Forwarded, SecretOptions};

/// Minimum length of a secret's value. The value is removed from all stored data, wherever it occurs.
const SHORTEST: usize = 4;
/// Maximum length of the value, in bytes.
const LONGEST: usize = 64 * 1024;

/// The reason why a secret has no value.
#[derive(Debug, thiserror::Error)]
enum SecretError {
    #[error("it is shorter than {SHORTEST} characters, and would be found by chance in what is kept")]
    TooShort,
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    #[error(
        "pass it in `secrets`, or keep it with PUT /v1/secrets/{0}; this server takes none from the places that specs name"
    )]
    NotGiven(SecretName),
    #[error("set the environment variable `{0}`")]
    NoVariable(String),
    #[error("cannot read `{path}`: {cause}")]
    File {
        path: String,
        #[source]
        cause: io::Error,
    },
    #[error(transparent)]
    Command(#[from] SecretCommandError),
    #[error("it is kept on a server; submit the spec there, or give it with `--secrets-from`")]
    OnServer,
}

/// Returns the values of all secrets; the error lists all missing ones. The spec's own value comes first, then the one
/// given for this command, then the secret's source.
pub(crate) fn resolve(spec: &Spec, forwarded: &Forwarded) -> Result<BTreeMap<String, String>, String> {
    resolve_with(spec, forwarded, Sources::Named(&|name| env::var(name).ok()))
}

/// Returns the same without the sources that specs name: their files, commands and variables belong to the submitter's
/// machine.
pub(crate) fn resolve_given(spec: &Spec, forwarded: &Forwarded) -> Result<BTreeMap<String, String>, String> {
    resolve_with(spec, forwarded, Sources::Refused)
}

/// The values that can be found here, for a server: it looks into none of the places that specs name, and may keep the others
/// itself. Values that specs make or state are its own to make.
pub(crate) fn resolve_for_server(spec: &Spec, forwarded: &Forwarded) -> BTreeMap<String, String> {
    let environment = |name: &str| env::var(name).ok();
    let named = spec.secrets.iter().filter(|secret| secret.entry().from.is_none());
    let found = named.filter_map(|secret| {
        let name = secret.name().to_string();
        let value = value(secret.entry(), forwarded.get(&name), Sources::Named(&environment)).and_then(fitting);
        Some((name, value.ok()?))
    });
    found.collect()
}

/// Looks up a variable of the environment.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Permission to read secrets from the sources that specs name.
#[derive(Clone, Copy)]
enum Sources<'a> {
    /// Allowed, with this environment.
    Named(Environment<'a>),
    /// Refused.
    Refused,
}

fn resolve_with(spec: &Spec, forwarded: &Forwarded, sources: Sources<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    let mut problems = Vec::new();
    for secret in &spec.secrets {
        let name = secret.name().to_string();
        match value(secret.entry(), forwarded.get(&name), sources).and_then(fitting) {
            Ok(value) => drop(values.insert(name, value)),
            Err(problem) => problems.push(format!("the secret `{name}` has no value: {problem}")),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems.join("\n")) }
}

/// A value that can be taken out of everything.
fn fitting(value: String) -> Result<String, SecretError> {
    if value.chars().count() < SHORTEST {
        return Err(SecretError::TooShort);
    }
    if value.len() > LONGEST {
        return Err(SecretError::TooLong);
    }
    Ok(value)
}

fn value(secret: &SecretEntry, forwarded: Option<&str>, sources: Sources<'_>) -> Result<String, SecretError> {
    match (&secret.from, forwarded) {
        (Some(SecretFrom::Generated), _) => return Ok(entropy::hex(32)),
        (Some(SecretFrom::Static(value)), _) => return Ok(value.clone()),
        (None, Some(value)) => return Ok(value.to_owned()),
        (None, None) => {}
    }
    let Sources::Named(environment) = sources else {
        return Err(SecretError::NotGiven(secret.name.clone()));
    };
    match secret.source.as_ref().unwrap_or(&SecretSource::Env(None)) {
        SecretSource::Env(name) => {
            let name = name.clone().unwrap_or_else(|| secret.name.to_string());
            environment(&name).ok_or(SecretError::NoVariable(name))
        }
        SecretSource::File(path) => {
            let place = expanded(path, environment);
            let content = fs::read_to_string(&place);
            let content = content.map_err(|cause| SecretError::File { path: path.clone(), cause })?;
            Ok(content.trim().to_owned())
        }
        SecretSource::Command(line) => Ok(command::output(line)?),
        SecretSource::Dashboard => Err(SecretError::OnServer),
    }
}

/// A path with `~` at its beginning replaced by the home folder.
fn expanded(path: &str, environment: Environment<'_>) -> String {
    match (path.strip_prefix('~'), environment("HOME")) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use scenario::spec::{Spec, load};

    use super::{Forwarded, Sources, resolve_given, resolve_with};

    fn spec(secrets: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\nsecrets: {secrets}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }

    fn resolved(secrets: &str, forwarded: &str, home: &str) -> Result<BTreeMap<String, String>, String> {
        let environment = |name: &str| match name {
            "A" => Some("value of A".to_owned()),
            "HOME" => Some(home.to_owned()),
            _ => None,
        };
        resolve_with(&spec(secrets), &Forwarded::parse(forwarded).expect("lines"), Sources::Named(&environment))
    }

    fn value(secret: &str) -> Result<String, String> {
        resolved(&format!("[{secret}]"), "", "/none").map(|mut values| values.pop_first().expect("a value").1)
    }

    #[test]
    fn values_come_from_every_source() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key"), "\n in a file \n").expect("written");
        let home = folder.path().display().to_string();
        let secrets = format!(
            "[A, {{name: B, source: 'env:A'}}, {{name: C, source: 'file:~/key'}}, {{name: D, source: 'file:{home}/key'}}, \
             {{name: E, source: 'command:echo \" by command \"'}}, {{name: F, from: 'static://literal'}}]"
        );
        let values = resolved(&secrets, "", &home).expect("values");
        let values: Vec<_> = values.values().map(String::as_str).collect();
        assert_eq!(values, ["value of A", "value of A", "in a file", "in a file", "by command", "literal"]);
    }

    #[test]
    fn a_generated_value_is_new_each_time() {
        let one = value("{name: G, from: generated}").expect("a value");
        assert!(one.len() == 64 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, value("{name: G, from: generated}").expect("a value"));
    }

    #[test]
    fn what_the_spec_says_comes_before_what_is_given_before_the_source() {
        let secrets = "[A, {name: B, from: 'static://of the spec'}, {name: C, source: dashboard}, {name: D, source: 'file:/gone'}]";
        let values =
            resolved(secrets, "A=given A\nB=given B\nC=given C\nD=given D\nE=given E", "/none").expect("values");
        let values: Vec<_> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(values, ["A=given A", "B=of the spec", "C=given C", "D=given D"]);
    }

    #[test]
    fn a_server_looks_into_no_sources() {
        let given = Forwarded::parse("A=given A").expect("lines");
        let values = resolve_given(&spec("[A, {name: B, from: 'static://of the spec'}]"), &given).expect("values");
        assert_eq!(values.into_values().collect::<Vec<_>>(), ["given A", "of the spec"]);
        for source in ["env:HOME", "file:/etc/hostname", "command:hostname", "dashboard"] {
            let problem = resolve_given(&spec(&format!("[{{name: B, source: '{source}'}}]")), &given);
            assert!(problem.is_err_and(|problem| problem.contains("PUT /v1/secrets/B")), "{source}");
        }
    }

    #[test]
    fn all_that_is_missing_is_said_at_once() {
        let problem = resolved(
            "[NONE, {name: B, source: 'file:/gone'}, {name: C, source: dashboard}, {name: D, source: 'command:exit 3'}, {name: E, from: 'static://abc'}]",
            "",
            "/none",
        );
        insta::assert_snapshot!(problem.expect_err("no values"), @"
        the secret `NONE` has no value: set the environment variable `NONE`
        the secret `B` has no value: cannot read `/gone`: No such file or directory (os error 2)
        the secret `C` has no value: it is kept on a server; submit the spec there, or give it with `--secrets-from`
        the secret `D` has no value: `exit 3` ended with exit status: 3
        the secret `E` has no value: it is shorter than 4 characters, and would be found by chance in what is kept
        ");
    }
}
