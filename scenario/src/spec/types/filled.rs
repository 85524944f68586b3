//! Texts that must not be empty.

use std::ops::Deref;

use serde::Serialize;

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::template::Text;
use crate::spec::yaml::Node;

/// A text with something in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Filled(Text);

impl Filled {
    /// A text that is taken as it stands.
    #[must_use]
    pub(crate) fn literal(text: &str) -> Self {
        Self(Text::literal(text))
    }
}

impl Deref for Filled {
    type Target = Text;

    fn deref(&self) -> &Text {
        &self.0
    }
}

impl Readable for Filled {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(node, reader)?;
        if text.source().trim().is_empty() {
            return reader.invalid(node, "the text is empty", None);
        }
        Some(Self(text))
    }

    fn shape() -> Shape {
        Shape::Filled
    }
}
