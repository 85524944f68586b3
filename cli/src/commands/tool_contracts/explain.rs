//! `touchstone tool-contracts explain`: the meaning of a code.

use clap::Args;
use tool_contracts::{Class, Code};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Say what a code of tool contracts means, with an example.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code; without it, all are listed.
    code: Option<String>,
    /// Print all codes as Markdown.
    #[arg(long, conflicts_with = "code")]
    markdown: bool,
}

impl Explain {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.code {
            _ if self.markdown => output.line(markdown())?,
            Some(name) => explain(&name, output)?,
            None => {
                for code in Code::ALL {
                    output.line(format!("{:<32} {:<8} {}", code.name(), code.class().name(), code.explanation()))?;
                }
            }
        }
        Ok(Exit::Passed)
    }
}

fn explain(name: &str, output: &mut Output) -> Result<(), CommandError> {
    let found: Vec<_> = Code::ALL.iter().filter(|code| code.name() == name).collect();
    if found.is_empty() {
        let near = scenario::spec::diagnostic::did_you_mean(name, Code::ALL.iter().map(|code| code.name()));
        let help = near.unwrap_or_else(|| "`touchstone tool-contracts explain` lists all codes".to_owned());
        return Err(CommandError::usage(format!("there is no code `{name}`; {help}")));
    }
    for code in found {
        output.line(format!(
            "{} ({})\n\n{}\n\nExample: {}",
            code,
            code.class().name(),
            code.explanation(),
            code.example()
        ))?;
    }
    Ok(())
}

fn markdown() -> String {
    let groups = [
        (Class::Error, "Errors: the set does not compile"),
        (Class::Warning, "Warnings: the set compiles"),
        (Class::Fail, "Violations"),
        (Class::Warn, "Warnings of a run"),
        (Class::Info, "Remarks"),
        (Class::Fault, "Failures of ours"),
    ];
    let mut text = String::new();
    for (class, title) in groups {
        text.push_str(&format!("\n### {title}\n\n| code | meaning | example |\n|---|---|---|\n"));
        for code in Code::ALL.iter().filter(|code| code.class() == class) {
            let example = code.example().replace('|', "\\|");
            text.push_str(&format!("| `{code}` | {} | `{example}` |\n", code.explanation().replace('|', "\\|")));
        }
    }
    text.trim().to_owned()
}
