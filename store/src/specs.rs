//! Texts of specs, each version once: by its id and number for people, by its digest for us.

use jiff::Timestamp;
use scenario::hex;
use scenario::spec::{Bundle, BundleError};
use sea_query::{Expr, ExprTrait as _, Func, OnConflict, Order, Query, SelectStatement};
use sha2::{Digest as _, Sha256};

use crate::Store;
use crate::counters::count;
use crate::db::{Tx, row};
use crate::error::StoreError;
use crate::number;
use crate::page::{Listed, Page};
use crate::tables::{Blobs, SpecFiles, SpecVersions, Specs};
use crate::tags::write_tags;
use crate::time::{millis, timestamp};

/// Transactions that rely on a spec that nothing uses yet share this lock; one that removes such specs holds it
/// alone.
pub(crate) const SPECS: &str = "specs";

/// The content of a spec: its text, and the files beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecContent {
    /// The text of the spec.
    pub text: String,
    /// The files beside it, sorted by path.
    pub files: Vec<SpecFile>,
}

impl SpecContent {
    /// The files as the reader of specs wants them; `None` when the spec stands alone.
    pub fn bundle(&self) -> Result<Option<Bundle>, BundleError> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let sizes = self.files.iter().map(|file| (file.path.clone(), file.content.len() as u64));
        let content = |path: &str| self.files.iter().find(|file| file.path == path).map(|file| file.content.clone());
        Ok(Some(Bundle::new(sizes)?.with_texts(content)))
    }
}

/// A file beside a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFile {
    /// Its path below the spec's folder.
    pub path: String,
    /// True for executable files.
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

/// A version of a spec, whose it is, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSpecVersion {
    /// Whose.
    pub owner: String,
    /// The version.
    pub version: SpecVersion,
    /// When it was kept.
    pub created_at: Timestamp,
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
        hex(hasher.finalize())
    }
}

row! {
    /// That a spec is kept.
    DigestRow { digest: String }
}

row! {
    /// The text of a spec.
    TextRow { text: String }
}

row! {
    /// The number of files beside a spec.
    FilesRow { files: i64 }
}

row! {
    /// A file beside a spec.
    FileRow { path: String, executable: bool, content: Vec<u8> }
}

row! {
    /// A version of an owner's spec.
    StoredRow { owner: String, spec_id: String, version: i64, digest: String, created_at: i64 }
}

impl StoredRow {
    fn read(self) -> Result<StoredSpecVersion, StoreError> {
        let version = SpecVersion { spec_id: self.spec_id, version: number::read(self.version)?, digest: self.digest };
        Ok(StoredSpecVersion { owner: self.owner, version, created_at: timestamp(self.created_at)? })
    }
}

impl Store {
    /// Keeps what an owner's spec says: a new version of its id, unless the newest one says the same.
    pub async fn keep_spec(
        &self,
        owner: &str,
        spec_id: &str,
        content: &SpecContent,
        now: Timestamp,
    ) -> Result<SpecVersion, StoreError> {
        let digest = content.digest();
        let mut tx = self.db.begin().await?;
        tx.share(SPECS).await?;
        // Two who keep a version of one spec get two numbers.
        count(&mut tx, "spec", owner, spec_id, 0).await?;
        let newest = tx.fetch_optional::<StoredRow>(&newest(owner, spec_id)).await?;
        if let Some(row) = newest.filter(|row| row.digest == digest) {
            return Ok(row.read()?.version);
        }
        keep_content(&mut tx, &digest, content, now).await?;
        let version = count(&mut tx, "spec", owner, spec_id, 1).await?;
        let insert = Query::insert()
            .into_table(SpecVersions::Table)
            .columns([
                SpecVersions::Owner,
                SpecVersions::SpecId,
                SpecVersions::Version,
                SpecVersions::Digest,
                SpecVersions::CreatedAt,
            ])
            .values_panic([owner.into(), spec_id.into(), version.into(), digest.as_str().into(), millis(now).into()])
            .to_owned();
        tx.execute(&insert).await?;
        tx.commit().await?;
        Ok(SpecVersion { spec_id: spec_id.to_owned(), version: number::read(version)?, digest })
    }

    /// The newest version of an owner's spec.
    pub async fn spec_version(&self, owner: &str, spec_id: &str) -> Result<Option<StoredSpecVersion>, StoreError> {
        self.db.fetch_optional::<StoredRow>(&newest(owner, spec_id)).await?.map(StoredRow::read).transpose()
    }

