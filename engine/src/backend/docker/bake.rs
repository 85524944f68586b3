//! Images with packages installed: made once, found again by what they are made from.

use std::collections::HashMap;
use std::time::Duration;

use bollard::query_parameters::{BuildImageOptionsBuilder, BuilderVersion};
use futures::StreamExt as _;
use scenario::hex;
use sha2::{Digest as _, Sha256};

use super::DockerBackend;
use super::baked_images;
use super::call::refused;
use crate::backend::Image;
use crate::error::EngineError;
use crate::event::{Event, Events};

/// The name of images that are made here.
pub(super) const CACHE: &str = "touchstone/cache";
/// Timeout for an installer that prints nothing.
const SILENCE: Duration = Duration::from_secs(300);
/// Length of the installer's output in an error.
const SHOWN: usize = 1500;

/// Installs packages with whatever the distribution has. Words are passed as they are: no package name has a blank or a
/// quote in it.
const INSTALL: &str = "set -e; \
if command -v apt-get >/dev/null; then export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; \
apt-get install -y -qq --no-install-recommends PACKAGES; rm -rf /var/lib/apt/lists/*; \
elif command -v apk >/dev/null; then apk add --no-cache PACKAGES; \
elif command -v microdnf >/dev/null; then microdnf install -y PACKAGES; \
elif command -v dnf >/dev/null; then dnf install -y PACKAGES; \
elif command -v yum >/dev/null; then yum install -y PACKAGES; \
else echo 'the image has no package manager that is known (apt-get, apk, dnf, yum)' >&2; exit 1; fi";

impl DockerBackend {
    /// The image with packages: found when it was made before.
    pub(super) async fn bake(&self, image: &Image, packages: &[String], events: &Events) -> Result<Image, EngineError> {
        if packages.is_empty() {
            return Ok(image.clone());
        }
        let name = cache_name(image, packages);
        let reference = &image.record.reference;
        let _alone = self.0.baking.lock().await;
        // Before it is looked for: whoever makes room then leaves it where it is.
        baked_images::touch(self.0.owner.data_dir(), &name);
        if let Some(found) = self.inspect(reference, &name).await? {
            return Ok(as_before(image, found));
        }
        events.tell(Event::Baking { packages: packages.to_vec() });
        self.install(image, packages, &name).await?;
        baked_images::touch(self.0.owner.data_dir(), &name);
        let made = self.inspect(reference, &name).await?;
        made.map(|made| as_before(image, made)).ok_or_else(|| failed("the image was made, and is not here"))
    }

    async fn install(&self, image: &Image, packages: &[String], name: &str) -> Result<(), EngineError> {
        let user = if image.user.is_empty() { String::new() } else { format!("USER {}\n", image.user) };
        let script = INSTALL.replace("PACKAGES", &packages.join(" "));
        let dockerfile = format!("FROM {}\nUSER 0\nRUN {script}\n{user}", image.id);
        let labels = HashMap::from([("touchstone".to_owned(), "cache".to_owned())]);
        let options = BuildImageOptionsBuilder::default()
            .dockerfile("Dockerfile")
            .t(name)
            .rm(true)
            .forcerm(true)
            .version(BuilderVersion::BuilderV1)
            .labels(&labels)
            .build();
        let context = context(&dockerfile).map_err(EngineError::files("make the context of a build"))?;
        let mut steps = self.0.docker.build_image(options, None, Some(bollard::body_full(context.into())));
        let mut log = String::new();
        while let Some(step) = next(&mut steps).await? {
            let step = step.map_err(|error| failed_with(&log, &refused("build", &error).to_string()))?;
            if let Some(problem) = step.error_detail.and_then(|detail| detail.message) {
                return Err(failed_with(&log, &problem));
            }
            log.push_str(step.stream.as_deref().unwrap_or_default());
        }
        Ok(())
    }
}

async fn next<S: futures::Stream + Unpin>(steps: &mut S) -> Result<Option<S::Item>, EngineError> {
    let silent = |_| failed(&format!("nothing happened for {}s", SILENCE.as_secs()));
    tokio::time::timeout(SILENCE, steps.next()).await.map_err(silent)
}

/// The made image stands in for the same reference as the one that it was made from.
fn as_before(base: &Image, mut made: Image) -> Image {
    made.record.name.clone_from(&base.record.name);
    made
}

fn failed(reason: &str) -> EngineError {
    EngineError::Setup { place: "setup.packages".to_owned(), reason: reason.to_owned() }
}

fn failed_with(log: &str, problem: &str) -> EngineError {
    let length = log.chars().count();
    let end: String = log.chars().skip(length.saturating_sub(SHOWN)).collect();
    failed(&format!("{problem}\n{}", end.trim()))
}

/// The name of the image: it depends on the base's content and on the packages, and not on their order.
fn cache_name(image: &Image, packages: &[String]) -> String {
    let mut sorted = packages.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let digest = Sha256::digest(format!("{}\n{}\n{INSTALL}", image.id, sorted.join("\n")));
    let tag = hex(&digest[..16]);
    format!("{CACHE}:{tag}")
}

/// A build's context with nothing but a Dockerfile.
fn context(dockerfile: &str) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(dockerfile.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, "Dockerfile", dockerfile.as_bytes())?;
    archive.into_inner()
}
