//! Makes the images of [`recipes`](crate::images::recipe): `mmdebstrap` writes an archive, and the engine imports it while it
//! is being written.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bollard::Docker;
use bollard::models::ImageInspect;
use bollard::query_parameters::{CreateImageOptions, CreateImageOptionsBuilder, RemoveImageOptions};
use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, future, stream};
use tokio::process::{ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::io::ReaderStream;

use super::bootstrapping::Bootstrapping;
pub use super::bootstrapping::Failed;
use crate::images::Recipe;
use crate::images::bootstrap::{Bootstrap, PROGRAM, RECIPE_LABEL};

/// The program that starts another in a namespace of its own.
const UNSHARE: &str = "unshare";

/// Options for making images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildOptions {
    /// Make them again even when they are up to date.
    pub force: bool,
    /// Number of images that are made at once.
    pub parallel: usize,
}

impl Default for BuildOptions {
    fn default() -> Self {
        // One more than there are cores, because each waits for the network at first.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { force: false, parallel: (cores + 1).min(4) }
    }
}

/// Progress of making images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// An image is being made.
    Started {
        /// The image.
        name: &'static str,
    },
    /// An image is there.
    Finished(Built),
}

/// An image that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Name of the image.
    pub name: &'static str,
    /// Its size.
    pub size_bytes: u64,
    /// Duration of making it; `None` when it was up to date.
    pub took: Option<Duration>,
}

/// State of a recipe's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The image has not been made.
    Missing,
    /// The image was made from an older recipe.
    Outdated {
        /// Its size.
        size_bytes: u64,
    },
    /// The image was made from the current recipe.
    Current {
        /// Its size.
        size_bytes: u64,
    },
}

/// Reason why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No engine can be reached.
    #[error("cannot reach the Docker engine ({0}); is it running, and may you use its socket?")]
    NoEngine(String),
    /// The program that makes images is not installed.
    #[error(
        "`{PROGRAM}` is not installed, and images are made with it; on Debian and Ubuntu: apt-get install mmdebstrap debian-archive-keyring"
    )]
    NoProgram,
    /// The program could not be started.
    #[error("cannot start `{PROGRAM}`")]
    Start(#[source] io::Error),
    /// The program failed.
    #[error("`{name}` could not be made: `{PROGRAM}` {failed}")]
    Bootstrap {
        /// The image.
        name: &'static str,
        /// The failure, with its last lines of output.
        failed: Failed,
    },
    /// The archive could not be written.
    #[error("cannot write `{}`", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The error.
        #[source]
        cause: io::Error,
    },
    /// The engine did not take the image.
    #[error("`{name}` could not be imported by the Docker engine: {reason}")]
    Import {
        /// The image.
        name: &'static str,
        /// The engine's message.
        reason: String,
    },
}

/// The engine that the environment names.
pub async fn connect() -> Result<Docker, BuildError> {
    let docker = Docker::connect_with_defaults().map_err(|error| BuildError::NoEngine(error.to_string()))?;
    docker.ping().await.map_err(|error| BuildError::NoEngine(error.to_string()))?;
    // A whole image is made during one request.
    Ok(docker.with_timeout(LONGEST))
}

/// Time limit for making one image.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Makes the chosen images, unless they are up to date, and returns them in the same order. The first failure ends it, and what was under way is taken back; so it
/// is when the caller stops waiting.
pub async fn build_images(
    docker: &Docker,
    chosen: &[Recipe],
    options: BuildOptions,
    progress: &dyn Fn(Progress),
) -> Result<Vec<Built>, BuildError> {
    let builds = chosen.iter().map(|recipe| build_image(docker, recipe, options.force, progress));
    let mut built: Vec<Built> = stream::iter(builds).buffer_unordered(options.parallel.max(1)).try_collect().await?;
    built.sort_by_key(|built| chosen.iter().position(|recipe| recipe.name == built.name));
    Ok(built)
}

