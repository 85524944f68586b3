//! Shell lines that write files.

/// A text as one word of the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A line that writes a text into a file, making its folder. What cannot be written is passed over.
pub(super) fn write(path: &str, text: &str) -> String {
    let path = quoted(path);
    format!("mkdir -p \"$(dirname {path})\" 2>/dev/null; printf '%s' {} 2>/dev/null > {path} || true", quoted(text))
}
