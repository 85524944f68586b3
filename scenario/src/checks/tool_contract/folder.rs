//! The folder of contracts of a check, with the texts of its files.

use serde::Serialize;
use tool_contracts::{RawFile, RawSet};

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::types::BundlePath;
use crate::spec::yaml::Node;

/// A folder beside the spec, and the YAML files in it as they were when the spec was read.
///
/// The texts belong to the spec, so that a stored experiment is judged again by the contracts that were stored with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ContractFolder {
    path: BundlePath,
    #[serde(skip)]
    set: RawSet,
}

impl ContractFolder {
    /// The files of a set that belongs to no spec.
    pub(super) fn of(set: RawSet) -> Self {
        Self { path: BundlePath::default(), set }
    }

    /// The folder's path beside the spec.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// True when there is no file in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.files.is_empty()
    }

    /// Its files, with those of folders below it.
    pub(crate) fn set(&self) -> &RawSet {
        &self.set
    }

    /// Its files without those of folders below it, which belong to roles of a workflow or are fixtures.
    pub(crate) fn own_set(&self) -> RawSet {
        self.set.own()
    }
}

impl Readable for ContractFolder {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let path = BundlePath::read(node, reader)?;
        let files = reader.texts_below(path.as_str());
        let files = files.map(|(name, text)| RawFile { name: name.to_owned(), text: text.to_owned() }).collect();
        Some(Self { path, set: RawSet { files } })
    }

    fn shape() -> Shape {
        BundlePath::shape()
    }
}
