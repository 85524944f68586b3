//! `touchstone tools from-openapi`: the operations of an OpenAPI document as tools.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use scenario::count_noun;
use scenario::import::openapi::{ImportOptions, ImportedTools, import};
use scenario::untrusted;

use crate::ci_commands::Form;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// The length at which notes are cut.
const MOST_NOTE: usize = 500;
/// The length at which the reason is cut why there are no tools.
const MOST_REASON: usize = 10_000;
/// Maximum size of a document.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// The name of standard input.
const STDIN: &str = "-";

/// Write tools for the operations of an OpenAPI document.
///
/// OpenAPI 3.0 and 3.1, as YAML or JSON. Prints the section `tools` of a spec. Everything that has no counterpart is told on
/// standard error: parameters in headers and cookies, bodies that are no JSON objects, references to other documents.
#[derive(Debug, Args)]
pub(crate) struct FromOpenApi {
    /// The document; `-` is standard input.
    file: PathBuf,
    /// The service of the spec that has the operations; without it, one that is named after the title of the document.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Take these operations only: by operationId, by name of the tool, or as "GET /orders".
    #[arg(long, value_name = "OPERATION,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the file.
    #[arg(long)]
    force: bool,
}

impl FromOpenApi {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let text = read_document(&self.file)?;
        let options = ImportOptions { service: self.service, only: self.only };
        let imported = import(&text, &options).map_err(|error| {
            let reason = untrusted::cut(&error.to_string(), MOST_REASON);
            CommandError::Usage(format!("{}: {}", self.file.display(), untrusted::visible(&reason)))
        })?;
        match &self.output {
            Some(path) => write(path, &imported.yaml, self.force)?,
            None if output.is_terminal() => output.line(untrusted::visible(imported.yaml.trim_end()))?,
            None => output.exactly(&imported.yaml, Form::Text)?,
        }
        tell(&imported, self.output.as_deref(), output);
        Ok(Exit::Passed)
    }
}

/// Reports what was imported, and what was left out.
fn tell(imported: &ImportedTools, path: Option<&Path>, output: &mut Output) {
    for note in &imported.notes {
        output.note(format!("note: {}", untrusted::line(note, MOST_NOTE)));
    }
    let place = path.map(|path| format!("wrote {}: ", path.display())).unwrap_or_default();
    let tools = count_noun(imported.count, "tool");
    output.note(format!("{place}{tools} of the service `{}`", imported.service));
}

/// Reads a document; `-` is standard input.
pub(crate) fn read_document(path: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let size = match path.as_os_str() == STDIN {
        true => io::stdin().take(MOST_BYTES + 1).read_to_string(&mut text),
        false => File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text)),
    };
    match size.map_err(|error| refused("read", path, &error))? {
        size if size as u64 > MOST_BYTES => {
            let problem = format!("`{}` is larger than {MOST_BYTES} bytes", path.display());
            Err(CommandError::Usage(problem))
        }
        _ => Ok(text),
    }
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let file = match force {
        true => File::create(path),
        false => File::create_new(path),
    };
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let path = path.display();
            CommandError::Usage(format!("`{path}` is there already; name another file with -o, or use --force"))
        }
        _ => refused("write", path, &error),
    })
}

fn refused(what: &str, path: &Path, error: &io::Error) -> CommandError {
    CommandError::Usage(format!("cannot {what} `{}`: {error}", path.display()))
}
