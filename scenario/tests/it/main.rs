//! The pure heart, driven from outside: the examples, the broken specs, the schema.

mod corpus;
mod earlier_evidence;
mod examples;
mod invalid;
mod judging;
mod loader;
mod observations;
mod schema;
mod scipy;
