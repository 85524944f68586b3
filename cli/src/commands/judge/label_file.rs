//! Files of labels.

use std::fs;
use std::path::Path;

use scenario::judge_calibration::{Label, read_labels};
use scenario::spec::render;

use crate::output::{CommandError, Output};

/// The largest file of labels.
const MOST_BYTES: u64 = 1024 * 1024;

/// Reads a file of labels; `None` after showing everything that is wrong with it.
pub(super) fn read(path: &Path, output: &mut Output) -> Result<Option<Vec<Label>>, CommandError> {
    let unreadable = |error| CommandError::Usage(format!("cannot read the labels in `{}`: {error}", path.display()));
    if fs::metadata(path).map_err(unreadable)?.len() > MOST_BYTES {
        return Err(CommandError::Usage(format!("`{}` has more than {MOST_BYTES} bytes", path.display())));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    match read_labels(&text) {
        Ok(labels) => Ok(Some(labels)),
        Err(problems) => {
            let name = path.display().to_string();
            for problem in problems {
                output.line(format!("{}\n", render::text(&problem, &name, &text, output.style())))?;
            }
            Ok(None)
        }
    }
}
