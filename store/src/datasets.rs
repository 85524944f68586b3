//! Datasets: records to evaluate with. Each addition is a version; what was added stays as it was.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, Order, Query};
use serde_json::Value as Json;

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::owned::Owned;
use crate::page::{Listed, Page};
use crate::tables::{DatasetRecords, Datasets, RecordTags};
use crate::time::timestamp;
use crate::{json, number};

/// The number of rows written with one statement.
const AT_ONCE: usize = 500;

/// A dataset that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDataset {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Its name, for people.
    pub name: String,
    /// Its purpose.
    pub description: String,
}

/// A dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// The stored content.
    pub new: NewDataset,
    /// The number of times that records were added.
    pub version: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A record that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRecord {
    /// Its id.
    pub id: String,
    /// The input.
    pub input: Json,
    /// The expected output.
    pub expected: Json,
    /// More about it.
    pub metadata: Json,
    /// Words by which it is found.
    pub tags: Vec<String>,
}

/// A record of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The stored content.
    pub new: NewRecord,
    /// The version with which it was added.
    pub version: u32,
}

row! {
    /// A dataset.
    pub(crate) DatasetRow { id: String, owner: String, name: String, description: String, version: i64, created_at: i64 }
}

row! {
    /// The version of a dataset.
    VersionRow { version: i64 }
}

row! {
    /// A record.
    RecordRow { number: i64, id: String, version: i64, input: String, expected: String, metadata: String, tags: String }
}

impl Owned for Dataset {
    type New = NewDataset;
    type Row = DatasetRow;
    type Column = Datasets;

    const TABLE: Datasets = Datasets::Table;
    const ID: Datasets = Datasets::Id;
    const OWNER: Datasets = Datasets::Owner;
    const CREATED_AT: Datasets = Datasets::CreatedAt;
    const COLUMNS: &'static [Datasets] =
        &[Datasets::Id, Datasets::Owner, Datasets::Name, Datasets::Description, Datasets::Version];

    fn values(new: &NewDataset) -> Result<Vec<Expr>, StoreError> {
        Ok(vec![
            new.id.as_str().into(),
            new.owner.as_str().into(),
            new.name.as_str().into(),
            new.description.as_str().into(),
            0_i64.into(),
        ])
    }

    fn made(new: &NewDataset, created_at: Timestamp) -> Self {
        Self { new: new.clone(), version: 0, created_at }
    }

    fn read(row: DatasetRow) -> Result<Self, StoreError> {
        let new = NewDataset { id: row.id, owner: row.owner, name: row.name, description: row.description };
        Ok(Self { new, version: number::read(row.version)?, created_at: timestamp(row.created_at)? })
    }

    fn place(&self) -> (Timestamp, &str) {
        (self.created_at, &self.new.id)
    }
}

impl RecordRow {
    fn read(self) -> Result<(i64, Record), StoreError> {
        let new = NewRecord {
            id: self.id,
            input: json::read(&self.input)?,
            expected: json::read(&self.expected)?,
            metadata: json::read(&self.metadata)?,
            tags: json::read(&self.tags)?,
        };
        Ok((self.number, Record { new, version: number::read(self.version)? }))
    }
}

impl Store {
    /// Keeps a dataset without records.
    pub async fn create_dataset(&self, new: &NewDataset, now: Timestamp) -> Result<Dataset, StoreError> {
        self.make_owned(new, now).await
    }

    /// The dataset with this id.
    pub async fn dataset(&self, id: &str) -> Result<Option<Dataset>, StoreError> {
        self.owned(id).await
    }

    /// Datasets, newest first; of one owner only, if one is named.
    pub async fn datasets(&self, owner: Option<&str>, page: Page<'_>) -> Result<Listed<Dataset>, StoreError> {
        self.list_owned(owner, page).await
    }

    /// Removes a dataset with its records; whether there was one.
    pub async fn remove_dataset(&self, id: &str) -> Result<bool, StoreError> {
        self.remove_owned::<Dataset>(id).await
    }