/// Returns the state of a recipe's image.
pub async fn state(docker: &Docker, recipe: &Recipe) -> Result<State, BuildError> {
    let Some(image) = inspect(docker, recipe.name).await? else { return Ok(State::Missing) };
    let size_bytes = size(&image);
    let current = label(&image) == Some(Bootstrap::new(recipe).label());
    Ok(if current { State::Current { size_bytes } } else { State::Outdated { size_bytes } })
}

async fn build_image(
    docker: &Docker,
    recipe: &Recipe,
    force: bool,
    progress: &dyn Fn(Progress),
) -> Result<Built, BuildError> {
    let name = recipe.name;
    let bootstrap = Bootstrap::new(recipe);
    let before = inspect(docker, name).await?;
    if let Some(image) = before.as_ref().filter(|image| !force && label(image) == Some(bootstrap.label())) {
        let built = Built { name, size_bytes: size(image), took: None };
        progress(Progress::Finished(built.clone()));
        return Ok(built);
    }
    progress(Progress::Started { name });
    let start = Instant::now();
    make(docker, name, &bootstrap).await?;
    forget(docker, before).await;
    let size_bytes = inspect(docker, name).await?.as_ref().map_or(0, size);
    let built = Built { name, size_bytes, took: Some(start.elapsed()) };
    progress(Progress::Finished(built.clone()));
    Ok(built)
}

/// The program. As root it mounts folders of the host below its own, and must not leave them there when it is killed: who then
/// tidied up would remove what is the host's. Mounts of a namespace of its own go with it.
fn program() -> Command {
    let has = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    if !rustix::process::geteuid().is_root() || !has(UNSHARE) || !has(PROGRAM) {
        return Command::new(PROGRAM);
    }
    let mut command = Command::new(UNSHARE);
    command.args(["--mount", "--propagation", "private", "--", PROGRAM]);
    command
}

/// Makes the system of a recipe, and writes it to a file as an archive: for sandboxes without an engine. A file that is not
/// whole is not left.
pub async fn write_archive(recipe: &Recipe, file: &Path) -> Result<u64, BuildError> {
    let (bootstrapping, mut output) = start(&Bootstrap::new(recipe))?;
    let unwritten = |cause| BuildError::Write { file: file.to_owned(), cause };
    let written = async {
        let mut target = tokio::fs::File::create(file).await?;
        let bytes = tokio::io::copy(&mut output, &mut target).await?;
        target.sync_all().await.map(|()| bytes)
    };
    let (written, ended) = future::join(written, bootstrapping.finish()).await;
    let written = match (written, ended) {
        (Err(cause), _) => Err(unwritten(cause)),
        (_, Err(failed)) => Err(BuildError::Bootstrap { name: recipe.name, failed }),
        (Ok(bytes), Ok(())) => Ok(bytes),
    };
    if written.is_err() {
        let _ = tokio::fs::remove_file(file).await;
    }
    written
}

/// Starts the program.
fn start(bootstrap: &Bootstrap) -> Result<(Bootstrapping, ChildStdout), BuildError> {
    let mut command = program();
    command.args(&bootstrap.arguments).envs(bootstrap.environment.iter().map(|(key, value)| (*key, value.as_str())));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Bootstrapping::start(command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BuildError::NoProgram,
        _ => BuildError::Start(error),
    })
}

/// Runs the program and the import side by side. When both fail, the program's failure is the cause.
async fn make(docker: &Docker, name: &'static str, bootstrap: &Bootstrap) -> Result<(), BuildError> {
    let (bootstrapping, output) = start(bootstrap)?;
    let (good, verdict) = oneshot::channel();
    let import = import(docker, name, &bootstrap.settings, archive(output, verdict));
    let run = async {
        let ended = bootstrapping.finish().await;
        if ended.is_ok() {
            let _ = good.send(());
        } else {
            drop(good);
        }
        ended.map_err(|failed| BuildError::Bootstrap { name, failed })
    };
    let (imported, ran) = future::join(import, run).await;
    match (imported, ran) {
        // The program only ran into the closed pipe.
        (Err(import), Err(BuildError::Bootstrap { failed, .. })) if failed.broken_pipe() => Err(import),
        (imported, ran) => ran.and(imported),
    }
}

