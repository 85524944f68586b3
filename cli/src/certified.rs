//! Certificates that a pipeline asks for: each spec must have one for exactly what it says now.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use scenario::certificate::Certificate;
use serde_json::Value as Json;
use store::SpecContent;
use tokio::runtime::Runtime;

use crate::data_dir::StoreOption;
use crate::output::CommandError;
use crate::source::{Source, content, sources};

/// Whether certificates are asked for, and where they are.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CertifiedOptions {
    /// Fail, before anything is run, unless `touchstone certify` has certified each spec exactly as it is now.
    #[arg(long)]
    certified: bool,
    /// A file of `touchstone certify -o FILE`, in which the certificates are instead of in the data directory.
    #[arg(long, value_name = "FILE", requires = "certified")]
    certificates: Option<PathBuf>,
}

impl CertifiedOptions {
    /// What is told of specs without a certificate, with what to run; `None` when all have one, or none is asked for.
    pub(crate) fn problem(&self, paths: &[PathBuf], store: &StoreOption) -> Result<Option<String>, CommandError> {
        if !self.certified {
            return Ok(None);
        }
        let (sources, readable) = sources(paths);
        readable?;
        let mut lines = Vec::new();
        let file = self.certificates.as_deref().map(read).transpose()?;
        for source in &sources {
            // What is not valid is told by who validates.
            let Some(spec) = source.load().spec else { continue };
            let content = content(source).map_err(CommandError::usage)?;
            let known = match &file {
                Some(known) => newest(known, spec.id.as_str(), &content),
                None => stored(store, spec.id.as_str(), &content)?,
            };
            lines.extend(lack(source, known.as_ref(), spec.id.as_str(), &content.digest()));
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let into = self.certificates.as_ref().map(|path| format!(" -o {}", path.display())).unwrap_or_default();
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        lines.push(format!("run `touchstone certify {}{into}`", paths.join(" ")));
        Ok(Some(lines.join("\n")))
    }
}

/// What a spec lacks.
fn lack(source: &Source, known: Option<&Certificate>, spec_id: &str, digest: &str) -> Option<String> {
    let name = &source.name;
    match known {
        None => Some(format!("{name}: not certified yet")),
        Some(known) if known.certifies(spec_id, digest) => None,
        Some(known) if known.is_for(spec_id, digest) => Some(format!("{name}: {known}")),
        Some(_) => Some(format!("{name}: certified for an earlier version of the spec")),
    }
}

fn read(path: &Path) -> Result<Vec<Certificate>, CommandError> {
    let wrong = |why: String| CommandError::Usage(format!("`{}` has no certificates: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut file: Json = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_value(file["certificates"].take()).map_err(|error| wrong(error.to_string()))
}

/// The certificate for exactly this content, or else another one of the same spec.
fn newest(known: &[Certificate], spec_id: &str, content: &SpecContent) -> Option<Certificate> {
    let digest = content.digest();
    let own = || known.iter().filter(|certificate| certificate.spec_id == spec_id);
    own().find(|certificate| certificate.spec_digest == digest).or_else(|| own().next()).cloned()
}

fn stored(store: &StoreOption, spec_id: &str, content: &SpecContent) -> Result<Option<Certificate>, CommandError> {
    Runtime::new()?.block_on(async {
        let store = store.open().await?.store;
        let exact = store.certificate("", spec_id, &content.digest()).await?;
        let known = match exact {
            Some(certificate) => Some(certificate),
            None => store.newest_certificate("", spec_id).await?,
        };
        store.close().await;
        Ok(known)
    })
}
