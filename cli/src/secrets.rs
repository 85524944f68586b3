//! The values of a spec's secrets, from where the spec says they are.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::Command;

use engine::entropy;
use scenario::spec::Spec;
use scenario::spec::sections::{SecretEntry, SecretFrom, SecretSource};

/// How long the value of a secret has to be. It is taken out of everything that is kept, wherever it stands.
const SHORTEST: usize = 4;

/// The values of all secrets; otherwise what is missing, all at once.
pub(crate) fn resolve(spec: &Spec) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    let mut problems = Vec::new();
    for secret in &spec.secrets {
        match value(secret.entry()) {
            Ok(value) if value.chars().count() < SHORTEST => problems.push(format!(
                "the value of the secret `{}` is shorter than {SHORTEST} characters: it would be found by chance in what is kept",
                secret.name()
            )),
            Ok(value) => {
                values.insert(secret.name().to_string(), value);
            }
            Err(problem) => problems.push(format!("the secret `{}` has no value: {problem}", secret.name())),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems.join("\n")) }
}

fn value(secret: &SecretEntry) -> Result<String, String> {
    if let Some(from) = &secret.from {
        return Ok(match from {
            SecretFrom::Generated => entropy::hex(32),
            SecretFrom::Static(value) => value.clone(),
        });
    }
    match secret.source.as_ref().unwrap_or(&SecretSource::Env(None)) {
        SecretSource::Env(name) => {
            let name = name.clone().unwrap_or_else(|| secret.name.to_string());
            env::var(&name).map_err(|_| format!("set the environment variable `{name}`"))
        }
        SecretSource::File(path) => {
            let content = fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))?;
            Ok(without_line_break(content))
        }
        SecretSource::Command(line) => {
            let ran = Command::new("sh").args(["-c", line]).output();
            let output = ran.map_err(|error| format!("cannot run `{line}`: {error}"))?;
            if !output.status.success() {
                return Err(format!("`{line}` ended with {}", output.status));
            }
            let text =
                String::from_utf8(output.stdout).map_err(|_| format!("`{line}` printed something that is no text"))?;
            Ok(without_line_break(text))
        }
        SecretSource::Dashboard => Err("it is kept on a server; submit the spec there".to_owned()),
    }
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}
