//! L2: values that other tools bound.

pub(crate) mod reference;
