//! Puts an uploaded agent into its sandbox.

use std::collections::BTreeSet;
use std::sync::Arc;

use doorkeeper::protocol::{EntryKind, WriteFile};
use scenario::plan::Values;
use scenario::spec::template::Text;
use tokio::sync::mpsc;

use super::archive::{Content, Packed, unpack};
use super::{ConfigFile, FOLDER, SnapshotFiles};
use crate::attempt::Attempt;
use crate::bundle::{AGENT_FILES, BundleFile};
use crate::environment::{self, Environment};
use crate::error::EngineError;
use crate::world::World;

/// Number of entries of an archive that wait to be written.
const WAITING: usize = 8;
/// The variables that say where its files are.
const VARIABLES: [&str; 2] = ["TOUCHSTONE_AGENT_DIR", "KEYSTONE_AGENT_DIR"];

/// An uploaded agent that is in its sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// Command that it runs.
    pub(crate) words: Vec<String>,
}

/// Puts an agent's files into the sandbox, and says what it runs.
pub(crate) async fn install(
    world: &World,
    attempt: &Attempt<'_>,
    snapshot: &SnapshotFiles,
) -> Result<Installed, EngineError> {
    let environment = environment::of_agent(attempt, &world.environment);
    if let Some(name) = snapshot.required_env.iter().find(|name| !environment.contains_key(*name)) {
        let what = format!(
            "the agent `{}` needs the variable `{name}`; declare it under `secrets`, or in `agent.env`",
            snapshot.name
        );
        return Err(EngineError::Unsupported { what });
    }
    let files = write_all(world, snapshot).await?;
    for config in &snapshot.config_files {
        let content = render(&config.template, &attempt.values(), &snapshot.required_env, &environment)
            .map_err(|reason| failed(format!("the file `{}` of its configuration: {reason}", config.path)))?;
        let path = place(config, &world.user.home);
        write(world, path, EntryKind::File, 0o600, content.into_bytes()).await?;
    }
    Ok(Installed { words: words(&snapshot.entrypoint, &files) })
}

/// Puts the files into the sandbox that came with a command which acts in place of the spec's agent.
pub(crate) async fn install_files(world: &World, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let read = attempt
        .bundle
        .files(AGENT_FILES)
        .map_err(|error| EngineError::Setup { place: "the agent's files".to_owned(), reason: error.to_string() })?;
    write(world, FOLDER.to_owned(), EntryKind::Directory, 0o755, Vec::new()).await?;
    for BundleFile { path, executable, content } in read {
        let mode = if executable { 0o755 } else { 0o644 };
        write(world, format!("{FOLDER}/{path}"), EntryKind::File, mode, content).await?;
    }
    Ok(())
}

/// Adds what tells an uploaded agent where its files are.
pub(crate) fn add_variables(environment: &mut Environment) {
    for name in VARIABLES {
        environment.insert(name.to_owned(), FOLDER.to_owned());
    }
    // Programs of the image come first: nothing of an upload stands in for them.
    for (name, more) in [("PATH", format!("{FOLDER}/bin:{FOLDER}")), ("PYTHONPATH", FOLDER.to_owned())] {
        let value = environment.entry(name.to_owned()).or_default();
        *value = if value.is_empty() { more } else { format!("{value}:{more}") };
    }
}

