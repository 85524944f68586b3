//! `secrets`: values that the agent needs and that stay hidden.

use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{choice, section};
use crate::spec::shape::Shape;
use crate::spec::template::Text;
use crate::spec::types::{FileMode, SandboxPath, SecretName};
use crate::spec::yaml::{Kind, Node};

/// A value that the agent needs and that stays hidden.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Secret(SecretEntry);

section! {
    /// A value that the agent needs and nobody may see: it is replaced by a marker in everything that is kept. A bare
    /// name stands for `{name: NAME, source: env}`.
    ///
    /// ```yaml
    /// secrets:
    ///   - OPENAI_API_KEY
    ///   - { name: DB_PASSWORD, from: generated }
    /// ```
    pub struct SecretEntry {
        /// Its name, which is also its environment variable in the sandbox.
        name: SecretName,
        /// Where the value comes from: `env`, `env:OTHER`, `file:PATH`, `command:LINE` (all on the machine that submits) or
        /// `dashboard` (stored on the server).
        source: Option<SecretSource>,
        /// A value that needs no source: `generated` (32 random bytes in hex, new for each run) or `static://VALUE`.
        from: Option<SecretFrom>,
        /// How the agent gets it: `env`, or a file.
        scope: Option<SecretScope>,
        /// Marks a bait that no honest agent uses: when its value is seen in traffic that leaves the sandbox, in a file of the
        /// workspace or in the output, the scenario fails.
        honeytoken: bool = false,
    }
}

impl Secret {
    /// Returns the entry; a bare name was read as `env`.
    #[must_use]
    pub fn entry(&self) -> &SecretEntry {
        &self.0
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &SecretName {
        &self.0.name
    }
}

impl Readable for Secret {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        if let Kind::String(_) = node.kind {
            let name = SecretName::read(node, reader)?;
            return Some(Self(SecretEntry {
                name,
                source: Some(SecretSource::Env(None)),
                from: None,
                scope: None,
                honeytoken: false,
            }));
        }
        SecretEntry::read(node, reader).map(Self)
    }

    fn shape() -> Shape {
        Shape::Either(vec![SecretName::shape(), SecretEntry::shape()])
    }
}

/// The source of a secret's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// The submitting machine's environment, under this or its own name.
    Env(Option<String>),
    /// A file on the submitting machine.
    File(String),
    /// The output of a command on the submitting machine.
    Command(String),
    /// The server's store.
    Dashboard,
}

impl SecretSource {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "env" => Some(Self::Env(None)),
            None if text == "dashboard" => Some(Self::Dashboard),
            Some((_, "")) | None => None,
            Some(("env", name)) => Some(Self::Env(Some(name.to_owned()))),
            Some(("file", path)) => Some(Self::File(path.to_owned())),
            Some(("command", line)) => Some(Self::Command(line.to_owned())),
            Some(_) => None,
        }
    }
}

impl Serialize for SecretSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Env(None) => serializer.serialize_str("env"),
            Self::Env(Some(name)) => serializer.collect_str(&format_args!("env:{name}")),
            Self::File(path) => serializer.collect_str(&format_args!("file:{path}")),
            Self::Command(line) => serializer.collect_str(&format_args!("command:{line}")),
            Self::Dashboard => serializer.serialize_str("dashboard"),
        }
    }
}

impl Readable for SecretSource {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(text) = &node.kind else {
            return reader.wrong_type(node, "a string: `env`, `env:OTHER`, `file:PATH`, `command:LINE` or `dashboard`");
        };
        Self::parse(text).or_else(|| {
            let help = "write `env`, `env:OTHER`, `file:PATH`, `command:LINE` or `dashboard`";
            reader.invalid(node, format!("{} is not a source of secrets", node.describe()), Some(help.to_owned()))
        })
    }

    fn shape() -> Shape {
        Shape::Word {
            name: "secret source",
            pattern: "^(env|env:.+|file:.+|command:(.|\\n)+|dashboard)$",
            example: "env:OTHER",
        }
    }
}

/// A secret's value that needs no source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFrom {
    /// 32 random bytes in hex, new for each run.
    Generated,
    /// The value itself.
    Static(String),
}

impl Serialize for SecretFrom {
    /// A literal value is not repeated: what is serialized may be shown.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Generated => "generated",
            Self::Static(_) => "static://[redacted]",
        })
    }
}

impl Readable for SecretFrom {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Kind::String(text) = &node.kind else {
            return reader.wrong_type(node, "a string: `generated` or `static://VALUE`");
        };
        match text.strip_prefix("static://") {
            Some(value) if !value.is_empty() => Some(Self::Static(value.to_owned())),
            _ if text == "generated" => Some(Self::Generated),
            _ => reader.invalid(
                node,
                format!("{} is not a secret's value", node.describe()),
                Some("write `generated` or `static://VALUE`".to_owned()),
            ),
        }
    }

    fn shape() -> Shape {
        Shape::Word { name: "secret value", pattern: "^(generated|static://(.|\\n)+)$", example: "generated" }
    }
}

/// The way in which the agent gets a secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SecretScope {
    /// As an environment variable.
    Env(EnvScope),
    /// As a file.
    File(FileScope),
}

choice! {
    /// The word for the default way to get a secret.
    pub enum EnvScope {
        /// As an environment variable.
        Env = "env",
    }
}

section! {
    /// A file that holds a secret, instead of an environment variable.
    pub struct FileScope {
        /// Where to write it; `/run/secrets/NAME` without it.
        file: Option<SandboxPath>,
        /// What to write; `{{ secrets.NAME }}` is replaced. The value alone without it.
        file_template: Option<Text>,
        /// Its permissions, as a string in octal.
        mode: Option<FileMode>,
    }
}

impl Readable for SecretScope {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.kind {
            Kind::Map(_) => FileScope::read(node, reader).map(Self::File),
            _ => EnvScope::read(node, reader).map(Self::Env),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![EnvScope::shape(), FileScope::shape()])
    }
}
