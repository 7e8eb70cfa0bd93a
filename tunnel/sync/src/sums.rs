//! Checksums: ours while bytes pass, and those that a store reports.
//!
//! Both algorithms combine: the sum of an object follows from those of its parts, in whatever order they arrived. S3 keeps
//! CRC-64/NVME of whole objects, Google Cloud Storage keeps CRC-32C.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc_fast::CrcAlgorithm::{Crc32Iscsi, Crc64Nvme};
use crc_fast::{Digest, checksum_combine};
use http::HeaderMap;
use md5::{Digest as _, Md5};
use object_store::PutPayload;
use serde::{Deserialize, Serialize};

/// The metadata under which a sum of ours is stored with an object.
pub const METADATA: &str = "warren-crc64nvme";

/// Checksums of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// The number of bytes.
    pub length: u64,
    /// CRC-32C.
    pub crc32c: u64,
    /// CRC-64/NVME.
    pub crc64: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Hasher::default().sums()
    }
}

impl Sums {
    /// The sums of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.sums()
    }

    /// The sums of these bytes followed by those of `next`.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self {
            length: self.length + next.length,
            crc32c: checksum_combine(Crc32Iscsi, self.crc32c, next.crc32c, next.length),
            crc64: checksum_combine(Crc64Nvme, self.crc64, next.crc64, next.length),
        }
    }
}

/// Computes [`Sums`].
pub struct Hasher {
    crc32c: Digest,
    crc64: Digest,
    length: u64,
}

impl std::fmt::Debug for Hasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hasher").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self { crc32c: Digest::new(Crc32Iscsi), crc64: Digest::new(Crc64Nvme), length: 0 }
    }
}

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.crc32c.update(bytes);
        self.crc64.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// The sums of all bytes so far.
    pub fn sums(&self) -> Sums {
        Sums { length: self.length, crc32c: self.crc32c.finalize(), crc64: self.crc64.finalize() }
    }
}

/// What a store reports about a whole object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// CRC-32C.
    pub crc32c: Option<u64>,
    /// CRC-64/NVME.
    pub crc64: Option<u64>,
    /// Whether its tags are the MD5 of what it was sent.
    pub md5: bool,
}

/// How an object was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verified {
    /// Against the CRC-64/NVME that the store computed.
    StoreCrc64,
    /// Against the CRC-32C that the store computed.
    StoreCrc32c,
    /// Against the MD5 that the store computed, of the object or of each of its parts.
    StoreMd5,
    /// Against the sum that an earlier upload of ours recorded.
    Metadata,
    /// It was read again.
    Reread,
    /// Against its size alone: the store has no checksum of it.
    Size,
}

impl Reported {
    /// Reads the headers of S3 (`x-amz-checksum-*`) and Google (`x-goog-hash`). A composite sum, over the sums of parts, says
    /// nothing about the bytes without the parts, and is ignored.
    pub fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut found = Self::default();
        if text("x-amz-checksum-type").is_none_or(|kind| kind.eq_ignore_ascii_case("FULL_OBJECT")) {
            found.crc32c = text("x-amz-checksum-crc32c").and_then(|text| number(text, 4));
            found.crc64 = text("x-amz-checksum-crc64nvme").and_then(|text| number(text, 8));
        }
        let hashes = headers.get_all("x-goog-hash").iter().filter_map(|value| value.to_str().ok());
        for hash in hashes.flat_map(|line| line.split(',')) {
            if let Some(value) = hash.trim().strip_prefix("crc32c=") {
                found.crc32c = number(value, 4);
            }
        }
        found
    }

    /// Compares the strongest sum there is; `None` if the store reports none.
    pub fn agrees(self, sums: Sums) -> Option<(bool, Verified)> {
        let crc64 = self.crc64.map(|sum| (sum == sums.crc64, Verified::StoreCrc64));
        let crc = crc64.or_else(|| self.crc32c.map(|sum| (sum == sums.crc32c, Verified::StoreCrc32c)));
        crc.or(self.md5.then_some((true, Verified::StoreMd5)))
    }
}

/// Whether a store's tag or receipt names the MD5 of what it was sent. It does in S3, except for objects that are encrypted with
/// keys of the customer or of KMS, and in most other stores
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html>).
pub fn names_md5(receipt: &str, sent: &PutPayload) -> bool {
    let mut hasher = Md5::new();
    sent.iter().for_each(|piece| hasher.update(piece));
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    receipt.contains(&digest)
}

/// Base64 of a big-endian number of that many bytes.
fn number(text: &str, bytes: usize) -> Option<u64> {
    let read = STANDARD.decode(text).ok().filter(|read| read.len() == bytes)?;
    Some(read.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_of_parts_combine(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
            let (one, other) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(Sums::of(one).then(Sums::of(other)), Sums::of(&bytes));
        }
    }

    /// The check values of the catalogue of parametrised CRC algorithms: "123456789".
    #[test]
    fn sums_are_those_of_the_catalogue() {
        let sums = Sums::of(b"123456789");
        assert_eq!((sums.crc32c, sums.crc64), (0xe306_9283, 0xae8b_1486_0a79_9888));
        assert_eq!(Sums::default(), Sums::of(b""));
    }

    #[test]
    fn headers_of_both_clouds_are_read() {
        let mut headers = HeaderMap::new();
        headers.append("x-goog-hash", "crc32c=4waSgw==".parse().unwrap());
        headers.append("x-goog-hash", "md5=JfnnlDI7RTiF9RgfG2JNCw==".parse().unwrap());
        let sums = Sums::of(b"123456789");
        assert_eq!(Reported::of(&headers).agrees(sums), Some((true, Verified::StoreCrc32c)));
        headers.insert("x-amz-checksum-crc64nvme", "rosUhgp5mIg=".parse().unwrap());
        assert_eq!(Reported::of(&headers).agrees(sums), Some((true, Verified::StoreCrc64)));
        assert_eq!(Reported::of(&headers).agrees(Sums::of(b"x")), Some((false, Verified::StoreCrc64)));
        let mut composite = HeaderMap::new();
        composite.insert("x-amz-checksum-type", "COMPOSITE".parse().unwrap());
        composite.insert("x-amz-checksum-crc32c", "4waSgw==".parse().unwrap());
        assert_eq!(Reported::of(&composite).agrees(sums), None);
    }
}
