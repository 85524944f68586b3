//! Rules that are looked at when a run ends or that tell of events, and the messages that they send.

mod deliveries;
mod firings;
mod rules;

pub(crate) use deliveries::insert_delivery;
pub use deliveries::{Delivery, DeliveryState, NewDelivery};
pub use firings::{Firing, NewFiring};
pub use rules::{Alert, NewAlert};
