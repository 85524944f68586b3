//! Files inside the sandbox.

use doorkeeper::protocol::{CHUNK, Entry, EntryKind, Event, Request, Stream, WriteFile};

use super::connection::Call;
use super::{Door, DoorError};

/// Entries below a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The entries, sorted within their folder.
    pub entries: Vec<Entry>,
    /// True when there was more than was asked for.
    pub incomplete: bool,
}

impl Door {
    /// The content of a file, up to `limit` bytes.
    pub async fn read(&self, root: &str, path: &[u8], limit: u64) -> Result<Vec<u8>, DoorError> {
        let mut content = Vec::new();
        self.read_into(root, path, limit, |bytes| content.extend_from_slice(bytes)).await?;
        Ok(content)
    }

    /// Passes the content of a file on piece by piece, up to `limit` bytes.
    pub async fn read_into(
        &self,
        root: &str,
        path: &[u8],
        limit: u64,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), DoorError> {
        let (root, path) = (root.into(), path.to_vec());
        let mut call = self.connection.call(|id| Request::Read { id, root, path, limit })?;
        loop {
            let event = call.answer().await?.event;
            let credit = event.credit();
            match event {
                Event::Data { bytes, .. } => {
                    call.credit(Stream::Out, credit);
                    take(&bytes);
                }
                Event::Done { .. } => return Ok(()),
                event => return Err(DoorError::unexpected(event)),
            }
        }
    }

    /// Returns the target of a link, as it is written.
    pub async fn read_link(&self, root: &str, path: &[u8]) -> Result<Vec<u8>, DoorError> {
        let (root, path) = (root.into(), path.to_vec());
        let mut call = self.connection.call(|id| Request::ReadLink { id, root, path })?;
        let target = match call.answer().await?.event {
            Event::Data { bytes, .. } => bytes,
            event => return Err(DoorError::unexpected(event)),
        };
        call.answer().await.map(|_| target)
    }

    /// Writes a file, a folder or a link; long content travels in pieces.
    pub async fn write(&self, file: WriteFile) -> Result<(), DoorError> {
        let WriteFile { content, kind, .. } = &file;
        if *kind != EntryKind::File || content.len() <= CHUNK {
            return self.done(|id| Request::Write { id, file }).await;
        }
        for (index, piece) in content.chunks(CHUNK).enumerate() {
            let part = WriteFile {
                content: piece.to_vec(),
                append: file.append || index > 0,
                path: file.path.clone(),
                ..file
            };
            self.done(|id| Request::Write { id, file: part }).await?;
        }
        Ok(())
    }

    /// Writes a file below a folder, without following a link out of it; long content travels in pieces.
    pub async fn put(&self, root: &str, file: WriteFile) -> Result<(), DoorError> {
        let pieces = file.content.chunks(CHUNK).map(<[u8]>::to_vec);
        let pieces = if file.content.is_empty() { vec![Vec::new()] } else { pieces.collect() };
        for (index, content) in pieces.into_iter().enumerate() {
            let part = WriteFile { content, append: file.append || index > 0, path: file.path.clone(), ..file };
            self.done(|id| Request::Put { id, root: root.into(), file: part }).await?;
        }
        Ok(())
    }

    /// Removes a file or a folder below a folder, as a user and without following a link out of it.
    pub async fn remove(&self, root: &str, path: &[u8], (uid, gid): (u32, u32)) -> Result<(), DoorError> {
        let (root, path) = (root.into(), path.to_vec());
        self.done(|id| Request::Remove { id, root, path, uid, gid }).await
    }

    /// Sets the permissions of a file or folder below a folder, without following a link out of it.
    pub async fn set_mode(&self, root: &str, path: &[u8], mode: u32) -> Result<(), DoorError> {
        let (root, path) = (root.into(), path.to_vec());
        self.done(|id| Request::SetMode { id, root, path, mode }).await
    }

    /// Lists the entries below a path, at most `most` of them.
    pub async fn walk(&self, root: &str, path: &[u8], most: u64, recursive: bool) -> Result<Listing, DoorError> {
        let (root, path) = (root.into(), path.to_vec());
        let call = self.connection.call(|id| Request::Walk { id, root, path, most, recursive })?;
        collect(call).await
    }
}

async fn collect(mut call: Call) -> Result<Listing, DoorError> {
    let mut listing = Listing::default();
    loop {
        let event = call.answer().await?.event;
        let credit = event.credit();
        match event {
            Event::Entries { entries, .. } => {
                call.credit(Stream::Out, credit);
                listing.entries.extend(entries);
            }
            Event::Listed { listed, .. } => {
                listing.incomplete = listed.incomplete;
                return Ok(listing);
            }
            event => return Err(DoorError::unexpected(event)),
        }
    }
}
