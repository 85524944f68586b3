//! Tests over real connections.

mod hostile;
mod limits;
mod proxy;
mod replay;
mod script;
