//! Tests over real connections.

mod changed;
mod faults;
mod governed;
mod hostile;
mod limits;
mod provider;
mod proxy;
mod replay;
mod script;
mod slow;
