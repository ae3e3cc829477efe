//! Blobs: one per content, checked, in folders that stay small.

use bytes::Bytes;
use factum_store::{BlobError, Blobs, Digest};

use crate::support::{block_on, scratch};

#[test]
fn a_blob_is_its_digest() {
    block_on(async {
        let dir = scratch();
        let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
        let digest = blobs.put(Bytes::from_static(b"hello")).await.unwrap();
        assert_eq!(digest.to_string(), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert!("2CF24D".parse::<Digest>().is_err());
        assert_eq!(blobs.put(Bytes::from_static(b"hello")).await.unwrap(), digest);
        assert_eq!(blobs.get(digest).await.unwrap(), "hello");
        assert_eq!(blobs.get_range(digest, 1..3).await.unwrap(), "el");
        assert_eq!(blobs.get_range(digest, 3..99).await.unwrap(), "lo");
        assert_eq!(blobs.get_range(digest, 7..9).await.unwrap(), "");
        assert_eq!(blobs.len(digest).await.unwrap(), 5);
        let path = dir.path().join("blobs/2c/f2").join(digest.to_string());
        std::fs::write(&path, b"hellx").unwrap();
        assert!(matches!(blobs.get(digest).await, Err(BlobError::Damaged { .. })));
        std::fs::write(&path, b"hel").unwrap();
        blobs.put(Bytes::from_static(b"hello")).await.unwrap();
        assert_eq!(blobs.get(digest).await.unwrap(), "hello", "a blob of another length is replaced");
        assert!(matches!(blobs.get(Digest::of(b"never")).await, Err(BlobError::Unknown { .. })));
        let empty = blobs.put(Bytes::new()).await.unwrap();
        assert_eq!(blobs.get(empty).await.unwrap(), "");
    });
}
