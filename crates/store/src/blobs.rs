//! Large output by digest, beside the log.
//!
//! It owns where a blob lies and that it is durable before its digest is given out. It does not know who refers to a
//! blob and never deletes one. Behind it is `object_store`: a directory here, a bucket later.
//!
//! Invariant: a blob's name is the SHA-256 of its bytes. Storing the same bytes twice is one blob; reading a whole blob
//! checks it against its name.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest as _, Sha256};

use crate::disk;

/// The name of a blob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Two levels of folders, so that no folder grows without bound.
    fn location(self) -> Location {
        let hex = self.to_string();
        Location::from(format!("{}/{}/{hex}", &hex[..2], &hex[2..4]))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The text is not 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lowercase hexadecimal digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NotADigest),
        };
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(NotADigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum BlobError {
    #[error("there is no blob {digest}")]
    Unknown { digest: Digest },
    #[error("blob {digest} is damaged: its bytes have another digest; restore it from a backup")]
    Damaged { digest: Digest },
    #[error("the blob store failed: {reason}; look at the disk and try again")]
    Io { reason: Arc<str> },
}

/// All blobs of one store.
#[derive(Clone, Debug)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
}

impl Blobs {
    /// Opens the folder for blobs, creating it where there is none.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, BlobError> {
        let failed = |reason: String| BlobError::Io { reason: reason.into() };
        disk::make_folder(dir.as_ref()).map_err(|error| failed(error.to_string()))?;
        let store = LocalFileSystem::new_with_prefix(dir).map_err(|error| failed(error.to_string()))?;
        // Without this a rename could outlive the bytes it names.
        Ok(Self { store: Arc::new(store.with_fsync(true)) })
    }

    /// Stores bytes durably and says what they are called.
    pub async fn put(&self, bytes: Bytes) -> Result<Digest, BlobError> {
        let digest = Digest::of(&bytes);
        let location = digest.location();
        // The same length is the same blob. Another one is left from an accident and is replaced.
        if self.store.head(&location).await.is_ok_and(|meta| meta.size == bytes.len() as u64) {
            return Ok(digest);
        }
        self.store.put(&location, bytes.into()).await.map_err(|error| failed(digest, error))?;
        Ok(digest)
    }

    /// The whole blob, checked.
    pub async fn get(&self, digest: Digest) -> Result<Bytes, BlobError> {
        let found = self.store.get(&digest.location()).await.map_err(|error| failed(digest, error))?;
        let bytes = found.bytes().await.map_err(|error| failed(digest, error))?;
        if Digest::of(&bytes) == digest { Ok(bytes) } else { Err(BlobError::Damaged { digest }) }
    }

    /// Part of a blob, as far as it reaches. Not checked: only the whole has a digest.
    pub async fn get_range(&self, digest: Digest, range: Range<u64>) -> Result<Bytes, BlobError> {
        let len = self.len(digest).await?;
        let range = range.start.min(len)..range.end.min(len);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        self.store.get_range(&digest.location(), range).await.map_err(|error| failed(digest, error))
    }

    pub async fn len(&self, digest: Digest) -> Result<u64, BlobError> {
        let meta = self.store.head(&digest.location()).await.map_err(|error| failed(digest, error))?;
        Ok(meta.size)
    }
}

fn failed(digest: Digest, error: object_store::Error) -> BlobError {
    match error {
        object_store::Error::NotFound { .. } => BlobError::Unknown { digest },
        other => BlobError::Io { reason: other.to_string().into() },
    }
}
