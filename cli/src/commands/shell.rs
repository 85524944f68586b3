//! `touchstone shell`: looks into a sandbox that was kept.

use std::env;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;
use engine::data_dir::DataDir;
use engine::kept::{self, Entrance};
use tokio::runtime::Runtime;

use crate::exit_code::Exit;
use crate::home::StoreOption;
use crate::output::{CommandError, Output};
use crate::reference::Reference;

/// What is started inside: a shell in the workspace, which takes variables up to `--` and becomes what is asked for.
const INSIDE: [&str; 4] = [
    "sh",
    "-c",
    "cd /workspace 2>/dev/null; while [ \"$1\" != -- ]; do export \"$1\"; shift; done; shift; exec \"$@\"",
    "sh",
];
/// What becomes a shell: bash, where there is one. Other shells complain when they end, because who had the terminal before them
/// is outside of the sandbox.
const SHELL: [&str; 3] = ["sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash --norc; fi; exec sh"];
/// Where programs are looked for inside, when the sandbox has no image that says so.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Enter a sandbox that was kept, on either backend.
///
/// `touchstone run --keep-sandbox on-failure` keeps the sandboxes of scenarios that did not pass. The agent's processes are gone;
/// its files are as it left them. `touchstone sweep --kept` removes what is kept.
#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// EXPERIMENT/SCENARIO, or the name of a sandbox; the only one that is kept without it.
    #[arg(value_name = "SCENARIO")]
    sandbox: Option<String>,
    /// What to run inside instead of a shell, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
    #[command(flatten)]
    store: StoreOption,
}

impl Shell {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let data_dir = self.store.data_dir()?;
        let name = match &self.sandbox {
            Some(name) if kept::entrance(&data_dir, name)?.is_some() => name.clone(),
            Some(reference) => Runtime::new()?.block_on(self.named(reference))?,
            None => only(&data_dir)?,
        };
        let entrance = kept::entrance(&data_dir, &name)?.ok_or_else(|| not_kept(&data_dir, &name))?;
        if self.command.is_empty() && io::stdin().is_terminal() {
            output.notice(&format!("this is the sandbox {name}, as the agent left it; `exit` leads out of it"));
        }
        enter(&entrance, &self.command)
    }

    /// The sandbox of a scenario.
    async fn named(&self, reference: &str) -> Result<String, CommandError> {
        let reference: Reference = reference.parse().map_err(CommandError::Usage)?;
        let home = self.store.open().await?;
        let (_, run) = reference.find(&home.store).await?;
        let scenarios = home.store.scenarios(run.id).await?;
        let scenario = reference.scenario(&scenarios)?;
        let name = scenario.result.as_ref().map(|result| result.sandbox_id.clone()).unwrap_or_default();
        home.store.close().await;
        Ok(name)
    }
}

/// The only sandbox that is kept.
fn only(data_dir: &DataDir) -> Result<String, CommandError> {
    let mut all = kept::marked(data_dir)?.into_iter();
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(not_kept(data_dir, "")),
    }
}

fn not_kept(data_dir: &DataDir, name: &str) -> CommandError {
    let all: Vec<_> = kept::marked(data_dir).unwrap_or_default().into_iter().collect();
    let which =
        if name.is_empty() { "say which sandbox".to_owned() } else { format!("the sandbox `{name}` is not kept") };
    CommandError::Usage(match all.as_slice() {
        [] => "no sandbox is kept; `touchstone run --keep-sandbox on-failure` keeps those that did not pass".to_owned(),
        all => format!("{which}; kept are {}", all.join(", ")),
    })
}

/// Becomes the command that leads inside.
fn enter(entrance: &Entrance, wanted: &[String]) -> Result<Exit, CommandError> {
    let Some((program, [arguments @ .., _])) = entrance.command.split_first() else {
        return Err(CommandError::Infrastructure("nobody wrote down how to enter the sandbox".to_owned()));
    };
    // `docker exec -t` refuses to work where there is no terminal.
    let has_terminal = io::stdin().is_terminal();
    let arguments = arguments.iter().map(|word| if word == "-it" && !has_terminal { "-i" } else { word.as_str() });
    let mut command = Command::new(program);
    command.args(arguments).args(INSIDE);
    if program == "nsenter" {
        shut_out(&mut command);
        command.arg(format!("PATH={PATH}"));
    }
    command.args(entrance.environment.iter().map(|(name, value)| format!("{name}={value}"))).arg("--");
    if wanted.is_empty() {
        command.args(SHELL)
    } else {
        command.args(wanted)
    };
    // Only returns when it fails.
    let error = command.exec();
    Err(CommandError::Infrastructure(match (program.as_str(), error.kind()) {
        ("nsenter", io::ErrorKind::NotFound) => "there is no `nsenter`: install util-linux".to_owned(),
        ("docker", io::ErrorKind::NotFound) => "there is no `docker` command: install Docker's client".to_owned(),
        _ => format!("cannot start `{program}`: {error}"),
    }))
}

/// What is entered by namespaces would have the caller's own variables, keys of providers among them.
fn shut_out(command: &mut Command) {
    let terminal = env::var_os("TERM").map(|terminal| ("TERM", terminal));
    // The program that leads inside is still found where the caller finds it.
    let path = env::var_os("PATH").unwrap_or_default();
    command.env_clear().envs(terminal).env("PATH", path).env("HOME", "/root").env("LANG", "C.UTF-8");
}
