//! Values of secrets that come with a submission, and whether a spec has all that it needs.
//!
//! A spec's files, commands and variables of secrets are those of the machine that submits it. The server reads none of
//! them: a value comes with the submission, or it is kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use scenario::spec::Spec;
use serde::{Deserialize, Serialize};
use store::ExperimentId;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::ApiError;

/// The shortest value of a secret. It is removed from everything that is stored, wherever it appears.
const SHORTEST: usize = 4;
/// The longest value of a secret in bytes.
const LONGEST: usize = 64 * 1024;
/// The length of the nonce that makes each sealing different.
const NONCE: usize = 12;

/// Values of secrets by name. They are sealed, and never returned.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = std::collections::HashMap<String, String>)]
pub(crate) struct Given(BTreeMap<String, String>);

impl fmt::Debug for Given {
    /// Without the values.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl FromIterator<(String, String)> for Given {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Given {
    /// Only those that the spec names, if their values can be kept.
    fn named_by(&self, spec: &Spec) -> Result<Self, ApiError> {
        let mut named = BTreeMap::new();
        for secret in &spec.secrets {
            let name = secret.name().as_str();
            if let Some(value) = self.0.get(name) {
                require_value(name, value)?;
                named.insert(name.to_owned(), value.clone());
            }
        }
        Ok(Self(named))
    }

    /// True when there is a value for this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Refuses a value that cannot be a secret.
pub(crate) fn require_value(name: &str, value: &str) -> Result<(), ApiError> {
    let wrong = if value.chars().count() < SHORTEST {
        format!("is shorter than {SHORTEST} characters, and would be found by chance in what is kept")
    } else if value.len() > LONGEST {
        format!("has more than {LONGEST} bytes")
    } else {
        return Ok(());
    };
    Err(ApiError::invalid(format!("the value of the secret `{name}` {wrong}")))
}

/// Seals a value for these words.
pub(crate) fn seal(app: &App, plain: &[u8], words: &str) -> Result<Vec<u8>, ApiError> {
    let mut nonce = [0; NONCE];
    app.ids.random(&mut nonce);
    Ok(app.master_key.seal(plain, words, nonce)?)
}

/// The secrets of an experiment or a sandbox, sealed for its id; `None` when its spec names none of those that are
/// given.
pub(crate) fn seal_given(
    app: &App,
    id: impl fmt::Display,
    spec: &Spec,
    given: &Given,
) -> Result<Option<Vec<u8>>, ApiError> {
    let named = given.named_by(spec)?;
    if named.0.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_vec(&named).map_err(|error| ApiError::internal(error.to_string()))?;
    seal(app, &text, &id.to_string()).map(Some)
}

/// The secrets with which an experiment was submitted.
pub(crate) async fn given_of(app: &App, experiment: ExperimentId) -> Result<Given, ApiError> {
    let Some(sealed) = app.store.experiment_secrets(experiment).await? else { return Ok(Given::default()) };
    let text = app.master_key.open(&sealed, &experiment.to_string())?;
    serde_json::from_slice(&text).map_err(|error| {
        tracing::error!(%error, "the secrets of {experiment} cannot be read");
        ApiError::internal("the secrets of this experiment cannot be read")
    })
}

/// Refuses a spec that needs a secret which was not given and is not kept.
pub(crate) async fn require_secrets(app: &App, owner: &str, spec: &Spec, given: &Given) -> Result<(), ApiError> {
    let missing: Vec<_> = unkept_secrets(app, owner, spec)
        .await?
        .into_iter()
        .filter(|name| !given.has(name))
        .map(|name| {
            format!("the secret `{name}` has no value: pass it in `secrets`, or keep it with PUT /v1/secrets/{name}")
        })
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(ApiError::invalid(missing.join("\n"))) }
}

/// The names of secrets whose values a spec needs and this server does not keep, in the order of the spec.
pub(crate) async fn unkept_secrets(app: &App, owner: &str, spec: &Spec) -> Result<Vec<String>, ApiError> {
    let needed = spec.secrets.iter().filter(|secret| secret.entry().from.is_none());
    let needed: Vec<_> = needed.map(|secret| secret.name().to_string()).collect();
    if needed.is_empty() {
        return Ok(needed);
    }
    let kept: BTreeSet<String> = app.store.secret_names(owner).await?.into_iter().collect();
    Ok(needed.into_iter().filter(|name| !kept.contains(name)).collect())
}
