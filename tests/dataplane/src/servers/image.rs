//! A small image in OCI's format.

use sha2::{Digest as _, Sha256};

/// The manifest's media type.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// An image: a manifest, a configuration, and one layer.
#[derive(Clone, Debug)]
pub struct Image {
    pub(super) manifest: Vec<u8>,
    pub(super) blobs: Vec<(String, Vec<u8>)>,
}

impl Image {
    /// An image with one file.
    pub fn with_file(name: &str, text: &[u8]) -> Image {
        let layer = tar(name, text);
        let config = format!(
            "{{\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":{{}},\"rootfs\":{{\"type\":\"layers\",\"diff_ids\":[\"{}\"]}}}}",
            digest(&layer)
        )
        .into_bytes();
        let described = |kind: &str, bytes: &[u8]| {
            format!(
                "{{\"mediaType\":\"application/vnd.oci.image.{kind}\",\"digest\":\"{}\",\"size\":{}}}",
                digest(bytes),
                bytes.len()
            )
        };
        let manifest = format!(
            "{{\"schemaVersion\":2,\"mediaType\":\"{MANIFEST}\",\"config\":{},\"layers\":[{}]}}",
            described("config.v1+json", &config),
            described("layer.v1.tar", &layer)
        );
        let blobs = [config, layer].map(|bytes| (digest(&bytes), bytes)).into();
        Image { manifest: manifest.into_bytes(), blobs }
    }

    /// Its manifest, which names all other parts by their digests.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// An archive with one file, in the format of POSIX 1003.1 (ustar).
fn tar(name: &str, text: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    let mut put = |at: usize, field: &str| header[at..at + field.len()].copy_from_slice(field.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", text.len()));
    put(136, "00000000000\0");
    // The checksum is computed with spaces in its place.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\0");
    put(263, "00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend(text);
    archive.resize(archive.len().next_multiple_of(512) + 1024, 0);
    archive
}
