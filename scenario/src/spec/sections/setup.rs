//! `setup`: the preparation of the sandbox before the agent starts.

use crate::spec::section::section;
use crate::spec::template::Text;
use crate::spec::types::{BundlePath, Command, EnvName, FileMode, PackageName, SandboxPath, Table};

section! {
    /// What the sandbox has before the agent starts. Files, environment and commands come after services and
    /// fixtures, and the network is open for their duration.
    pub struct Setup {
        /// Packages of the image's own distribution. They are baked once into an image that all replicas share.
        packages: Vec<PackageName> = Vec::new(),
        /// Files to write.
        files: Vec<SetupFile> = Vec::new(),
        /// Environment variables for `commands`, the agent and command checks.
        env: Table<EnvName, Text> = Table::default(),
        /// Commands to run in the workspace, one after the other. One that fails ends the preparation: the scenario is an
        /// `error`, not a `fail`.
        commands: Vec<Command> = Vec::new(),
    }
}

section! {
    /// A file to write before the agent starts. Give `content` or `from`.
    pub struct SetupFile {
        /// Where to write it; relative paths are in the workspace.
        path: SandboxPath,
        /// What to write.
        content: Option<Text>,
        /// A file of the spec's folder to copy.
        from: Option<BundlePath>,
        /// Its permissions, as a string in octal.
        mode: Option<FileMode>,
    }
}
