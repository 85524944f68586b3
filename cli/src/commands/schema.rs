//! `touchstone schema`: the language for editors.

use clap::{Args, ValueEnum};
use scenario::suite::reference;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Print the JSON Schema of specs, suites or lists of capabilities, for completion and hover in editors.
///
/// Save it, and begin a spec with `# yaml-language-server: $schema=PATH`.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what.
    #[arg(value_enum, default_value_t = Kind::Spec)]
    of: Kind,
}

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Specs.
    Spec,
    /// Suites: `suite.yaml`.
    Suite,
    /// Lists of capabilities: `capabilities.yaml`.
    Capabilities,
}

impl Schema {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let schema = match self.of {
            Kind::Spec => scenario::spec::schema::schema(),
            Kind::Suite => reference::suite_schema(),
            Kind::Capabilities => reference::capabilities_schema(),
        };
        output.line(format!("{schema:#}"))?;
        Ok(Exit::Passed)
    }
}