    /// The newest version of each spec, by owner and id; of one owner only, if one is named.
    pub async fn spec_versions(
        &self,
        owner: Option<&str>,
        page: Page<'_>,
    ) -> Result<Listed<StoredSpecVersion>, StoreError> {
        const NEWER: &str = "newer";
        let newest = Query::select()
            .expr(Func::max(Expr::col((NEWER, SpecVersions::Version))))
            .from_as(SpecVersions::Table, NEWER)
            .and_where(Expr::col((NEWER, SpecVersions::Owner)).equals((SpecVersions::Table, SpecVersions::Owner)))
            .and_where(Expr::col((NEWER, SpecVersions::SpecId)).equals((SpecVersions::Table, SpecVersions::SpecId)))
            .to_owned();
        let after = page.key::<(String, String)>()?.map(|(owner, spec_id)| {
            Expr::tuple([Expr::col(SpecVersions::Owner), Expr::col(SpecVersions::SpecId)])
                .gt(Expr::tuple([owner.into(), spec_id.into()]))
        });
        let select = select_versions()
            .and_where_option(owner.map(|owner| Expr::col(SpecVersions::Owner).eq(owner)))
            .and_where_option(after)
            .and_where(Expr::col(SpecVersions::Version).eq(Expr::SubQuery(None, Box::new(newest.into()))))
            .order_by(SpecVersions::Owner, Order::Asc)
            .order_by(SpecVersions::SpecId, Order::Asc)
            .limit(page.limit())
            .to_owned();
        let rows: Vec<StoredRow> = self.db.fetch_all(&select).await?;
        let versions = rows.into_iter().map(StoredRow::read).collect::<Result<_, _>>()?;
        page.listed(versions, |one: &StoredSpecVersion| (one.owner.clone(), one.version.spec_id.clone()))
    }

    /// All versions of an owner's spec, newest first; at most so many.
    pub async fn versions_of(
        &self,
        owner: &str,
        spec_id: &str,
        most: u64,
    ) -> Result<Vec<StoredSpecVersion>, StoreError> {
        let rows: Vec<StoredRow> = self.db.fetch_all(newest(owner, spec_id).limit(number::limit(most))).await?;
        rows.into_iter().map(StoredRow::read).collect()
    }

    /// Forgets all versions of an owner's spec; whether there were any. Experiments keep what they were submitted with.
    pub async fn remove_spec(&self, owner: &str, spec_id: &str) -> Result<bool, StoreError> {
        let delete = Query::delete()
            .from_table(SpecVersions::Table)
            .and_where(Expr::col(SpecVersions::Owner).eq(owner))
            .and_where(Expr::col(SpecVersions::SpecId).eq(spec_id))
            .to_owned();
        Ok(self.db.execute(&delete).await? > 0)
    }

    /// True when there are files beside the spec with this digest.
    pub async fn has_files(&self, digest: &str) -> Result<bool, StoreError> {
        let files = Query::select()
            .expr_as(Expr::col(SpecFiles::Path).count(), "files")
            .from(SpecFiles::Table)
            .and_where(Expr::col(SpecFiles::Spec).eq(digest))
            .to_owned();
        Ok(self.db.fetch_optional::<FilesRow>(&files).await?.is_some_and(|row| row.files > 0))
    }

    /// Reads the content of the spec with this digest.
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

/// The newest version of an owner's spec.
fn newest(owner: &str, spec_id: &str) -> SelectStatement {
    select_versions()
        .and_where(Expr::col(SpecVersions::Owner).eq(owner))
        .and_where(Expr::col(SpecVersions::SpecId).eq(spec_id))
        .order_by(SpecVersions::Version, Order::Desc)
        .limit(1)
        .to_owned()
}

fn select_versions() -> SelectStatement {
    Query::select()
        .columns([
            SpecVersions::Owner,
            SpecVersions::SpecId,
            SpecVersions::Version,
            SpecVersions::Digest,
            SpecVersions::CreatedAt,
        ])
        .from(SpecVersions::Table)
        .to_owned()
}

/// Refuses a digest of which nothing is kept: it may have been removed since it was kept, because nothing used it yet. One
/// that is kept stays until the end of these changes.
pub(crate) async fn require_spec(tx: &mut Tx, digest: &str) -> Result<(), StoreError> {
    tx.share(SPECS).await?;
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
    write_tags(tx, digest, content).await?;
    let mut files: Vec<_> = content.files.iter().map(|file| (hex(Sha256::digest(&file.content)), file)).collect();
    // Everybody writes contents in the same order, so that no two wait for each other.
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (blob, file) in files {
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