/// The archive, which ends well only when the program did: the engine must not keep half an image.
fn archive(output: ChildStdout, verdict: oneshot::Receiver<()>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let end = async { verdict.await.map_err(|_| io::Error::other("the archive is incomplete")) };
    let end = stream::once(end).filter_map(|ended| future::ready(ended.err().map(Err)));
    ReaderStream::with_capacity(output, 1 << 16).chain(end)
}

async fn import(
    docker: &Docker,
    name: &'static str,
    settings: &[String],
    archive: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Result<(), BuildError> {
    let options = import_options(name, settings);
    let refused = |reason: String| BuildError::Import { name, reason };
    let mut steps = std::pin::pin!(docker.create_image(Some(options), Some(bollard::body_try_stream(archive)), None));
    while let Some(step) = steps.try_next().await.map_err(|error| refused(error.to_string()))? {
        if let Some(reason) = step.error_detail.and_then(|detail| detail.message) {
            return Err(refused(reason));
        }
    }
    Ok(())
}

fn import_options(name: &str, settings: &[String]) -> CreateImageOptions {
    let (repository, tag) = name.rsplit_once(':').unwrap_or((name, "latest"));
    CreateImageOptionsBuilder::default().from_src("-").repo(repository).tag(tag).changes(settings.to_vec()).build()
}

async fn inspect(docker: &Docker, name: &str) -> Result<Option<ImageInspect>, BuildError> {
    match docker.inspect_image(name).await {
        Ok(image) => Ok(Some(image)),
        Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(BuildError::NoEngine(error.to_string())),
    }
}

/// Removes an image that lost its name to a new one, unless it has another name or a container uses it.
async fn forget(docker: &Docker, image: Option<ImageInspect>) {
    let Some(id) = image.and_then(|image| image.id) else { return };
    let nameless = |image: &ImageInspect| image.repo_tags.as_ref().is_none_or(Vec::is_empty);
    if inspect(docker, &id).await.is_ok_and(|image| image.as_ref().is_some_and(nameless)) {
        let _ = docker.remove_image(&id, None::<RemoveImageOptions>, None).await;
    }
}

fn label(image: &ImageInspect) -> Option<&str> {
    image.config.as_ref()?.labels.as_ref()?.get(RECIPE_LABEL).map(String::as_str)
}

fn size(image: &ImageInspect) -> u64 {
    image.size.and_then(|size| u64::try_from(size).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use futures::StreamExt as _;
    use tokio::process::Command;
    use tokio::sync::oneshot;

    use super::{archive, import_options};

    async fn check(good: bool) -> Vec<Result<Vec<u8>, String>> {
        let mut child = Command::new("echo").arg("content").stdout(Stdio::piped()).spawn().expect("started");
        let (sender, verdict) = oneshot::channel();
        if good {
            sender.send(()).expect("received");
        } else {
            drop(sender);
        }
        let chunks = archive(child.stdout.take().expect("an output"), verdict);
        let chunks = chunks.map(|chunk| chunk.map(|bytes| bytes.to_vec()).map_err(|error| error.to_string()));
        let chunks = chunks.collect().await;
        child.wait().await.expect("ended");
        chunks
    }

    #[tokio::test]
    async fn an_archive_ends_well_only_when_the_program_did() {
        let content = Ok(b"content\n".to_vec());
        assert_eq!(check(true).await, std::slice::from_ref(&content));
        assert_eq!(check(false).await, [content, Err("the archive is incomplete".to_owned())]);
    }

    #[test]
    fn an_import_has_a_name_and_settings() {
        let options = import_options("touchstone/postgres:15", &["CMD a".to_owned()]);
        assert_eq!(options.repo.as_deref(), Some("touchstone/postgres"));
        assert_eq!(options.tag.as_deref(), Some("15"));
        assert_eq!(options.changes, ["CMD a"]);
    }
}
