//! Tests of the engine against real servers.

mod conformance;
mod contracts;
mod db_writes;
mod drift;
mod engine_api;
mod harness;
mod hostile;
mod images;
mod judging;
mod network;
mod sdks;
mod servers;
mod session;
mod sql;
mod tool_contracts;
mod unprivileged;
mod uploaded;
mod world_state;
