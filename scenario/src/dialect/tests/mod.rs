//! Tests of whole dialects.

mod answers;
mod conversations;
mod results;
