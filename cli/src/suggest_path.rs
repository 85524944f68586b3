//! Suggestions for a path that does not exist.

use std::fs;
use std::path::{Path, PathBuf};

use scenario::spec::diagnostic::closest;

use crate::search::{is_hidden, is_yaml};

/// The folder in which people often keep their specs.
const USUAL: &str = "specs";

/// The spec or folder whose name is nearest to that of a path that leads nowhere.
pub(crate) fn suggest_path(path: &Path) -> Option<PathBuf> {
    let missing = path.ancestors().take_while(|step| !step.as_os_str().is_empty() && !step.exists()).last()?;
    let name = missing.file_name()?.to_str()?;
    let folder = missing.parent()?;
    if let Some(near) = nearest(folder, name) {
        let rest = path.strip_prefix(missing).ok().filter(|rest| !rest.as_os_str().is_empty());
        let Some(whole) = rest.map(|rest| near.join(rest)) else { return Some(near) };
        return if whole.exists() { Some(whole) } else { suggest_path(&whole).or(Some(near)) };
    }
    let is_a_name = folder.as_os_str().is_empty() && missing == path;
    is_a_name.then(|| nearest(Path::new(USUAL), name)).flatten()
}

/// Finds the most similar name among the specs and folders of a folder.
fn nearest(folder: &Path, name: &str) -> Option<PathBuf> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(place).ok()?.filter_map(Result::ok);
    let fitting = entries.filter(|entry| {
        let path = entry.path();
        !is_hidden(&path) && (path.is_dir() || is_yaml(&path))
    });
    let mut names: Vec<_> = fitting.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    closest(name, names.iter().map(String::as_str)).map(|near| folder.join(near))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::suggest_path;

    #[test]
    fn a_path_with_a_slip_in_any_step_leads_to_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["refunds/spec.yaml", "shop/orders/spec.yaml", "single.yaml", "notes.txt", ".hidden/spec.yaml"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "x").expect("a file");
        }
        for (written, there) in [
            ("refundz", Some("refunds")),
            ("refund", Some("refunds")),
            ("refunds/spec.yml", Some("refunds/spec.yaml")),
            ("refundz/spec.yml", Some("refunds/spec.yaml")),
            ("shpo/order", Some("shop/orders")),
            ("shopp/nothing-like-it", Some("shop")),
            ("single", Some("single.yaml")),
            ("notes", None),
            ("hidden", None),
            ("elsewhere", None),
        ] {
            let found = suggest_path(&folder.path().join(written));
            assert_eq!(found, there.map(|there| folder.path().join(there)), "{written}");
        }
    }
}
