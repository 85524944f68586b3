//! The variables by which an SDK inside the sandbox finds the gateway.

use std::collections::BTreeMap;

use super::ApiSettings;

/// The gateway's name inside the sandbox.
pub const HOST: &str = "touchstone.services.internal";
/// Base URL of the gateway inside the sandbox.
pub const BASE_URL: &str = "http://touchstone.services.internal";

/// Under which names the variables are known: ours, and those that Keystone's SDKs read.
const PREFIXES: [&str; 3] = ["TOUCHSTONE", "KEYSTONE", "POLARITY"];

/// The variables by which an SDK inside the sandbox finds the gateway and its own sandbox.
#[must_use]
pub fn environment(settings: &ApiSettings) -> BTreeMap<String, String> {
    let values = [("BASE_URL", BASE_URL), ("API_KEY", &settings.token), ("SANDBOX_ID", &settings.sandbox_id)];
    let named = |prefix: &str| values.map(|(name, value)| (format!("{prefix}_{name}"), value.to_owned()));
    PREFIXES.iter().flat_map(|prefix| named(prefix)).collect()
}
