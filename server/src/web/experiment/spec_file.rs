//! The spec of a run as a file, to run it elsewhere: its text, or an archive with the files beside it.

use std::io::{self, Write};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use store::SpecContent;
use tar::{Builder, Header};

use super::ExperimentQuery;
use crate::api::experiments::{find, require_run};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{At, QueryParams};
use crate::web::session::Visitor;

/// The name of the spec in an archive.
const SPEC_FILE: &str = "spec.yaml";

/// The form in which a spec is downloaded: alone, or in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::web) enum Taken {
    /// Its text is all of it.
    Alone,
    /// There are files beside it.
    Archive,
}

impl Taken {
    /// Finds the download form of the spec with this digest.
    pub(in crate::web) async fn of(app: &App, digest: &str) -> Result<Self, ApiError> {
        Ok(if app.store.has_files(digest).await? { Self::Archive } else { Self::Alone })
    }

    /// Returns the name of the file.
    pub(in crate::web) fn file_name(self, spec_id: &str) -> String {
        match self {
            Self::Alone => format!("{spec_id}.yaml"),
            Self::Archive => format!("{spec_id}.tar.gz"),
        }
    }

    /// Returns the command that unpacks it, if any, and the path of the spec then.
    pub(in crate::web) fn ready(self, spec_id: &str) -> (Option<String>, String) {
        match self {
            Self::Alone => (None, self.file_name(spec_id)),
            Self::Archive => (
                Some(format!("mkdir -p {spec_id} && tar -xzf {} -C {spec_id}", self.file_name(spec_id))),
                format!("{spec_id}/{SPEC_FILE}"),
            ),
        }
    }
}

/// The spec by which a run was judged, as it is kept.
pub(super) async fn spec_file(
    State(app): State<App>,
    visitor: Visitor,
    At(id): At<String>,
    QueryParams(query): QueryParams<ExperimentQuery>,
) -> Result<Response, ApiError> {
    let experiment = find(&app, &visitor.caller, &id).await?;
    let run = require_run(&app, &experiment, query.run).await?;
    let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
    let content = app.store.spec(&run.digest).await?;
    let taken = if content.files.is_empty() { Taken::Alone } else { Taken::Archive };
    let (kind, body) = match taken {
        Taken::Alone => ("application/yaml", content.text.into_bytes()),
        Taken::Archive => ("application/gzip", pack_aside(content).await?),
    };
    let name = format!("attachment; filename=\"{}\"", taken.file_name(&experiment.spec.spec_id));
    Ok(([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name.as_str())], body).into_response())
}

/// Packs in a thread of its own, so that nobody else waits.
async fn pack_aside(content: SpecContent) -> Result<Vec<u8>, ApiError> {
    let packed = tokio::task::spawn_blocking(move || pack(&content)).await;
    let packed = packed.map_err(|error| ApiError::internal(error.to_string()))?;
    packed.map_err(|error| ApiError::internal(format!("the spec could not be packed: {error}")))
}

/// An archive of a spec and the files beside it. What is the same gives the same bytes.
fn pack(content: &SpecContent) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    append(&mut archive, SPEC_FILE, false, content.text.as_bytes())?;
    for file in content.files.iter().filter(|file| file.path != SPEC_FILE) {
        append(&mut archive, &file.path, file.executable, &file.content)?;
    }
    archive.into_inner()?.finish()
}

fn append(archive: &mut Builder<impl Write>, path: &str, executable: bool, content: &[u8]) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(if executable { 0o755 } else { 0o644 });
    header.set_mtime(0);
    archive.append_data(&mut header, path, content)
}
