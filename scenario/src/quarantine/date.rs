//! A day, as `2026-12-31`.

use std::fmt;

use jiff::civil::Date;
use serde::{Serialize, Serializer};

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::Node;

/// The last day of a quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LastDay(Date);

impl LastDay {
    /// The day.
    #[must_use]
    pub const fn get(self) -> Date {
        self.0
    }
}

impl fmt::Display for LastDay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Serialize for LastDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for LastDay {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let Some(text) = node.scalar() else { return reader.wrong_type(node, "a day such as `2026-12-31`") };
        // A time would be cut off, and a quarantine ends with a day.
        let is_day = text.len() == "2026-12-31".len();
        match text.parse::<Date>().ok().filter(|_| is_day) {
            Some(date) => Some(Self(date)),
            None => {
                let help = "write year, month and day, such as `2026-12-31`".to_owned();
                reader.invalid(node, format!("{} is no day", node.describe()), Some(help))
            }
        }
    }

    fn shape() -> Shape {
        Shape::Word { name: "day", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", example: "2026-12-31" }
    }
}
