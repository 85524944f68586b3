//! Rules that are looked at when a run ends, and the messages that say that one fired.

mod deliveries;
mod firings;
mod rules;

pub use deliveries::{Delivery, DeliveryState, NewDelivery};
pub use firings::{Firing, NewFiring};
pub use rules::{Alert, NewAlert};
