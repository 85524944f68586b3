//! The tags of specs, written down beside their texts so that experiments are found by them.

use sea_query::{Expr, ExprTrait as _, OnConflict, Query};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::number;
use crate::reading::read_spec;
use crate::specs::SpecContent;
use crate::tables::{SpecTags, Specs};

/// Says that the tags of specs which were kept by an older version are written down too.
const DONE: &str = "spec_tags";

row! {
    /// A spec that is kept.
    DigestRow { digest: String }
}

impl Store {
    /// The same store, with the tags of all specs written down: older versions did not.
    pub(crate) async fn tagged(self) -> Result<Self, StoreError> {
        if self.setting(DONE).await?.is_some() {
            return Ok(self);
        }
        let all = Query::select().column(Specs::Digest).from(Specs::Table).to_owned();
        for DigestRow { digest } in self.db.fetch_all::<DigestRow>(&all).await? {
            // It may have been removed meanwhile.
            let Ok(content) = self.spec(&digest).await else { continue };
            let mut tx = self.db.begin().await?;
            write_tags(&mut tx, &digest, &content).await?;
            tx.commit().await?;
        }
        self.set_setting(DONE, "1").await?;
        Ok(self)
    }

    /// The tags of a spec, by its digest.
    pub async fn tags_of(&self, digest: &str) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .column(SpecTags::Tag)
            .from(SpecTags::Table)
            .and_where(Expr::col(SpecTags::Spec).eq(digest))
            .order_by(SpecTags::Tag, sea_query::Order::Asc)
            .to_owned();
        Ok(self.db.fetch_all::<TagRow>(&select).await?.into_iter().map(|row| row.tag).collect())
    }

    /// The tags of these specs, by their digests, in the order of letters; at most so many.
    pub async fn tags_among(&self, digests: &[&str], most: u64) -> Result<Vec<String>, StoreError> {
        let select = Query::select()
            .distinct()
            .column(SpecTags::Tag)
            .from(SpecTags::Table)
            .and_where(Expr::col(SpecTags::Spec).is_in(digests.iter().copied()))
            .order_by(SpecTags::Tag, sea_query::Order::Asc)
            .limit(number::limit(most))
            .to_owned();
        Ok(self.db.fetch_all::<TagRow>(&select).await?.into_iter().map(|row| row.tag).collect())
    }
}

row! {
    /// A tag.
    TagRow { tag: String }
}

/// Writes down the tags of a spec. One that this version cannot read has none.
pub(crate) async fn write_tags(tx: &mut Tx, digest: &str, content: &SpecContent) -> Result<(), StoreError> {
    let Ok(spec) = read_spec(content) else { return Ok(()) };
    if spec.tags.is_empty() {
        return Ok(());
    }
    let mut insert = Query::insert().into_table(SpecTags::Table).columns([SpecTags::Tag, SpecTags::Spec]).to_owned();
    for tag in &spec.tags {
        insert.values_panic([tag.as_str().into(), digest.into()]);
    }
    insert.on_conflict(OnConflict::columns([SpecTags::Tag, SpecTags::Spec]).do_nothing().to_owned());
    tx.execute(&insert).await?;
    Ok(())
}
