//! What specs say, each version once: by its id and number for people, by its digest for us.

use jiff::Timestamp;
use sea_query::{Expr, ExprTrait as _, OnConflict, Order, Query};
use sha2::{Digest as _, Sha256};

use crate::Store;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::number;
use crate::tables::{Blobs, SpecFiles, SpecVersions, Specs};
use crate::time::millis;

/// What a spec says: its text, and the files beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecContent {
    /// The text of the spec.
    pub text: String,
    /// The files beside it, sorted by path.
    pub files: Vec<SpecFile>,
}

/// A file beside a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFile {
    /// Its path below the spec's folder.
    pub path: String,
    /// Whether it may be executed.
    pub executable: bool,
    /// Its content.
    pub content: Vec<u8>,
}

/// A version of a spec that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecVersion {
    /// The spec's id.
    pub spec_id: String,
    /// Which version, from 1.
    pub version: u32,
    /// The digest of what it says.
    pub digest: String,
}

impl SpecContent {
    /// The digest of the text and of all files, in hex.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        let mut part = |bytes: &[u8]| {
            // The length goes first, so that no two contents look alike.
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        part(self.text.as_bytes());
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|file| &file.path);
        for file in files {
            part(file.path.as_bytes());
            part(&[u8::from(file.executable)]);
            part(&file.content);
        }
        hex(&hasher.finalize())
    }
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

row! {
    /// A version.
    VersionRow { version: i64 }
}

row! {
    /// That a spec is kept.
    DigestRow { digest: String }
}

row! {
    /// What a spec says.
    TextRow { text: String }
}

row! {
    /// A file beside a spec.
    FileRow { path: String, executable: bool, content: Vec<u8> }
}

impl Store {
    /// Keeps what a spec says: a new version of its id, unless the same was kept before.
    pub async fn keep_spec(
        &self,
        spec_id: &str,
        content: &SpecContent,
        now: Timestamp,
    ) -> Result<SpecVersion, StoreError> {
        let digest = content.digest();
        let mut tx = self.db.begin().await?;
        let same = Query::select()
            .column(SpecVersions::Version)
            .from(SpecVersions::Table)
            .and_where(Expr::col(SpecVersions::SpecId).eq(spec_id))
            .and_where(Expr::col(SpecVersions::Digest).eq(digest.as_str()))
            .to_owned();
        if let Some(VersionRow { version }) = tx.fetch_optional(&same).await? {
            return Ok(SpecVersion { spec_id: spec_id.to_owned(), version: number::read(version)?, digest });
        }
        keep_content(&mut tx, &digest, content, now).await?;
        let last = Query::select()
            .column(SpecVersions::Version)
            .from(SpecVersions::Table)
            .and_where(Expr::col(SpecVersions::SpecId).eq(spec_id))
            .order_by(SpecVersions::Version, Order::Desc)
            .limit(1)
            .to_owned();
        let version = tx.fetch_optional::<VersionRow>(&last).await?.map_or(1, |row| row.version + 1);
        let insert = Query::insert()
            .into_table(SpecVersions::Table)
            .columns([SpecVersions::SpecId, SpecVersions::Version, SpecVersions::Digest, SpecVersions::CreatedAt])
            .values_panic([spec_id.into(), version.into(), digest.as_str().into(), millis(now).into()])
            .to_owned();
        tx.execute(&insert).await?;
        tx.commit().await?;
        Ok(SpecVersion { spec_id: spec_id.to_owned(), version: number::read(version)?, digest })
    }

    /// What the spec with this digest says.
    pub async fn spec(&self, digest: &str) -> Result<SpecContent, StoreError> {
        let text = Query::select()
            .column(Specs::Text)
            .from(Specs::Table)
            .and_where(Expr::col(Specs::Digest).eq(digest))
            .to_owned();
        let missing = || StoreError::NotFound(format!("no spec with the digest `{digest}` is kept"));
        let mut snapshot = self.db.snapshot().await?;
        let TextRow { text } = snapshot.fetch_optional(&text).await?.ok_or_else(missing)?;
        let files = Query::select()
            .columns([(SpecFiles::Table, SpecFiles::Path), (SpecFiles::Table, SpecFiles::Executable)])
            .column((Blobs::Table, Blobs::Content))
            .from(SpecFiles::Table)
            .inner_join(
                Blobs::Table,
                Expr::col((Blobs::Table, Blobs::Digest)).equals((SpecFiles::Table, SpecFiles::Blob)),
            )
            .and_where(Expr::col((SpecFiles::Table, SpecFiles::Spec)).eq(digest))
            .order_by((SpecFiles::Table, SpecFiles::Path), Order::Asc)
            .to_owned();
        let files: Vec<FileRow> = snapshot.fetch_all(&files).await?;
        let file = |FileRow { path, executable, content }| SpecFile { path, executable, content };
        Ok(SpecContent { text, files: files.into_iter().map(file).collect() })
    }
}

/// Refuses a digest of which nothing is kept: it may have been removed since it was kept, because nothing used it yet.
pub(crate) async fn require_spec(tx: &mut Tx, digest: &str) -> Result<(), StoreError> {
    let select = Query::select()
        .column(Specs::Digest)
        .from(Specs::Table)
        .and_where(Expr::col(Specs::Digest).eq(digest))
        .to_owned();
    match tx.fetch_optional::<DigestRow>(&select).await? {
        Some(row) if row.digest == digest => Ok(()),
        _ => Err(StoreError::NotFound(format!(
            "the spec with the digest `{digest}` is not kept any more; submit it again"
        ))),
    }
}

/// Keeps a text and its files; what is there already stays.
async fn keep_content(tx: &mut Tx, digest: &str, content: &SpecContent, now: Timestamp) -> Result<(), StoreError> {
    let insert = Query::insert()
        .into_table(Specs::Table)
        .columns([Specs::Digest, Specs::Text, Specs::CreatedAt])
        .values_panic([digest.into(), content.text.as_str().into(), millis(now).into()])
        .on_conflict(OnConflict::column(Specs::Digest).do_nothing().to_owned())
        .to_owned();
    if tx.execute(&insert).await? == 0 {
        return Ok(());
    }
    for file in &content.files {
        let blob = hex(&Sha256::digest(&file.content));
        let insert = Query::insert()
            .into_table(Blobs::Table)
            .columns([Blobs::Digest, Blobs::Content])
            .values_panic([blob.as_str().into(), file.content.clone().into()])
            .on_conflict(OnConflict::column(Blobs::Digest).do_nothing().to_owned())
            .to_owned();
        tx.execute(&insert).await?;
        let insert = Query::insert()
            .into_table(SpecFiles::Table)
            .columns([SpecFiles::Spec, SpecFiles::Path, SpecFiles::Executable, SpecFiles::Blob])
            .values_panic([digest.into(), file.path.as_str().into(), file.executable.into(), blob.into()])
            .to_owned();
        tx.execute(&insert).await?;
    }
    Ok(())
}
