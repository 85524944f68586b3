//! `touchstone artifacts`: the files that a scenario left on a server.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use comfy_table::Table;
use futures::StreamExt as _;
use tempfile::NamedTempFile;
use tokio::runtime::Runtime;

use crate::client::{Listed, Server, ServerOptions};
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::reference::Reference;
use crate::table::table;
use crate::times::size;

/// List the files that a scenario left on a server, or download them.
///
/// Among them is the evidence from which the verdicts come. What an agent wrote is not to be trusted: look before you run it.
#[derive(Debug, Args)]
pub(crate) struct Artifacts {
    /// EXPERIMENT/SCENARIO or EXPERIMENT#RUN/SCENARIO.
    #[arg(value_name = "REFERENCE")]
    reference: Reference,
    /// Only files whose name is, or begins with, one of these.
    names: Vec<String>,
    /// Write the files into this folder.
    #[arg(long, short, value_name = "FOLDER")]
    download: Option<PathBuf>,
    #[command(flatten)]
    server: ServerOptions,
}

impl Artifacts {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let instead = "; `touchstone show EXPERIMENT/SCENARIO --evidence` prints what is kept on this machine";
        let server = self.server.required(instead)?;
        let Some(scenario) = &self.reference.scenario else {
            return Err(CommandError::Usage("say which scenario: EXPERIMENT/SCENARIO".to_owned()));
        };
        Runtime::new()?.block_on(async {
            let run = server.find(&self.reference).await?;
            let all = server.artifacts(&run, scenario).await?;
            let wanted: Vec<_> = all.into_iter().filter(|one| self.wants(&one.text("name"))).collect();
            match &self.download {
                Some(folder) => download(&server, &wanted, folder, output).await?,
                None if wanted.is_empty() => output.line("no files")?,
                None => output.line(listing(&wanted).to_string())?,
            }
            Ok(Exit::Passed)
        })
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.starts_with(wanted.as_str()))
    }
}

fn listing(artifacts: &[Listed]) -> Table {
    let mut table = table(["name", "size"]);
    for one in artifacts {
        table.add_row([one.text("name"), size(one.0["size_bytes"].as_u64().unwrap_or(0))]);
    }
    table
}

async fn download(
    server: &Server,
    artifacts: &[Listed],
    folder: &Path,
    output: &mut Output,
) -> Result<(), CommandError> {
    for one in artifacts {
        let name = one.0["name"].as_str().unwrap_or_default();
        let path = folder.join(below(name)?);
        let url = one.0["url"].as_str().filter(|url| url.starts_with("/v1/")).ok_or_else(|| {
            CommandError::Infrastructure(format!("the server does not say where `{}` is", one.text("name")))
        })?;
        write(server, url, &path).await?;
        output.line(path.display().to_string())?;
    }
    Ok(())
}

/// Writes a file as it arrives, and under its name once all of it has.
async fn write(server: &Server, url: &str, path: &Path) -> Result<(), CommandError> {
    let failed = |error: io::Error| CommandError::Infrastructure(format!("cannot write `{}`: {error}", path.display()));
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let mut file = NamedTempFile::new_in(parent).map_err(failed)?;
    let mut parts = server.download(url).await?;
    while let Some(part) = parts.next().await {
        file.write_all(&part?).map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A path that stays below the folder, whatever a server says.
fn below(name: &str) -> Result<PathBuf, CommandError> {
    let path = PathBuf::from(name);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if name.is_empty() || name.contains('\0') || !path.components().all(is_plain) {
        let name = scenario::untrusted::line(name, 100);
        return Err(CommandError::Infrastructure(format!(
            "the server names a file `{name}`, which is no place below the folder"
        )));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        assert!(below("1/evidence.json").is_ok());
        for wrong in ["", "/etc/passwd", "../x", "1/../../x", "./x", "a\0b"] {
            assert!(below(wrong).is_err(), "{wrong}");
        }
    }
}
