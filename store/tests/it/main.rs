//! The store, against real files.

mod at_once;
mod cancel;
mod claim;
mod completion;
mod events;
mod evidence;
mod gc;
mod harness;
mod lease;
mod model;
mod opening;
mod rescored;
mod results;
mod specs;
mod submit;
