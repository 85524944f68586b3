//! Which specs and tags there are, to choose from while somebody writes.

use maud::{Markup, html};
use store::Page;

use crate::app::App;
use crate::error::ApiError;
use crate::web::session::Visitor;

/// The most specs, and the most of their tags, that are offered.
const MOST: u64 = 100;

/// Some specs and tags that there are.
#[derive(Debug)]
pub(super) struct Known {
    specs: Vec<String>,
    tags: Vec<String>,
}

impl Known {
    /// Reads those that this visitor may see.
    pub(super) async fn read(app: &App, visitor: &Visitor) -> Result<Self, ApiError> {
        let listed = app.store.spec_versions(visitor.caller.sees(), Page { after: None, most: MOST }).await?;
        let digests: Vec<_> = listed.items.iter().map(|one| one.version.digest.as_str()).collect();
        let tags = app.store.tags_among(&digests, MOST).await?;
        let mut specs: Vec<_> = listed.items.into_iter().map(|one| one.version.spec_id).collect();
        specs.sort();
        specs.dedup();
        Ok(Self { specs, tags })
    }

    /// The lists to which fields of a form refer by their ids.
    pub(super) fn lists(&self) -> Markup {
        html! {
            @for (id, values) in [("known-specs", &self.specs), ("known-tags", &self.tags)] {
                datalist id=(id) { @for value in values { option value=(value) {} } }
            }
        }
    }
}
