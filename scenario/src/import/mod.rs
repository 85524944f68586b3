//! Files of other tools as specs.

pub mod flakestorm;
pub mod openapi;
