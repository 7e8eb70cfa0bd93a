//! Objects with their generations: reads, writes, deletions, and lists.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io::Read as _;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use time::OffsetDateTime;

use super::uploads::Upload;
use super::{Asked, dates, refused};
use crate::front::reply::{Rejection, Reply, xml};
use crate::xml::Element;

pub(super) type Answer = Result<Reply, Rejection>;

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) generation: u64,
    pub(super) bytes: Bytes,
    /// Without quotes. It follows from the bytes, unless the object was uploaded in parts.
    tag: String,
    /// The number of parts, if it was uploaded in parts.
    components: Option<usize>,
    /// What the writer sent: type, encoding, metadata.
    headers: Vec<(String, String)>,
    modified: OffsetDateTime,
}

impl Object {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Everything that is stored.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// By bucket and key.
    objects: BTreeMap<(String, String), Object>,
    /// By ID.
    pub(super) uploads: BTreeMap<String, Upload>,
    generation: u64,
}

/// The entity tag of bytes. The service has their MD5; this is another number of 128 bits.
pub(super) fn tag(bytes: &[u8]) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, bytes).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}

/// The checksum in the form of `x-goog-hash`.
pub(super) fn checksum(bytes: &[u8]) -> String {
    format!("crc32c={}", STANDARD.encode(crc32c::crc32c(bytes).to_be_bytes()))
}

/// One bit differs, if there is one.
pub(super) fn corrupted(bytes: &Bytes) -> Bytes {
    let mut changed = bytes.to_vec();
    if let Some(byte) = changed.first_mut() {
        *byte ^= 1;
    }
    changed.into()
}

/// An answer with headers.
pub(super) fn reply(status: StatusCode, headers: &[(&str, String)], body: Bytes) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::try_from(value)) {
            reply.headers_mut().append(name, value);
        }
    }
    reply
}

fn missing() -> Rejection {
    refused(StatusCode::NOT_FOUND, "NoSuchKey", "The specified key does not exist.")
}

fn unmet() -> Rejection {
    let message = "At least one of the pre-conditions you specified did not hold.";
    refused(StatusCode::PRECONDITION_FAILED, "PreconditionFailed", message)
}

/// The bytes of a header `Range`, `None` if it is not one that is served.
fn range(text: &str, length: u64) -> Option<Range<u64>> {
    let (start, end) = text.strip_prefix("bytes=")?.split_once('-')?;
    let start = start.parse().ok()?;
    let end = if end.is_empty() { length } else { end.parse::<u64>().ok()? + 1 };
    Some(start..end.min(length))
}

fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).ok()?;
    Some(plain)
}

impl Stored {
    pub(super) fn find(&self, bucket: &str, key: &str) -> Option<&Object> {
        self.objects.get(&(bucket.to_owned(), key.to_owned()))
    }

