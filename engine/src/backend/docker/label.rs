//! The labels of everything that is made, by which it is found again without our database.

use std::collections::HashMap;

use uuid::Uuid;

use crate::backend::Identity;

/// Label on everything of ours, with its kind.
pub(super) const KIND: &str = "touchstone";
/// The data directory that it belongs to.
pub(super) const DATA: &str = "touchstone.data";
/// The process that made it.
pub(super) const OWNER: &str = "touchstone.owner";
/// The sandbox that it is a part of, by its name.
pub(super) const SANDBOX: &str = "touchstone.sandbox";
/// The experiment that it was made for.
const EXPERIMENT: &str = "touchstone.experiment";
/// The scenario that it was made for.
const SCENARIO: &str = "touchstone.scenario";
/// The attempt that it was made for: of two with one job, the higher is the newer.
const EPOCH: &str = "touchstone.epoch";

/// The labels of something that is made for an attempt.
pub(super) fn labels(kind: &str, data: Uuid, owner: Uuid, identity: &Identity) -> HashMap<String, String> {
    let values = [
        (KIND, kind.to_owned()),
        (DATA, data.to_string()),
        (OWNER, owner.to_string()),
        (SANDBOX, identity.name()),
        (EXPERIMENT, identity.experiment.clone()),
        (SCENARIO, identity.scenario.clone()),
        (EPOCH, identity.attempt.to_string()),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
