//! Failures, as messages to the worker.

use doorkeeper::protocol::Failure;
use rustix::io::Errno;

/// Makes a failure from an error of the kernel and the operation that was tried: "read `x`: permission denied".
pub(crate) fn failed(errno: Errno, tried: impl AsRef<str>) -> Failure {
    Failure { errno: errno.raw_os_error(), message: format!("{}: {}", tried.as_ref(), reason(errno)) }
}

/// Makes a failure for a request that the doorkeeper itself refuses.
pub(crate) fn refused(message: impl Into<String>) -> Failure {
    Failure { errno: 0, message: message.into() }
}

/// Describes an error of the kernel in lower case and without its number.
fn reason(errno: Errno) -> String {
    let mut text = std::io::Error::from(errno).to_string();
    if let Some(end) = text.rfind(" (os error") {
        text.truncate(end);
    }
    let first = text.chars().next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(text.chars().skip(1)).collect()
}

/// A path as text in a message.
pub(crate) fn show(path: &[u8]) -> String {
    format!("`{}`", String::from_utf8_lossy(path))
}
