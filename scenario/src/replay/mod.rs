//! Recorded sessions: the requests and answers of an agent in one scenario, kept as a file, so that a changed agent can
//! replay them.

mod answer;
mod export;
mod header_values;
mod playback;
mod session;

pub use answer::ToolResponse;
pub use export::{ExportError, export};
pub use header_values::HeaderValues;
pub use playback::{Call, Playback};
pub use session::{Session, SessionError, SessionSource};
