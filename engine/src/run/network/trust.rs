//! Makes a sandbox trust a certificate.

use doorkeeper::protocol::{EntryKind, WriteFile};

use crate::door::{Door, DoorError};
use crate::error::EngineError;

/// Path of the certificate of the sandbox's authority.
pub(super) const CERTIFICATE: &str = "/run/touchstone/ca.pem";
/// Path of the file with that certificate and those that the image trusts.
pub(super) const BUNDLE: &str = "/run/touchstone/bundle.pem";
/// Paths at which images have the certificates that they trust.
const BUNDLES: [&str; 3] = ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/cert.pem"];
/// Number of bytes of such a file that are read.
const MOST_BUNDLE: u64 = 4 * 1024 * 1024;

/// Puts a certificate beside those that the image trusts, and among them where that can be done.
pub(super) async fn add(door: &Door, own: &str) -> Result<(), EngineError> {
    let mut bundle = None;
    for path in BUNDLES {
        let Some(known) = read(door, path).await? else { continue };
        // One may be a link to another.
        if !String::from_utf8_lossy(&known).contains(own.trim()) {
            // Where the image cannot be written to, the variables are left.
            written(door.write(file(&format!("/{path}"), format!("\n{own}"), true)).await)?;
        }
        bundle.get_or_insert(known);
    }
    let mut bundle = bundle.unwrap_or_default();
    bundle.extend_from_slice(format!("\n{own}").as_bytes());
    let operation = || EngineError::door("put the sandbox's certificates in place");
    door.write(file(CERTIFICATE, own, false)).await.map_err(operation())?;
    door.write(file(BUNDLE, bundle, false)).await.map_err(operation())
}

/// A file that everybody may read and only root may change.
fn file(path: &str, content: impl Into<Vec<u8>>, append: bool) -> WriteFile {
    WriteFile { path: path.into(), kind: EntryKind::File, uid: 0, gid: 0, mode: 0o644, content: content.into(), append }
}

/// A file of the image; `None` when it is not there or cannot be read.
async fn read(door: &Door, path: &str) -> Result<Option<Vec<u8>>, EngineError> {
    match door.read("/", path.as_bytes(), MOST_BUNDLE).await {
        Ok(content) => Ok(Some(content)),
        Err(DoorError::Failed(_)) => Ok(None),
        Err(error) => Err(EngineError::door("read the certificates that the image trusts")(error)),
    }
}

/// Ignores failures to write, which are the image's business, as long as the doorkeeper is there.
fn written(result: Result<(), DoorError>) -> Result<(), EngineError> {
    match result {
        Ok(()) | Err(DoorError::Failed(_)) => Ok(()),
        Err(error) => Err(EngineError::door("have the image trust the sandbox's certificates")(error)),
    }
}
