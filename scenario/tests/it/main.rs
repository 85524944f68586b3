//! The pure heart, driven from outside: the examples, the broken specs, the schema.

mod corpus;
mod examples;
mod invalid;
mod judging;
mod loader;
mod observations;
mod schema;
