//! Takes secrets out of what is kept, by their values.

use scenario::untrusted;
use serde_json::Value;
use store::StoreError;

use crate::app::App;

/// The values that are not kept, with their names; longer ones first, because they may have shorter ones in them.
#[derive(Default)]
pub(crate) struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// The secrets that an owner keeps here, and those that were given for a sandbox.
    pub(crate) async fn of(app: &App, owner: &str, sandbox: Option<&str>) -> Result<Self, StoreError> {
        let mut values = Vec::new();
        for name in app.store.secret_names(owner).await? {
            let Some(sealed) = app.store.secret(owner, &name).await? else { continue };
            match app.master_key.open(&sealed, &format!("{owner}/{name}")) {
                Ok(value) => values.push((name, String::from_utf8_lossy(&value).into_owned())),
                Err(error) => tracing::error!(%error, "a secret cannot be opened"),
            }
        }
        if let Some(id) = sandbox {
            values.extend(given(app, id).await?);
        }
        values.retain(|(_, value)| !value.is_empty());
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Ok(Self(values))
    }

    /// The value without secrets, wherever in it they stand.
    pub(crate) fn without(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.without(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (self.text(name), self.without(value)));
                Value::Object(fields.collect())
            }
            other => {
                let text = other.to_string();
                let without = self.text(text.clone());
                if without == text { other } else { without.into() }
            }
        }
    }

    fn text(&self, text: String) -> String {
        self.0.iter().fold(text, |text, (name, value)| match text.contains(value.as_str()) {
            true => text.replace(value.as_str(), &format!("[redacted:{name}]")),
            false => text,
        })
    }
}

impl std::fmt::Debug for Secrets {
    /// Without the values.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The secrets that were given for a sandbox, as long as it has not ended.
async fn given(app: &App, sandbox: &str) -> Result<Vec<(String, String)>, StoreError> {
    let Some(sealed) = app.store.sandbox_secrets(sandbox).await? else { return Ok(Vec::new()) };
    let opened = app.master_key.open(&sealed, sandbox)?;
    let values: std::collections::BTreeMap<String, String> = serde_json::from_slice(&opened).unwrap_or_else(|error| {
        tracing::error!("the secrets of {} cannot be read: {error}", untrusted::line(sandbox, 100));
        Default::default()
    });
    Ok(values.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Secrets;

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        let secrets =
            Secrets(vec![("LONG".to_owned(), "s3cret-long".to_owned()), ("PIN".to_owned(), "1234".to_owned())]);
        let told = json!({"a s3cret-long b": ["x1234y", 51_234_567, 5, true, null], "n": {"m": "s3cret-long1234"}});
        let kept = json!({
            "a [redacted:LONG] b": ["x[redacted:PIN]y", "5[redacted:PIN]567", 5, true, null],
            "n": {"m": "[redacted:LONG][redacted:PIN]"},
        });
        assert_eq!(secrets.without(told.clone()), kept);
        assert_eq!(Secrets::default().without(told.clone()), told);
        assert_eq!(format!("{secrets:?}"), r#"{"LONG", "PIN"}"#);
    }
}
