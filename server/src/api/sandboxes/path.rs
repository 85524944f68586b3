//! Paths of files in a sandbox.

use scenario::interactive::MOST_PATH_BYTES;

use crate::error::ApiError;

/// Refuses a path that leads nowhere, or up. It may be relative to the workspace, or absolute. The worker confines it to
/// the sandbox in any case.
pub(super) fn require_path(path: &str) -> Result<(), ApiError> {
    let wrong = if path.is_empty() || path.chars().all(|character| character == '/') {
        "is empty".to_owned()
    } else if path.len() > MOST_PATH_BYTES {
        format!("has more than {MOST_PATH_BYTES} bytes")
    } else if path.contains('\0') {
        "has a NUL in it".to_owned()
    } else if path.split('/').any(|part| part == "..") {
        "has `..` in it; write an absolute path instead".to_owned()
    } else {
        return Ok(());
    };
    Err(ApiError::invalid(format!("the path {wrong}")))
}

#[cfg(test)]
mod tests {
    use super::require_path;

    #[test]
    fn paths_lead_down() {
        for path in ["a", "a/b.txt", "/tmp/x", "./a", "..a/b..", "a..b", "a b", "ä", ".env"] {
            assert!(require_path(path).is_ok(), "{path}");
        }
        for path in ["", "/", "//", "..", "../a", "a/../b", "/..", "a/..", "a\0b", &"x".repeat(5000)] {
            assert!(require_path(path).is_err(), "{path}");
        }
    }
}