    /// Objects of a bucket with a prefix, from the first key that is greater than `after`.
    pub(super) fn below<'a>(
        &'a self,
        bucket: &'a str,
        prefix: &'a str,
        after: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Object)> {
        let from = (bucket.to_owned(), prefix.max(after).to_owned());
        let own = self.objects.range(from..).take_while(move |((of, _), _)| of == bucket);
        let named = own.map(|((_, key), object)| (key.as_str(), object));
        named
            .take_while(move |(key, _)| key.starts_with(prefix))
            .filter(move |(key, _)| after.is_empty() || *key > after)
    }

    /// Stores an object; `components` is the number of its parts.
    pub(super) fn insert(
        &mut self,
        bucket: &str,
        key: &str,
        bytes: Bytes,
        headers: Vec<(String, String)>,
        components: Option<usize>,
    ) -> &Object {
        self.generation += 1;
        let tag = match components {
            Some(_) => format!("-{}", STANDARD.encode(self.generation.to_be_bytes())),
            None => tag(&bytes),
        };
        let (generation, modified) = (self.generation, OffsetDateTime::now_utc());
        let object = Object { generation, bytes, tag, components, headers, modified };
        let at = self.objects.entry((bucket.to_owned(), key.to_owned()));
        at.insert_entry(object).into_mut()
    }

    pub(super) fn get(&self, asked: &Asked, corrupt: bool) -> Answer {
        let object = self.find(&asked.bucket, &asked.key).ok_or_else(missing)?;
        let generation = asked.query.get("generation");
        if !generation.is_empty() && generation != object.generation.to_string() {
            return Err(missing());
        }
        let quoted = format!("\"{}\"", object.tag);
        let matches = asked.header("if-match").is_none_or(|tag| tag == quoted || tag == "*");
        if !matches || asked.condition(Some(object)) == Some(false) {
            return Err(unmet());
        }
        let encoding = object.header("content-encoding");
        let length = object.bytes.len() as u64;
        let mut headers = vec![
            ("etag", quoted),
            ("x-goog-generation", object.generation.to_string()),
            ("x-goog-metageneration", "1".to_owned()),
            ("x-goog-hash", checksum(&object.bytes)),
            ("x-goog-stored-content-length", length.to_string()),
            ("x-goog-stored-content-encoding", encoding.unwrap_or("identity").to_owned()),
            ("last-modified", dates::header(object.modified)),
            ("accept-ranges", "bytes".to_owned()),
        ];
        headers.extend(object.components.map(|parts| ("x-goog-component-count", parts.to_string())));
        let own = object.headers.iter().filter(|(name, _)| name != "content-encoding");
        headers.extend(own.map(|(name, value)| (name.as_str(), value.clone())));

        // Whoever does not accept gzip gets the content, and no part of it.
        let accepts = asked.header("accept-encoding").is_some_and(|accepts| accepts.contains("gzip"));
        if encoding == Some("gzip") && !accepts {
            let plain = gunzip(&object.bytes).unwrap_or_default();
            headers.push(("transfer-encoding", "chunked".to_owned()));
            let body = if asked.action == "headObject" { Bytes::new() } else { plain.into() };
            return Ok(reply(StatusCode::OK, &headers, body));
        }
        headers.extend(encoding.map(|encoding| ("content-encoding", encoding.to_owned())));
        if asked.action == "headObject" {
            headers.push(("content-length", length.to_string()));
            return Ok(reply(StatusCode::OK, &headers, Bytes::new()));
        }
        let part = asked.header("range").and_then(|text| range(text, length));
        let (status, mut body) = match part {
            Some(part) if part.start >= part.end => {
                let message = "The requested range cannot be satisfied.";
                return Err(refused(StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange", message));
            }
            Some(part) => {
                headers.push(("content-range", format!("bytes {}-{}/{length}", part.start, part.end - 1)));
                let slice = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
                (StatusCode::PARTIAL_CONTENT, object.bytes.slice(slice(part.start)..slice(part.end)))
            }
            None => (StatusCode::OK, object.bytes.clone()),
        };
        if corrupt {
            body = corrupted(&body);
        }
        headers.push(("content-length", body.len().to_string()));
        Ok(reply(status, &headers, body))
    }

    pub(super) fn put(&mut self, asked: &Asked, corrupt: bool) -> Answer {
        if asked.condition(self.find(&asked.bucket, &asked.key)) == Some(false) {
            return Err(unmet());
        }
        let body = if corrupt { corrupted(&asked.body) } else { asked.body.clone() };
        let object = self.insert(&asked.bucket, &asked.key, body, kept(asked), None);
        let headers = [
            ("etag", format!("\"{}\"", object.tag)),
            ("x-goog-generation", object.generation.to_string()),
            ("x-goog-metageneration", "1".to_owned()),
            ("x-goog-hash", checksum(&object.bytes)),
            ("x-goog-stored-content-length", object.bytes.len().to_string()),
        ];
        Ok(reply(StatusCode::OK, &headers, Bytes::new()))
    }

    pub(super) fn delete(&mut self, asked: &Asked) -> Answer {
        let found = self.find(&asked.bucket, &asked.key);
        if found.is_none() {
            return Err(missing());
        }
        if asked.condition(found) == Some(false) {
            return Err(unmet());
        }
        self.objects.remove(&(asked.bucket.clone(), asked.key.clone()));
        Ok(reply(StatusCode::NO_CONTENT, &[], Bytes::new()))
    }

    pub(super) fn list(&self, asked: &Asked, page: usize) -> Answer {
        let prefix = asked.query.get("prefix");
        let page = match asked.query.get("max-keys") {
            "" => page,
            text => text
                .parse::<usize>()
                .map(|most| most.min(page))
                .map_err(|_| refused(StatusCode::BAD_REQUEST, "InvalidArgument", "max-keys is no number"))?,
        };
        let token = asked.query.get("continuation-token");
        let after = match STANDARD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(after) if !token.is_empty() => after,
            Some(_) => asked.query.get("start-after").to_owned(),
            None => {
                let message = "The continuation token is not one of a list.";
                return Err(refused(StatusCode::BAD_REQUEST, "InvalidArgument", message));
            }
        };
        let mut found = self.below(&asked.bucket, prefix, &after).peekable();
        let mut root = Element::new("ListBucketResult");
        root.attributes.push(("xmlns".to_owned(), "http://doc.s3.amazonaws.com/2006-03-01".to_owned()));
        root.children = vec![Element::leaf("Name", &asked.bucket), Element::leaf("Prefix", prefix)];
        let mut last = String::new();
        let mut contents = Vec::new();
        while contents.len() < page {
            let Some((key, object)) = found.next() else { break };
            key.clone_into(&mut last);
            let mut content = Element::new("Contents");
            content.children = vec![
                Element::leaf("Key", key),
                Element::leaf("Generation", &object.generation.to_string()),
                Element::leaf("MetaGeneration", "1"),
                Element::leaf("LastModified", &dates::listed(object.modified)),
                Element::leaf("ETag", &format!("\"{}\"", object.tag)),
                Element::leaf("Size", &object.bytes.len().to_string()),
            ];
            contents.push(content);
        }
        let more = found.peek().is_some();
        root.children.push(Element::leaf("KeyCount", &contents.len().to_string()));
        root.children.push(Element::leaf("IsTruncated", if more { "true" } else { "false" }));
        if more {
            root.children.push(Element::leaf("NextContinuationToken", &STANDARD.encode(last)));
        }
        root.children.extend(contents);
        Ok(xml(&root))
    }
}

/// The headers of a write that reads return.
pub(super) fn kept(asked: &Asked) -> Vec<(String, String)> {
    let names = asked.headers.keys().map(HeaderName::as_str);
    let names = names.filter(|name| {
        matches!(*name, "content-type" | "content-encoding" | "cache-control")
            || name.starts_with("x-goog-meta-")
    });
    names.filter_map(|name| Some((name.to_owned(), asked.header(name)?.to_owned()))).collect()
}
