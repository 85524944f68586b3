//! L4: calls that wait for a person.

pub(crate) mod checkpoint;