/// Writes everything that is in the archive; the paths of its files.
async fn write_all(world: &World, snapshot: &SnapshotFiles) -> Result<BTreeSet<String>, EngineError> {
    let (sender, mut entries) = mpsc::channel(WAITING);
    let archive = Arc::clone(&snapshot.archive);
    let unpacking =
        tokio::task::spawn_blocking(move || unpack(&archive, |packed| sender.blocking_send(packed).is_ok()));
    write(world, FOLDER.to_owned(), EntryKind::Directory, 0o755, Vec::new()).await?;
    let mut files = BTreeSet::new();
    while let Some(Packed { path, content }) = entries.recv().await {
        let (kind, mode, bytes) = match content {
            Content::Folder => (EntryKind::Directory, 0o755, Vec::new()),
            Content::File { bytes, executable } => (EntryKind::File, if executable { 0o755 } else { 0o644 }, bytes),
            Content::Link(target) => (EntryKind::Link, 0o777, target.into_bytes()),
        };
        write(world, format!("{FOLDER}/{path}"), kind, mode, bytes).await?;
        if kind != EntryKind::Directory {
            files.insert(path);
        }
    }
    match unpacking.await {
        Ok(Ok(())) => Ok(files),
        Ok(Err(reason)) => Err(failed(format!("the archive of the agent `{}`: {reason}", snapshot.name))),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn failed(reason: String) -> EngineError {
    EngineError::Setup { place: "agent.snapshot".to_owned(), reason }
}

async fn write(world: &World, path: String, kind: EntryKind, mode: u32, content: Vec<u8>) -> Result<(), EngineError> {
    let (uid, gid) = (world.user.uid, world.user.gid);
    let shown = path.clone();
    let file = WriteFile { path: path.into_bytes(), kind, uid, gid, mode, content, append: false };
    let written = world.sandbox.door().write(file).await;
    written.map_err(EngineError::door(format!("write `{shown}` of the agent")))
}

/// Returns the path of a file of its configuration.
fn place(config: &ConfigFile, home: &str) -> String {
    match config.path.strip_prefix("~/") {
        Some(below) => format!("{}/{below}", home.trim_end_matches('/')),
        None if config.path.starts_with('/') => config.path.clone(),
        None => format!("{FOLDER}/{}", config.path),
    }
}

/// Renders a file of its configuration.
fn render(
    template: &str,
    values: &Values<'_>,
    required: &[String],
    environment: &Environment,
) -> Result<String, String> {
    let (text, mistakes) = Text::parse(template);
    if let Some(mistake) = mistakes.into_iter().next() {
        return Err(mistake.message);
    }
    let mut rendered = text.render(values);
    for name in required {
        let value = environment.get(name).map(String::as_str).unwrap_or_default();
        for form in [format!("${{{name}}}"), format!("{{{{ {name} }}}}"), format!("{{{{{name}}}}}")] {
            rendered = rendered.replace(&form, value);
        }
    }
    Ok(rendered)
}

/// An entrypoint for the workspace: words that name a file of the agent become its whole path.
fn words(entrypoint: &[String], files: &BTreeSet<String>) -> Vec<String> {
    let whole = |word: &String| {
        let own = word.strip_prefix("./").unwrap_or(word);
        if files.contains(own) { format!("{FOLDER}/{own}") } else { word.clone() }
    };
    entrypoint.iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_a_file_of_the_agent_become_its_path() {
        let files = BTreeSet::from(["agent.py", "bin/run"].map(str::to_owned));
        let check = |entrypoint: &[&str], expected: &[&str]| {
            let entrypoint: Vec<_> = entrypoint.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(words(&entrypoint, &files), expected);
        };
        check(&["python3", "agent.py", "--verbose"], &["python3", "/opt/agent/agent.py", "--verbose"]);
        check(&["./bin/run", "other.py"], &["/opt/agent/bin/run", "other.py"]);
        check(&["python3", "-m", "agent"], &["python3", "-m", "agent"]);
    }

    #[test]
    fn files_of_the_configuration_have_their_places() {
        let at = |path: &str| place(&ConfigFile { path: path.to_owned(), template: String::new() }, "/root");
        assert_eq!(at("~/.config/x.toml"), "/root/.config/x.toml");
        assert_eq!(at("/etc/x"), "/etc/x");
        assert_eq!(at("settings.json"), "/opt/agent/settings.json");
    }

    #[test]
    fn an_uploaded_agent_finds_its_files_after_those_of_the_image() {
        let mut environment = Environment::from([("PATH".to_owned(), "/bin".to_owned())]);
        add_variables(&mut environment);
        assert_eq!(environment["PATH"], "/bin:/opt/agent/bin:/opt/agent");
        assert_eq!(environment["PYTHONPATH"], "/opt/agent");
        assert_eq!(environment["KEYSTONE_AGENT_DIR"], "/opt/agent");
    }
}
