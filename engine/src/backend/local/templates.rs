//! Templates of databases: made once for each version of a program, in a box of its own, and kept in the data
//! directory. A start lays it out as the lower layer of its data, so that only what it changes is copied.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use doorkeeper::plan::Step;

use super::LocalBackend;
use super::boxes::{BoxRequest, Made};
use super::programs::{InstalledProgram, Template};
use super::rights::Rights;
use super::service::{LIMITS, ProgramOutput, spawn};
use crate::entropy;
use crate::error::EngineError;

/// The folder of all of them in the data directory.
const TEMPLATES: &str = "templates";
/// Folder of a template with the data.
const DATA: &str = "data";
/// File of a template with the password of its first user.
const PASSWORD: &str = "password";
/// Time limit for making one.
const PATIENCE: Duration = Duration::from_secs(120);

/// Template of a database, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    folder: PathBuf,
    template: Template,
}

impl Kept {
    /// Lays it out in a box: what the box writes goes elsewhere.
    pub(super) fn layer(&self) -> Step {
        Step::Layer { target: self.template.folder.to_owned(), lower: self.folder.join(DATA).display().to_string() }
    }

    /// The password that its first user has.
    pub(super) fn password(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join(PASSWORD))
    }
}

impl LocalBackend {
    /// Returns the template of a program's data, and makes it when it does not exist yet; `None` when the program needs
    /// none.
    pub(super) async fn template_of(&self, found: &InstalledProgram) -> Result<Option<Kept>, EngineError> {
        let Some(template) = found.program.template else { return Ok(None) };
        let all = self.0.owner.data_dir().path().join(TEMPLATES);
        let folder = all.join(format!("{}-{}", found.mark(), found.digest()));
        let _alone = self.0.templates.lock().await;
        if !folder.exists() {
            let temporary = all.join(format!(".{}", entropy::hex(8)));
            let made = self.make_template(found, template, &temporary).await;
            // Another process may have done the same in the meantime.
            if made.is_err() || fs::rename(&temporary, &folder).is_err() {
                let _ = fs::remove_dir_all(&temporary);
            }
            made?;
        }
        Ok(Some(Kept { folder, template }))
    }

    async fn make_template(
        &self,
        found: &InstalledProgram,
        template: Template,
        folder: &Path,
    ) -> Result<(), EngineError> {
        let password = entropy::hex(32);
        let data = prepare(folder, found, &password, self.0.rights)
            .map_err(EngineError::files("make a folder for what a database begins with"))?;
        let mut steps = found.steps(&self.files_of(found)?);
        let source = data.display().to_string();
        steps.push(Step::Bind { target: template.folder.to_owned(), source, writable: true });
        let (_, number) = found.program.user;
        let userland = Some(self.0.host.clone());
        let wanted = BoxRequest { workspace: false, userland, user: Some(number), steps, ..BoxRequest::of(LIMITS) };
        let made = self.open(&format!("template-{}", entropy::hex(8)), &wanted).await?;
        let filled = fill(&made, found, template.script, password).await;
        made.remove().await?;
        filled
    }
}

/// Makes the folder of one; where its data goes.
fn prepare(folder: &Path, found: &InstalledProgram, password: &str, rights: Rights) -> io::Result<PathBuf> {
    let data = folder.join(DATA);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&data)?;
    fs::write(folder.join(PASSWORD), password)?;
    if rights.has_many_users() {
        let (_, number) = found.program.user;
        chown(&data, Some(number), Some(number))?;
    }
    Ok(data)
}

async fn fill(made: &Made, found: &InstalledProgram, script: &str, password: String) -> Result<(), EngineError> {
    let words = ["bash", "-c", &format!("set -e\numask 077\n{script}")].map(ToOwned::to_owned).to_vec();
    let operation = format!("make what `{}` begins with", found.program.program);
    let mut environment = found.environment();
    environment.insert("PASSWORD".to_owned(), password);
    let command = made.door.spawn(spawn(found, words, &environment)).await;
    let command = command.map_err(EngineError::door(operation.clone()))?;
    let said = ProgramOutput::default();
    match tokio::time::timeout(PATIENCE, said.listen(command)).await {
        Ok(Some(0)) => Ok(()),
        Ok(code) => {
            Err(EngineError::NoBox { operation, reason: format!("exit code {}: {}", code.unwrap_or(-1), said.text()) })
        }
        Err(_) => Err(EngineError::NoBox { operation, reason: "it took too long".to_owned() }),
    }
}
