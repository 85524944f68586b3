//! The values of secrets on a server: those of a submission come first, then those that its owner stores here.

use std::collections::BTreeMap;

use async_trait::async_trait;
use scenario::spec::Spec;
use store::{Experiment, MasterKey, Sandbox, Store, StoreError};
use worker::Unavailable;

use crate::secrets::{self, Forwarded};

/// Secrets that are kept, sealed.
#[derive(Debug, Clone)]
pub(super) struct KeptSecrets {
    pub(super) store: Store,
    pub(super) key: MasterKey,
    /// True if specs may also read secrets from this machine's environment, files and commands.
    pub(super) sources: bool,
}

/// The owner of the secrets, and those that came with the submission, sealed for the name.
struct SecretLookup<'a> {
    owner: &'a str,
    name: String,
    sealed: Option<Vec<u8>>,
}

impl KeptSecrets {
    /// The values of a spec's secrets by name; otherwise what is missing.
    async fn values(&self, asked: SecretLookup<'_>, spec: &Spec) -> Result<BTreeMap<String, String>, Unavailable> {
        if spec.secrets.is_empty() {
            return Ok(BTreeMap::new());
        }
        let kept = self.kept(&asked, spec).await.map_err(|error| match error {
            StoreError::Damaged(_) => Unavailable::Missing(format!("kept secrets cannot be read: {error}")),
            error => Unavailable::Unavailable(format!("kept secrets cannot be read: {error}")),
        });
        let kept = Forwarded::of(kept?);
        if !self.sources {
            return secrets::resolve_given(spec, &kept).map_err(Unavailable::Missing);
        }
        // A command of a spec may take a while.
        let spec = spec.clone();
        let resolving = tokio::task::spawn_blocking(move || secrets::resolve(&spec, &kept));
        let resolved = resolving.await.map_err(|error| Unavailable::Unavailable(format!("secrets: {error}")))?;
        resolved.map_err(Unavailable::Missing)
    }

    async fn kept(&self, asked: &SecretLookup<'_>, spec: &Spec) -> Result<BTreeMap<String, String>, StoreError> {
        let mut values = match &asked.sealed {
            Some(sealed) => self.submitted(&asked.name, sealed)?,
            None => BTreeMap::new(),
        };
        for secret in &spec.secrets {
            let name = secret.name().as_str();
            if secret.entry().from.is_some() || values.contains_key(name) {
                continue;
            }
            if let Some(sealed) = self.store.secret(asked.owner, name).await? {
                let words = format!("{}/{name}", asked.owner);
                let value = self.key.open(&sealed, &words)?;
                let value =
                    String::from_utf8(value).map_err(|_| StoreError::Damaged(format!("`{words}` is no text")))?;
                values.insert(name.to_owned(), value);
            }
        }
        Ok(values)
    }

    /// Decrypts the secrets of a submission.
    fn submitted(&self, name: &str, sealed: &[u8]) -> Result<BTreeMap<String, String>, StoreError> {
        let text = self.key.open(sealed, name)?;
        // What it holds is not for messages.
        serde_json::from_slice(&text).map_err(|_| StoreError::Damaged(format!("the secrets of {name} cannot be read")))
    }
}

#[async_trait]
impl worker::Secrets for KeptSecrets {
    async fn resolve(&self, experiment: &Experiment, spec: &Spec) -> Result<BTreeMap<String, String>, Unavailable> {
        let sealed = self.store.experiment_secrets(experiment.id).await;
        let sealed = sealed.map_err(|error| Unavailable::Unavailable(error.to_string()))?;
        self.values(SecretLookup { owner: &experiment.owner, name: experiment.id.to_string(), sealed }, spec).await
    }

    async fn resolve_for_sandbox(
        &self,
        sandbox: &Sandbox,
        spec: &Spec,
    ) -> Result<BTreeMap<String, String>, Unavailable> {
        let Sandbox { new, .. } = sandbox;
        self.values(SecretLookup { owner: &new.owner, name: new.id.clone(), sealed: new.secrets.clone() }, spec).await
    }
}

#[cfg(test)]
mod tests {
    use scenario::spec::{Spec, load};
    use store::{MasterKey, Store};

    use super::{KeptSecrets, SecretLookup};

    fn spec(secrets: &str) -> Spec {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\nsecrets: {secrets}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
    }

    fn of(owner: &str) -> SecretLookup<'_> {
        SecretLookup { owner, name: "sb-1".to_owned(), sealed: None }
    }

    #[tokio::test]
    async fn an_owners_secrets_are_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        let key = MasterKey::new([7; 32]);
        let sealed = key.seal(b"of anna", "anna/TOKEN", [1; 12]).expect("sealed");
        store.put_secret("anna", "TOKEN", &sealed).await.expect("kept");
        // Somebody who can write to the database gets nothing out of moving it.
        store.put_secret("eve", "TOKEN", &sealed).await.expect("kept");
        let kept = KeptSecrets { store, key, sources: false };
        let values = kept.values(of("anna"), &spec("[TOKEN]")).await.expect("values");
        assert_eq!(values.get("TOKEN").map(String::as_str), Some("of anna"));
        assert!(kept.values(of("bert"), &spec("[TOKEN]")).await.is_err());
        let moved = kept.values(of("eve"), &spec("[TOKEN]")).await.expect_err("not hers");
        assert!(moved.to_string().contains("cannot be opened"), "{moved}");
    }

    #[tokio::test]
    async fn what_came_with_a_submission_goes_before_what_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        let key = MasterKey::new([7; 32]);
        for (name, nonce) in [("A", 1), ("B", 2)] {
            let sealed = key.seal(b"kept here", &format!("anna/{name}"), [nonce; 12]).expect("sealed");
            store.put_secret("anna", name, &sealed).await.expect("kept");
        }
        let sealed = key.seal(br#"{"A":"submitted"}"#, "sb-1", [3; 12]).expect("sealed");
        let kept = KeptSecrets { store, key, sources: false };
        let values = kept.values(SecretLookup { sealed: Some(sealed.clone()), ..of("anna") }, &spec("[A, B]")).await;
        assert_eq!(values.expect("values").into_values().collect::<Vec<_>>(), ["submitted", "kept here"]);
        let elsewhere = SecretLookup { name: "sb-2".to_owned(), sealed: Some(sealed), ..of("anna") };
        assert!(kept.values(elsewhere, &spec("[A, B]")).await.is_err());
    }

    #[tokio::test]
    async fn sources_of_specs_are_looked_into_only_where_that_is_allowed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        let mut kept = KeptSecrets { store, key: MasterKey::new([7; 32]), sources: false };
        let spec = spec("[{name: A, source: 'command:echo by command'}]");
        assert!(kept.values(of("anna"), &spec).await.is_err());
        kept.sources = true;
        let values = kept.values(of("anna"), &spec).await.expect("values");
        assert_eq!(values.get("A").map(String::as_str), Some("by command"));
    }
}
