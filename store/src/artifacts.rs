//! Artifacts: what is too large for a row, in a folder of this machine or in S3.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, WriteMultipart};
use tokio::io::AsyncReadExt as _;

use crate::error::StoreError;
use crate::time::timestamp;

/// The part of a file that is held in memory at once.
const PART: usize = 8 * 1024 * 1024;
/// The number of parts in flight at once.
const PARTS: usize = 4;

/// Where artifacts are. Clones are the same place.
#[derive(Debug, Clone)]
pub struct Artifacts {
    objects: Arc<dyn ObjectStore>,
    /// The name of the place, for people.
    place: String,
    /// The folder, when it is one of this machine.
    folder: Option<PathBuf>,
}

/// An artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was kept.
    pub modified: Timestamp,
}

impl Artifacts {
    /// The artifacts in a folder, which is made when it is not there.
    pub fn folder(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::files("make", folder))?;
        let unusable = |error: Error| StoreError::Unusable { path: folder.to_owned(), reason: error.to_string() };
        let objects = LocalFileSystem::new_with_prefix(folder).map_err(unusable)?;
        let objects = objects.with_automatic_cleanup(true).with_fsync(true);
        let place = folder.display().to_string();
        Ok(Self { objects: Arc::new(objects), place, folder: Some(folder.to_owned()) })
    }

    /// The artifacts at a URL: `file:` and the path of a folder, or `s3://` with a bucket and the beginning of all names in
    /// it. How to reach S3 is said by the variables whose names begin with `AWS_`.
    pub fn open(url: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, StoreError> {
        if let Some(folder) = url.strip_prefix("file:") {
            return Self::folder(Path::new(folder.strip_prefix("//").unwrap_or(folder)));
        }
        match url.strip_prefix("s3://") {
            Some(place) => Self::s3(place, variables),
            None => Err(StoreError::Invalid(format!(
                "`{url}` is no place for artifacts: give file:/a/folder or s3://bucket/beginning"
            ))),
        }
    }

    fn s3(place: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, StoreError> {
        let invalid = |error: Error| StoreError::Invalid(format!("artifacts in s3://{place}: {error}"));
        let (bucket, beginning) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() {
            let problem = "artifacts in `s3://`: there is no bucket; give s3://bucket/beginning";
            return Err(StoreError::Invalid(problem.to_owned()));
        }
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
        for (name, value) in variables {
            let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else { continue };
            if name.starts_with("AWS_") {
                // Who names a server without TLS means it.
                let plain = matches!(key, AmazonS3ConfigKey::Endpoint) && value.starts_with("http://");
                builder = builder.with_config(key, value);
                builder = if plain { builder.with_allow_http(true) } else { builder };
            }
        }
        // Whoever was first has chosen it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let objects = builder.build().map_err(invalid)?;
        let beginning = Key::parse(beginning).map_err(|error| invalid(error.into()))?;
        let objects: Arc<dyn ObjectStore> = match beginning.as_ref() {
            "" => Arc::new(objects),
            _ => Arc::new(PrefixStore::new(objects, beginning)),
        };
        Ok(Self { objects, place: format!("s3://{}", place.trim_end_matches('/')), folder: None })
    }

    /// Where an artifact is, in words.
    #[must_use]
    pub fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.place)
    }

    /// The whole place, in words.
    #[must_use]
    pub fn whole_place(&self) -> &str {
        &self.place
    }

    /// True when artifacts are in a folder beside this file.
    pub(crate) fn is_beside(&self, file: &Path) -> bool {
        let parent = |path: &Path| fs::canonicalize(path).ok()?.parent().map(Path::to_owned);
        self.folder.as_deref().and_then(parent).is_some_and(|place| parent(file) == Some(place))
    }

    /// Keeps an artifact, instead of the one with its name. It is there whole or not at all.
    pub async fn put(&self, key: &str, content: impl Into<Bytes>) -> Result<(), StoreError> {
        let content: Bytes = content.into();
        self.objects.put(&key_of(key)?, content.into()).await.map_err(self.failed("write", key))?;
        Ok(())
    }

    /// Keeps an artifact unless there is one with its name.
    pub(crate) async fn put_first(&self, key: &str, content: impl Into<Bytes>) -> Result<(), StoreError> {
        let (name, content): (Key, Bytes) = (key_of(key)?, content.into());
        match self.objects.put_opts(&name, content.clone().into(), PutMode::Create.into()).await {
            Ok(_) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
            // Not every server with the protocol of S3 knows conditions, nor every file system the links that do it there.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => self.put(key, content).await,
            Err(_) if self.folder.is_some() => self.put(key, content).await,
            Err(error) => Err(self.failed("write", key)(error)),
        }
    }

    /// Keeps the content of a file as an artifact, however large it is.
    pub async fn put_file(&self, key: &str, path: &Path) -> Result<(), StoreError> {
        let mut file = tokio::fs::File::open(path).await.map_err(StoreError::files("read", path))?;
        let first = read_part(&mut file, path).await?;
        if first.len() < PART {
            return self.put(key, first).await;
        }
        let upload = self.objects.put_multipart(&key_of(key)?).await.map_err(self.failed("write", key))?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART);
        upload.put(first);
        loop {
            match read_part(&mut file, path).await {
                Ok(part) if part.is_empty() => break,
                Ok(part) => {
                    upload.wait_for_capacity(PARTS).await.map_err(self.failed("write", key))?;
                    upload.put(part);
                }
                Err(error) => {
                    // What was sent so far is nothing; when it cannot even be given up, the first error counts.
                    let _ = upload.abort().await;
                    return Err(error);
                }
            }
        }
        upload.finish().await.map_err(self.failed("write", key))?;
        Ok(())
    }

    /// The content of an artifact.
    pub async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let result = self.objects.get(&key_of(key)?).await.map_err(self.failed("read", key))?;
        result.bytes().await.map_err(self.failed("read", key))
    }

    /// The content of an artifact; `None` when it is not there.
    pub(crate) async fn find(&self, key: &str) -> Result<Option<Bytes>, StoreError> {
        match self.objects.get(&key_of(key)?).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(self.failed("read", key))?)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("read", key)(error)),
        }
    }

    /// A part of the content of an artifact.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.objects.get_range(&key_of(key)?, range).await.map_err(self.failed("read", key))
    }

    /// The content of an artifact piece by piece, or a part of it.
    pub async fn stream(
        &self,
        key: &str,
        range: Option<Range<u64>>,
    ) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
        let options = GetOptions { range: range.map(Into::into), ..GetOptions::default() };
        let result = self.objects.get_opts(&key_of(key)?, options).await.map_err(self.failed("read", key))?;
        let (artifacts, key) = (self.clone(), key.to_owned());
        Ok(result.into_stream().map_err(move |error| artifacts.failed("read", &key)(error)).boxed())
    }

    /// Returns the size of an artifact in bytes; `None` when it is missing.
    pub async fn size(&self, key: &str) -> Result<Option<u64>, StoreError> {
        match self.objects.head(&key_of(key)?).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("find", key)(error)),
        }
    }

    /// Removes an artifact, if it is there.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        match self.objects.delete(&key_of(key)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("remove", key)(error)),
        }
    }

    /// All artifacts whose names begin with this and a slash.
    pub async fn list(&self, beginning: &str) -> Result<Vec<Artifact>, StoreError> {
        let found: Vec<ObjectMeta> = match self.objects.list(Some(&key_of(beginning)?)).try_collect().await {
            Err(Error::NotFound { .. }) => Vec::new(),
            found => found.map_err(self.failed("list", beginning))?,
        };
        let artifact = |found: ObjectMeta| {
            let modified = timestamp(found.last_modified.timestamp_millis())?;
            Ok(Artifact { key: found.location.into(), size: found.size, modified })
        };
        found.into_iter().map(artifact).collect()
    }

    /// Gives an artifact another name, instead of the one that has it.
    pub(crate) async fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.objects.rename(&key_of(from)?, &key_of(to)?).await.map_err(self.failed("write", to))
    }

    /// When anything whose name begins with this and a slash was written last; `None` when nothing is there.
    pub(crate) async fn last_written(&self, beginning: &str) -> Result<Option<Timestamp>, StoreError> {
        let written = self.list(beginning).await?.into_iter().map(|artifact| artifact.modified).max();
        match &self.folder {
            // A folder can be empty, or hold a file that is being written and is not listed yet.
            Some(folder) => Ok(written.max(last_change(&folder.join(key_of(beginning)?.as_ref())).await)),
            None => Ok(written),
        }
    }

    /// The first parts of all names.
    pub(crate) async fn first_parts(&self) -> Result<Vec<String>, StoreError> {
        let listed = self.objects.list_with_delimiter(None).await.map_err(self.failed("list", ""))?;
        Ok(listed.common_prefixes.into_iter().map(Into::into).collect())
    }

    /// Removes all artifacts whose names begin with this and a slash, and what was left unfinished there.
    pub(crate) async fn delete_all(&self, beginning: &str) -> Result<(), StoreError> {
        let key = key_of(beginning)?;
        if let Some(folder) = &self.folder {
            let folder = folder.join(key.as_ref());
            return match tokio::fs::remove_dir_all(&folder).await {
                // Somebody else removes it at the same time.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                done => done.map_err(StoreError::files("remove", folder)),
            };
        }
        for artifact in self.list(beginning).await? {
            self.delete(&artifact.key).await?;
        }
        Ok(())
    }

    /// Names what was done with an artifact.
    fn failed(&self, operation: &'static str, key: &str) -> impl Fn(Error) -> StoreError + use<> {
        let key = self.place(key);
        move |error| {
            let cause = match error {
                Error::NotFound { .. } => "it is not there".to_owned(),
                error => error.to_string(),
            };
            StoreError::Artifact { operation, key: key.clone(), cause }
        }
    }
}

/// A name, if it is one.
fn key_of(key: &str) -> Result<Key, StoreError> {
    match Key::parse(key) {
        Ok(parsed) if parsed.as_ref() == key && !key.is_empty() => Ok(parsed),
        Ok(_) => Err(StoreError::Invalid(format!("`{key}` is no name of an artifact"))),
        Err(error) => Err(StoreError::Invalid(format!("`{key}` is no name of an artifact: {error}"))),
    }
}

/// When a folder, or anything in it, was changed last.
async fn last_change(folder: &Path) -> Option<Timestamp> {
    let mut last = modified(&tokio::fs::metadata(folder).await.ok()?);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(mut entries) = tokio::fs::read_dir(&folder).await else { continue };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let Ok(metadata) = entry.metadata().await else { continue };
            last = last.max(modified(&metadata));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    last
}

fn modified(metadata: &fs::Metadata) -> Option<Timestamp> {
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

/// The next part of a file: less than a whole one only at its end.
async fn read_part(file: &mut tokio::fs::File, path: &Path) -> Result<Bytes, StoreError> {
    let mut part = Vec::new();
    let most = u64::try_from(PART).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut part).await.map_err(StoreError::files("read", path))?;
    Ok(part.into())
}
