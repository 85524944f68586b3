//! Scripts of `custom` checks.

use std::time::Duration;

use doorkeeper::protocol::{EntryKind, WriteFile};
use scenario::checks::{RunsIn, Verify};
use scenario::evidence::Answer;
use serde_json::json;

use super::Prober;
use super::command::{blame_copy, part_with};
use crate::backend::{Sandbox, WORKSPACE};
use crate::door::{Door, DoorError};
use crate::entropy;
use crate::error::EngineError;
use crate::run::audit::{AUDIT_LOG, TRACE_LOG};

/// A script that is ready to be run.
struct Placed {
    words: Vec<String>,
    context: Vec<u8>,
}

impl Prober<'_> {
    /// Runs a check's script where it is to be run.
    pub(super) async fn script(
        &self,
        script: &str,
        runs_in: RunsIn,
        verify: &Verify,
        timeout: Duration,
    ) -> Result<Answer, EngineError> {
        match (runs_in, verify) {
            (RunsIn::Host, _) => self.on_host(script, timeout).await,
            (RunsIn::Sandbox, Verify::Sandbox) => match self.place(self.world.sandbox.door(), script).await? {
                Ok(placed) => self.in_sandbox(&self.line(&placed.words, &placed.context), timeout).await,
                // Where the script goes, the agent was: it can have left no room, or something else than a folder.
                Err(DoorError::Failed(failure)) => {
                    let reason = format!("the agent left no place for the check's script: {}", failure.message);
                    Ok(Answer::Unavailable { reason, limit: None })
                }
                Err(error) => Ok(self.blame(error).await),
            },
            (RunsIn::Sandbox, Verify::Fresh(carried)) => {
                let fresh = match self.fresh(carried).await? {
                    Ok(fresh) => fresh,
                    Err(answer) => return Ok(answer),
                };
                let answer = self.in_new_sandbox(&*fresh, script, timeout).await;
                part_with(&*fresh).await;
                answer
            }
        }
    }

    pub(super) async fn in_new_sandbox(
        &self,
        fresh: &dyn Sandbox,
        script: &str,
        timeout: Duration,
    ) -> Result<Answer, EngineError> {
        let placed = self.place(fresh.door(), script).await?;
        let placed = match placed {
            Ok(placed) => placed,
            Err(error) => return Ok(blame_copy(fresh, &error).await),
        };
        self.in_fresh(fresh, &self.line(&placed.words, &placed.context), timeout).await
    }

    /// Puts a script of the bundle and what stands beside it, and the logs, into a new folder. The inner error is
    /// one of the sandbox.
    async fn place(&self, door: &Door, script: &str) -> Result<Result<Placed, DoorError>, EngineError> {
        let folder = format!("/tmp/touchstone-check-{}", entropy::hex(16));
        let mut files = self.beside(script)?;
        let words = if files.is_empty() {
            interpreted(&format!("{WORKSPACE}/{script}"))
        } else {
            interpreted(&format!("{folder}/{script}"))
        };
        files.extend(self.logs.files().map(|(name, log)| (name.to_owned(), log.to_vec())));
        for (path, mode) in [("/tmp", 0o1777), (WORKSPACE, 0o777)] {
            if let Err(error) = self.reopen(door, path, mode).await {
                return Ok(Err(error));
            }
        }
        for (path, content) in files {
            let file = WriteFile {
                path: format!("{folder}/{path}").into_bytes(),
                kind: EntryKind::File,
                uid: self.world.user.uid,
                gid: self.world.user.gid,
                mode: 0o755,
                content,
                append: false,
            };
            if let Err(error) = door.write(file).await {
                return Ok(Err(error));
            }
        }
        let context = self.context(WORKSPACE, &folder);
        Ok(Ok(Placed { words, context }))
    }

    /// Opens a folder for everybody again: an agent that is root can have closed it to its own user, and so to checks.
    async fn reopen(&self, door: &Door, path: &str, mode: u32) -> Result<(), DoorError> {
        let (uid, gid) = (self.world.user.uid, self.world.user.gid);
        let kind = EntryKind::Directory;
        door.write(WriteFile { path: path.into(), kind, uid, gid, mode, content: Vec::new(), append: false }).await
    }

    /// A script of the bundle with what stands in the same folder; nothing when the bundle does not have it.
    fn beside(&self, script: &str) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        let bundle = self.attempt.bundle;
        let operation = format!("read the script `{script}`");
        match script.rsplit_once('/') {
            _ if !bundle.has(script) => Ok(Vec::new()),
            None => Ok(vec![(script.to_owned(), bundle.read(script).map_err(EngineError::files(operation))?)]),
            Some((folder, _)) => {
                let files = bundle.files(folder).map_err(EngineError::files(operation))?;
                Ok(files.into_iter().map(|file| (format!("{folder}/{}", file.path), file.content)).collect())
            }
        }
    }

    /// Returns a script's standard input; the logs are in a folder.
    pub(super) fn context(&self, workspace: &str, folder: &str) -> Vec<u8> {
        let spec = self.attempt.spec;
        let port = |service: &scenario::spec::sections::Service| service.ports().first().copied();
        let services: serde_json::Map<_, _> = spec
            .services
            .iter()
            .map(|service| {
                (service.name().to_string(), json!({ "host": service.name().as_str(), "port": port(service) }))
            })
            .collect();
        let contracts = self.logs.contracts.iter().map(|log| format!("{folder}/{}", log.name));
        let context = json!({
            "sandbox_id": self.world.sandbox.name(),
            "workspace_path": workspace,
            "services": services,
            "audit_log_path": format!("{folder}/{AUDIT_LOG}"),
            "trace_path": format!("{folder}/{TRACE_LOG}"),
            "contract_log_paths": contracts.collect::<Vec<_>>(),
            "task": { "prompt": self.attempt.values().prompt() },
            "scenario_params": self.attempt.scenario.parameters,
        });
        context.to_string().into_bytes()
    }
}

/// The words that run a script, by the end of its name.
pub(super) fn interpreted(path: &str) -> Vec<String> {
    let interpreter = match path.rsplit_once('.') {
        Some((_, "py")) => Some("python3"),
        Some((_, "sh")) => Some("sh"),
        _ => None,
    };
    interpreter.into_iter().chain([path]).map(ToOwned::to_owned).collect()
}
