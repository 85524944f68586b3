//! `touchstone schema`: the language for editors.

use clap::Args;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Print the JSON Schema of specs, for completion and hover in editors.
///
/// Save it, and begin a spec with `# yaml-language-server: $schema=PATH`.
#[derive(Debug, Args)]
pub(crate) struct Schema {}

impl Schema {
    #[expect(clippy::unused_self, reason = "every command has the same form")]
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        output.line(format!("{:#}", scenario::spec::schema::schema()))?;
        Ok(Exit::Passed)
    }
}
