//! Reasons why a model cannot be asked on this machine.

use std::path::PathBuf;

/// The reason why a model cannot be asked on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderUnavailable {
    /// No alias has this name, and no provider has models of this name.
    #[error("there is no alias `{alias}` in `{file}`{}: add it", named(.known))]
    UnknownAlias {
        /// The name.
        alias: String,
        /// The file with the aliases.
        file: String,
        /// The aliases that it has.
        known: Vec<String>,
    },
    /// The environment variable of the key is not set.
    #[error("the environment variable `{0}` is not set")]
    UnsetVariable(String),
    /// The alias holds an empty key.
    #[error("`api_key` is empty")]
    EmptyKey,
    /// The file of the key is empty.
    #[error("`{}` is empty", .0.display())]
    EmptyKeyFile(PathBuf),
    /// The file of the key cannot be read.
    #[error("cannot read `{}`: {reason}", path.display())]
    UnreadableKeyFile {
        /// The file.
        path: PathBuf,
        /// The reason of the operating system.
        reason: String,
    },
    /// An alias has no key.
    #[error("the alias `{alias}` has no key: {reason}")]
    AliasWithoutKey {
        /// The alias.
        alias: String,
        /// Reason why its key is missing.
        reason: Box<Self>,
    },
}

fn named(known: &[String]) -> String {
    let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    if known.is_empty() { String::new() } else { format!(" (it has {})", known.join(", ")) }
}
