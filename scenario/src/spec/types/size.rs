//! Sizes as Kubernetes writes them: `512Mi`, `1Gi`, `1.5G`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::count_noun;
use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Node};

/// The units and their bytes; binary ones first, because `Mi` begins like `M`.
const UNITS: [(&str, u64); 13] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// A number of bytes between `MIN` and `MAX` mebibytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes<const MIN_MI: u64, const MAX_MI: u64>(u64);

impl<const MIN_MI: u64, const MAX_MI: u64> Bytes<MIN_MI, MAX_MI> {
    /// Creates a size of this number of mebibytes.
    #[must_use]
    pub const fn from_mebi(mebi: u64) -> Self {
        Self(mebi << 20)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Reads a quantity; `None` when it is not of that form.
fn parse(text: &str) -> Option<u64> {
    let (amount, unit) = UNITS
        .iter()
        .find_map(|(unit, bytes)| text.strip_suffix(unit).map(|amount| (amount, *bytes)))
        .unwrap_or((text, 1));
    let plain = !amount.is_empty() && amount.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let amount: f64 = amount.parse().ok().filter(|_| plain)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a size in bytes is far below 2^53"
    )]
    Some((amount * unit as f64) as u64)
}

/// The shortest exact way to write a number of bytes.
fn show(bytes: u64) -> String {
    UNITS[..4]
        .iter()
        .rev()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| bytes.to_string(), |(name, unit)| format!("{}{name}", bytes / unit))
}

impl<const MIN_MI: u64, const MAX_MI: u64> fmt::Display for Bytes<MIN_MI, MAX_MI> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&show(self.0))
    }
}

impl<const MIN_MI: u64, const MAX_MI: u64> Serialize for Bytes<MIN_MI, MAX_MI> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<const MIN_MI: u64, const MAX_MI: u64> Readable for Bytes<MIN_MI, MAX_MI> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(text) = node.scalar().filter(|_| matches!(node.kind, Kind::String(_) | Kind::Number(_))) else {
            return reader.wrong_type(node, "a size like `512Mi`");
        };
        let bytes = parse(text);
        match bytes {
            Some(bytes) if (MIN_MI << 20..=MAX_MI << 20).contains(&bytes) => Some(Self(bytes)),
            Some(bytes) => {
                let message = format!(
                    "expected a size from {} to {}, found {}",
                    show(MIN_MI << 20),
                    show(MAX_MI << 20),
                    count_noun(bytes, "byte")
                );
                reader.invalid(node, message, None)
            }
            None => reader.invalid(
                node,
                format!("{} is not a size", node.describe()),
                Some("write it like `512Mi` or `2Gi`".to_owned()),
            ),
        }
    }

    fn shape() -> Shape {
        let word = Shape::Word {
            name: "size",
            pattern: r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|KB|MB|GB|TB|k|K|M|G|T)?$",
            example: "512Mi",
        };
        #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
        let number = Shape::Number { min: (MIN_MI << 20) as f64, max: (MAX_MI << 20) as f64 };
        Shape::Either(vec![word, number])
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn sizes_read_as_kubernetes_writes_them() {
        for (text, bytes) in [
            ("1Gi", 1 << 30),
            ("512Mi", 512 << 20),
            ("1.5Gi", 3 << 29),
            ("1G", 1_000_000_000),
            ("100", 100),
            ("1k", 1000),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "Gi", "1 Gi", "1gb", "-1Gi", "1e3", "infGi", "nan"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(
            (show(1 << 30), show(1000), show(1536 << 20)),
            ("1Gi".to_owned(), "1000".to_owned(), "1536Mi".to_owned())
        );
    }
}
