//! The id of this machine, which a SQLite file is marked with.

use std::env;
use std::fs;

/// The variable that names this machine, for machines that have no id file, or a copied one.
const VARIABLE: &str = "TOUCHSTONE_MACHINE_ID";

/// The files with the id of a machine, which stays the same when it is started again.
const FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Message that this machine has no id, and how to give it one.
pub(crate) const NO_MACHINE_ID: &str =
    "this machine has no id: `/etc/machine-id` is missing or empty; give it one with TOUCHSTONE_MACHINE_ID";

/// The id of this machine; `None` when it has none, as most containers.
pub(crate) fn machine_id() -> Option<String> {
    let named = env::var(VARIABLE).ok().filter(|id| !id.is_empty());
    named.or_else(|| FILES.iter().find_map(|file| read_id(&fs::read_to_string(file).ok()?)))
}

/// The id in the text of a file: 32 hex digits. A new system has a word there until it has an id.
fn read_id(text: &str) -> Option<String> {
    let id = text.trim();
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::read_id;

    #[test]
    fn only_an_id_is_an_id() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(read_id(&format!("{id}\n")).as_deref(), Some(id));
        for other in ["", "\n", "uninitialized\n", "0123"] {
            assert_eq!(read_id(other), None, "{other:?}");
        }
    }
}
