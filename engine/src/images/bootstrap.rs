//! Makes the root of an image from a recipe: one run of `mmdebstrap`, which writes it as an archive to its output.
//!
//! Every image is made on its own and is one layer. That is several times faster than images built on each other, because
//! committing a layer makes some storage drivers of Docker compare two whole trees of files.

use std::fmt::Write as _;

use scenario::hex;
use sha2::{Digest as _, Sha256};

use super::recipe::{File, Foundation, Recipe};

/// The program that makes roots of Debian packages.
pub const PROGRAM: &str = "mmdebstrap";

/// The label that says which recipe, in which state, an image was made from.
pub const RECIPE_LABEL: &str = "touchstone.recipe";

/// Leaves out what nobody reads in a test.
const SLIM: &str = include_str!("../../images/slim.sh");

/// A run of `mmdebstrap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment of its hooks: scripts, so that they are not repeated in its log.
    pub environment: Vec<(&'static str, String)>,
    /// Settings with which containers of the image start, as lines of a Dockerfile.
    pub settings: Vec<String>,
}

impl Bootstrap {
    /// The run that makes the image of a recipe.
    #[must_use]
    pub fn new(recipe: &Recipe) -> Self {
        let mut bootstrap = Self {
            arguments: arguments(recipe),
            environment: vec![
                ("TOUCHSTONE_BEFORE", before(recipe)),
                ("TOUCHSTONE_OUTSIDE", outside(recipe)),
                ("TOUCHSTONE_INSIDE", recipe.inside.unwrap_or_default().to_owned()),
            ],
            settings: recipe.settings.iter().map(ToString::to_string).collect(),
        };
        let label = format!("LABEL {RECIPE_LABEL}={}", bootstrap.digest());
        bootstrap.settings.push(label);
        bootstrap
    }

    /// The label of the image that this makes. It changes whenever anything that goes into the image does.
    #[must_use]
    pub fn label(&self) -> &str {
        self.settings.last().and_then(|label| label.rsplit('=').next()).unwrap_or_default()
    }

    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        let values = self.environment.iter().map(|(_, value)| value);
        for text in self.arguments.iter().chain(values).chain(&self.settings) {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
        hex(digest.finalize())
    }
}

fn arguments(recipe: &Recipe) -> Vec<String> {
    let variant = match recipe.foundation {
        Foundation::Nothing => "extract",
        Foundation::Essential => "apt",
        Foundation::Required => "minbase",
    };
    let mut arguments = vec![
        "--mode=auto".to_owned(),
        format!("--variant={variant}"),
        format!("--include={}", recipe.packages.join(",")),
        // The clock of the machine may be ahead of a mirror's, and nothing here is kept for long.
        r#"--aptopt=Acquire::Check-Valid-Until "false""#.to_owned(),
        r#"--aptopt=Acquire::Languages "none""#.to_owned(),
        r#"--aptopt=Apt::Install-Recommends "false""#.to_owned(),
        "--dpkgopt=force-unsafe-io".to_owned(),
        format!("--skip={}", kept(recipe)),
        r#"--extract-hook=set -eu; eval "$TOUCHSTONE_BEFORE""#.to_owned(),
        r#"--customize-hook=set -eu; eval "$TOUCHSTONE_OUTSIDE""#.to_owned(),
    ];
    if recipe.inside.is_some() {
        // The folder for temporary files is one of the host.
        let inside = r#"chroot "$1" env --unset=TMPDIR /bin/sh -euc "$TOUCHSTONE_INSIDE""#;
        arguments.push(format!("--customize-hook={inside}"));
    }
    arguments.extend([recipe.suite.to_owned(), "-".to_owned()]);
    arguments
}

/// Returns the part that is not cleaned up at the end: servers want their folders in `/run`, and where nothing was
/// installed, nothing is left to clean up with.
fn kept(recipe: &Recipe) -> &'static str {
    if recipe.foundation == Foundation::Nothing { "cleanup" } else { "cleanup/run" }
}

fn before(recipe: &Recipe) -> String {
    let slim = if recipe.foundation == Foundation::Nothing { "" } else { SLIM };
    format!("{slim}{}", recipe.before.unwrap_or_default())
}

fn outside(recipe: &Recipe) -> String {
    recipe.files.iter().map(write_file).collect()
}

/// A script that writes a file. Content goes along in it, because a run without root cannot read our files.
fn write_file(file: &File) -> String {
    let File { path, mode, content } = file;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut script = String::new();
    // Removed first: it may be a link that a package made.
    let _ = writeln!(script, "mkdir -p \"$1{folder}\"\nrm -f \"$1{path}\"");
    let _ = writeln!(script, "cat > \"$1{path}\" <<'{END}'\n{content}{END}\nchmod {mode} \"$1{path}\"");
    script
}

/// The line that ends a file in a script, which no file has.
const END: &str = "END OF THE FILE";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Bootstrap, END};
    use crate::images::recipe::{File, Recipe, all};

    #[test]
    fn labels_differ_and_change_with_everything_that_goes_into_an_image() {
        let labels: BTreeSet<_> = all().iter().map(|recipe| Bootstrap::new(recipe).label().to_owned()).collect();
        assert_eq!(labels.len(), all().len());
        assert!(labels.iter().all(|label| label.len() == 64), "{labels:?}");

        const FILE: File = File { path: "/a", mode: "644", content: "b\n" };
        let recipe = all()[0];
        let changed = [
            Recipe { suite: "trixie", ..recipe },
            Recipe { packages: &["other"], ..recipe },
            Recipe { files: &[FILE], ..recipe },
            Recipe { files: &[File { content: "c\n", ..FILE }], ..recipe },
            Recipe { before: None, ..recipe },
            Recipe { inside: Some("true"), ..recipe },
            Recipe { before: Some("true"), ..recipe },
            Recipe { settings: &["CMD true"], ..recipe },
            recipe,
        ];
        let labels: BTreeSet<_> = changed.iter().map(|recipe| Bootstrap::new(recipe).label().to_owned()).collect();
        assert_eq!(labels.len(), changed.len());
    }

    #[test]
    fn files_survive_the_way_into_an_image() {
        for recipe in all() {
            for file in recipe.files {
                assert!(file.content.ends_with('\n') && !file.content.contains(END), "{}", file.path);
            }
        }
    }

    #[test]
    fn the_scripts_that_write_files_do_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let content = "a 'quoted' \"line\" with $variables and `commands`\\n\n";
        let file = File { path: "/etc/deep/file", mode: "640", content };
        let script = format!("set -eu; eval {}", "\"$SCRIPT\"");
        let status = std::process::Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(folder.path())
            .env("SCRIPT", super::write_file(&file))
            .status()
            .expect("a shell");
        assert!(status.success());
        assert_eq!(std::fs::read_to_string(folder.path().join("etc/deep/file")).expect("written"), content);
    }
}
