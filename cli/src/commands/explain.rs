//! `touchstone explain`: what a key, a check or a finding means.

use clap::Args;
use scenario::spec::reference;
use scenario::suite;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Say what a section, key, check or finding means, with an example.
///
/// Topics are names such as `agent`, `agent.cli`, `resources.memory`, `check.sql` or `unknown-key`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// What to explain; without it, everything that can be explained is listed.
    topic: Option<String>,
    /// Print the whole reference as Markdown.
    #[arg(long, conflicts_with = "topic")]
    markdown: bool,
}

impl Explain {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.topic {
            _ if self.markdown => {
                output.line(format!("{}{}", reference::markdown(), suite::reference::markdown()).trim_end())?
            }
            Some(name) => output.line(find(&name)?.trim_end())?,
            None => list(output)?,
        }
        Ok(Exit::Passed)
    }
}

fn find(name: &str) -> Result<String, CommandError> {
    suite::reference::explain(name).or_else(|_| reference::explain(name)).map(|topic| topic.text).map_err(|near| {
        let hint = near.map_or_else(
            || "`touchstone explain` lists all topics".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        CommandError::Usage(format!("there is no topic `{name}`; {hint}"))
    })
}

fn list(output: &mut Output) -> Result<(), CommandError> {
    for topic in reference::topics().into_iter().chain(suite::reference::topics()) {
        output.line(format!("{:<44} {}", topic.name, topic.summary))?;
    }
    Ok(())
}