    /// Adds records to a dataset, as its next version; that version.
    pub async fn add_records(&self, dataset: &str, records: &[NewRecord]) -> Result<u32, StoreError> {
        let mut tx = self.db.begin().await?;
        let update = Query::update()
            .table(Datasets::Table)
            .value(Datasets::Version, Expr::col(Datasets::Version).add(1))
            .and_where(Expr::col(Datasets::Id).eq(dataset))
            .returning(Query::returning().columns([Datasets::Version]))
            .to_owned();
        let missing = || StoreError::NotFound(format!("there is no dataset `{dataset}`"));
        let VersionRow { version } = tx.fetch_optional(&update).await?.ok_or_else(missing)?;
        for chunk in records.chunks(AT_ONCE) {
            let mut insert = Query::insert()
                .into_table(DatasetRecords::Table)
                .columns([
                    DatasetRecords::Id,
                    DatasetRecords::Dataset,
                    DatasetRecords::Version,
                    DatasetRecords::Input,
                    DatasetRecords::Expected,
                    DatasetRecords::Metadata,
                    DatasetRecords::Tags,
                ])
                .to_owned();
            for record in chunk {
                insert.values_panic([
                    record.id.as_str().into(),
                    dataset.into(),
                    version.into(),
                    json::text(&record.input)?.into(),
                    json::text(&record.expected)?.into(),
                    json::text(&record.metadata)?.into(),
                    json::text(&record.tags)?.into(),
                ]);
            }
            tx.execute(&insert).await?;
        }
        insert_tags(&mut tx, records).await?;
        tx.commit().await?;
        number::read(version)
    }

    /// The records of a dataset, in the order in which they were added: those that were there in a version, if one is
    /// named, and those with one of the tags, if there are any.
    pub async fn records(
        &self,
        dataset: &str,
        version: Option<u32>,
        tags: &[String],
        page: Page<'_>,
    ) -> Result<Listed<Record>, StoreError> {
        let tagged = (!tags.is_empty()).then(|| {
            let tagged = Query::select()
                .column(RecordTags::Record)
                .from(RecordTags::Table)
                .and_where(Expr::col(RecordTags::Tag).is_in(tags.iter().map(String::as_str)))
                .to_owned();
            Expr::col(DatasetRecords::Id).in_subquery(tagged)
        });
        let select = Query::select()
            .columns([
                DatasetRecords::Number,
                DatasetRecords::Id,
                DatasetRecords::Version,
                DatasetRecords::Input,
                DatasetRecords::Expected,
                DatasetRecords::Metadata,
                DatasetRecords::Tags,
            ])
            .from(DatasetRecords::Table)
            .and_where(Expr::col(DatasetRecords::Dataset).eq(dataset))
            .and_where_option(version.map(|version| Expr::col(DatasetRecords::Version).lte(i64::from(version))))
            .and_where_option(tagged)
            .and_where_option(page.key::<i64>()?.map(|number| Expr::col(DatasetRecords::Number).gt(number)))
            .order_by(DatasetRecords::Number, Order::Asc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<RecordRow> = self.db.fetch_all(&select).await?;
        let records = rows.into_iter().map(RecordRow::read).collect::<Result<Vec<_>, _>>()?;
        let Listed { items, next } = page.listed(records, |(number, _)| *number)?;
        Ok(Listed { items: items.into_iter().map(|(_, record)| record).collect(), next })
    }
}

async fn insert_tags(tx: &mut crate::db::Tx, records: &[NewRecord]) -> Result<(), StoreError> {
    let mut tags: Vec<_> =
        records.iter().flat_map(|record| record.tags.iter().map(|tag| (record.id.as_str(), tag.as_str()))).collect();
    tags.sort_unstable();
    tags.dedup();
    for chunk in tags.chunks(AT_ONCE) {
        let mut insert =
            Query::insert().into_table(RecordTags::Table).columns([RecordTags::Record, RecordTags::Tag]).to_owned();
        for (record, tag) in chunk {
            insert.values_panic([(*record).into(), (*tag).into()]);
        }
        tx.execute(&insert).await?;
    }
    Ok(())
}
