//! The pure heart, driven from outside: the examples, the broken specs, the schema.

mod corpus;
mod examples;
mod invalid;
mod loader;
mod schema;
