//! Tests of the engine against real servers.

mod conformance;
mod drift;
mod harness;
mod hostile;
mod images;
mod servers;
mod sql;
