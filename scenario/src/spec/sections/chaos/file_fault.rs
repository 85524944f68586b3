//! `file_faults`: faults of the files in the workspace.

use serde::Serialize;

use super::start::FaultStart;
use super::trigger::Trigger;
use crate::spec::reader::{MapReader, Readable, Reader};
use crate::spec::section::{Fields, finish_tagged, section, tagged};
use crate::spec::shape::Shape;
use crate::spec::types::{Whole, WorkspacePath};
use crate::spec::yaml::Node;

/// A fault of files: when and what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileFault {
    /// The beginning.
    pub start: FaultStart,
    /// The calls that begin it, where `calls_of` is given; and its duration.
    pub trigger: Trigger,
    /// The effect of the fault.
    pub mode: FileFaultMode,
}

tagged! {
    /// A fault of files in the workspace. `mode` says what happens. It begins with the agent, at a time, or at a call of the model or
    /// of a service, and is over when the agent has ended.
    pub enum FileFaultMode by "mode" {
        /// There is no room left in the workspace.
        DiskFull(DiskFull) = "disk_full",
        /// A file or folder cannot be written to.
        ReadOnly(ReadOnlyPath) = "read_only",
        /// The content of a file is replaced.
        ChangedUnderneath(ChangedUnderneath) = "changed_underneath",
        /// A file or folder cannot be opened at all.
        PermissionDenied(DeniedPath) = "permission_denied",
    }
}

section! {
    /// There is no room left in the workspace: who writes more gets "no space left on device". The room is taken by a file without a
    /// name, in memory as the workspace is; so `resources.disk` may be 2 GiB at most. That the workspace was full is no limit that the
    /// agent reached.
    pub struct DiskFull {
        /// How many bytes are left.
        bytes_left: Whole<0, 1_000_000_000> = Whole::new(0),
    }
}

section! {
    /// A file, or a folder with all that is below it, loses the permission to write. The agent has no privileges, so this holds for
    /// root too; but it may give what it owns the permission back, and replace a file whose folder it may write to.
    pub struct ReadOnlyPath {
        /// The file or folder, in the workspace.
        path: WorkspacePath,
    }
}

section! {
    /// The content of a file is replaced, as by another program. An agent that writes back what it read before undoes that. The
    /// change is not counted as the agent's own.
    pub struct ChangedUnderneath {
        /// The file, in the workspace. It is made when it is not there.
        path: WorkspacePath,
        /// Its new content.
        content: String,
    }
}

section! {
    /// A file or folder loses all permissions: it can be neither read nor written. The agent has no privileges, so this holds for
    /// root too; but it may give what it owns its permissions back.
    pub struct DeniedPath {
        /// The file or folder, in the workspace.
        path: WorkspacePath,
    }
}

impl FileFaultMode {
    /// The path that it is about.
    #[must_use]
    pub fn path(&self) -> Option<&WorkspacePath> {
        match self {
            Self::DiskFull(_) => None,
            Self::ReadOnly(fault) => Some(&fault.path),
            Self::ChangedUnderneath(fault) => Some(&fault.path),
            Self::PermissionDenied(fault) => Some(&fault.path),
        }
    }
}

impl Readable for FileFault {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let start = FaultStart::read_fields(&mut map, reader);
        let trigger = Trigger::read_fields(&mut map, reader);
        let mode = FileFaultMode::read_variant(&mut map, reader);
        finish_tagged(&map, reader, "mode", FileFaultMode::variants());
        Some(Self { start: start?, trigger: trigger?, mode: mode? })
    }

    fn shape() -> Shape {
        let mut common = FaultStart::section().fields;
        common.extend(Trigger::section().fields);
        FileFaultMode::tagged_shape(common)
    }
}
