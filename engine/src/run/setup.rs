//! Puts the task, secrets and `setup` into the sandbox.

use std::time::Duration;

use doorkeeper::protocol::{EntryKind, WriteFile};
use scenario::evidence::Exit;
use scenario::spec::sections::SecretScope;
use scenario::spec::types::FileMode;

use super::task;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::error::EngineError;
use crate::probes::{self, Line};
use crate::world::World;

/// Length of a failed setup command's output in an error.
const SHOWN: usize = 1500;

/// Writes something into the sandbox, owned by the agent's user.
pub(super) async fn write(
    world: &World,
    path: &str,
    kind: EntryKind,
    mode: u32,
    content: Vec<u8>,
) -> Result<(), EngineError> {
    let (uid, gid) = (world.user.uid, world.user.gid);
    let file = WriteFile { path: path.into(), kind, uid, gid, mode, content, append: false };
    world.sandbox.door().write(file).await.map_err(EngineError::door(format!("write `{path}`")))
}

/// The task, secrets in files, `setup.files` and `setup.commands`.
pub(super) async fn apply(world: &World, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let values = attempt.values();
    task::place(world, attempt).await?;
    secret_files(world, attempt).await?;
    for (index, file) in attempt.spec.setup.files.iter().enumerate() {
        let failed = |reason: String| EngineError::Setup { place: format!("setup.files[{index}]"), reason };
        let content = match (&file.content, &file.from) {
            (Some(text), _) => text.render(&values).into_bytes(),
            (None, Some(path)) => attempt
                .bundle
                .read(path.as_str())
                .map_err(|error| failed(format!("cannot read `{}`: {error}", path.as_str())))?,
            (None, None) => Vec::new(),
        };
        let mode = file.mode.as_ref().map_or(0o644, FileMode::bits);
        let path = file.path.render(&values);
        write(world, &path, EntryKind::File, mode, content).await.map_err(|error| failed(error.to_string()))?;
    }
    commands(world, attempt).await?;
    task::keep_out_of_repository(world).await
}

async fn secret_files(world: &World, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let values = attempt.values();
    for secret in &attempt.spec.secrets {
        let name = secret.name().to_string();
        let (Some(SecretScope::File(scope)), Some(value)) = (&secret.entry().scope, attempt.secrets.get(&name)) else {
            continue;
        };
        let path = scope.file.as_ref().map_or_else(|| format!("/run/secrets/{name}"), |path| path.render(&values));
        let content = scope.file_template.as_ref().map_or_else(|| value.clone(), |text| text.render(&values));
        let mode = scope.mode.as_ref().map_or(0o400, FileMode::bits);
        write(world, &path, EntryKind::File, mode, content.into_bytes()).await?;
    }
    Ok(())
}

async fn commands(world: &World, attempt: &Attempt<'_>) -> Result<(), EngineError> {
    let values = attempt.values();
    for (index, command) in attempt.spec.setup.commands.iter().enumerate() {
        let words = command.render(&values);
        let line = Line {
            words: &words,
            directory: WORKSPACE,
            environment: &world.environment,
            user: &world.user,
            stdin: b"",
        };
        // The overall limit bounds it. What it leaves running is there for the agent.
        let ran = probes::run_on(world.sandbox.door(), &line, Duration::MAX, &world.redactor).await;
        let answer = ran.map_err(EngineError::door(format!("run setup.commands[{index}]")))?;
        let place = format!("setup.commands[{index}]");
        world.commands.note(&words, answer.exit, &world.redactor);
        match answer.exit {
            Some(Exit::Code(0)) => {}
            Some(exit) => {
                let said = format!("{}\n{}", answer.stdout.last(SHOWN), answer.stderr.last(SHOWN));
                return Err(EngineError::WrongSpec { place, reason: format!("{exit}\n{}", said.trim()) });
            }
            None => return Err(EngineError::Setup { place, reason: "it did not end".to_owned() }),
        }
    }
    Ok(())
}
