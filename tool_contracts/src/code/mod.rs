//! Every code that compiling, deciding and following a session can give, with its meaning and an example.
//!
//! To add one: a row in [`table`](self), with its doc, its name, its class and an example. `touchstone tool-contracts
//! explain CODE`, the documentation and the severities are made from the table.

mod table;

use std::fmt;

use serde::{Serialize, Serializer};
pub use table::Code;

/// The kind of a code, and how much it weighs by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The contracts cannot be used.
    Error,
    /// The contracts work, but perhaps not as their author thinks.
    Warning,
    /// A call or session broke a rule.
    Fail,
    /// Something that deserves a look, and breaks no rule by itself.
    Warn,
    /// A remark.
    Info,
    /// We failed, not the agent.
    Fault,
}

impl Class {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Fault => "fault",
        }
    }
}

impl Code {
    /// The code with this name; compile codes are found before those of a run.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The code of a compile warning with this name.
    #[must_use]
    pub fn find_warning(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.class() == Class::Warning && code.name() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Code;

    #[test]
    fn each_code_is_explained_with_an_example_and_found_by_its_name() {
        let mut seen = BTreeSet::new();
        for code in Code::ALL {
            assert!(!code.explanation().is_empty() && !code.example().is_empty(), "{code}");
            assert!(Code::find(code.name()).is_some(), "{code}");
            assert!(seen.insert((code.name(), code.class())), "{code} stands twice");
        }
    }
}
