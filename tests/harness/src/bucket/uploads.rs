//! Uploads in parts.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use http::StatusCode;

use super::objects::{Answer, Stored, checksum, corrupted, kept, reply, tag};
use super::{Asked, refused};
use crate::front::reply::{Rejection, Reply, xml};
use crate::xml::Element;

/// The least size of a part, except for the last.
const LEAST: usize = 5 << 20;
const MOST: u32 = 10_000;

/// An upload. It stays for a while when it has ended, so that a repeated request has the same answer.
#[derive(Debug)]
pub(super) struct Upload {
    bucket: String,
    key: String,
    headers: Vec<(String, String)>,
    parts: BTreeMap<u32, Bytes>,
    ended: Option<Ended>,
}

#[derive(Debug)]
enum Ended {
    /// With the tag of the answer.
    Completed(String),
    Aborted,
}

fn unknown() -> Rejection {
    refused(StatusCode::NOT_FOUND, "NoSuchUpload", "The requested upload was not found.")
}

fn invalid(code: &str, message: &str) -> Rejection {
    refused(StatusCode::BAD_REQUEST, code, message)
}

fn document(name: &str, children: Vec<Element>) -> Reply {
    let mut root = Element::new(name);
    root.attributes.push(("xmlns".to_owned(), "http://s3.amazonaws.com/doc/2006-03-01/".to_owned()));
    root.children = children;
    xml(&root)
}

impl Stored {
    pub(super) fn pending(&self) -> usize {
        self.uploads.values().filter(|upload| upload.ended.is_none()).count()
    }

    pub(super) fn forget(&mut self) {
        for upload in self.uploads.values_mut() {
            // Its ID is never used again.
            upload.key.clear();
            upload.parts.clear();
            upload.ended = Some(Ended::Aborted);
        }
    }

    pub(super) fn create_upload(&mut self, asked: &Asked) -> Reply {
        let id = format!("double-upload-{:08}", self.uploads.len() + 1);
        let (bucket, key) = (asked.bucket.clone(), asked.key.clone());
        let children = vec![
            Element::leaf("Bucket", &bucket),
            Element::leaf("Key", &key),
            Element::leaf("UploadId", &id),
        ];
        let upload = Upload { bucket, key, headers: kept(asked), parts: BTreeMap::new(), ended: None };
        self.uploads.insert(id, upload);
        document("InitiateMultipartUploadResult", children)
    }

    /// The upload of a request.
    fn upload(&mut self, asked: &Asked) -> Result<&mut Upload, Rejection> {
        let upload = self.uploads.get_mut(asked.query.get("uploadId"));
        upload.filter(|upload| upload.bucket == asked.bucket && upload.key == asked.key).ok_or_else(unknown)
    }

    pub(super) fn upload_part(&mut self, asked: &Asked, corrupt: bool) -> Answer {
        let number = asked.query.get("partNumber").parse::<u32>().ok();
        let number = number.filter(|number| (1..=MOST).contains(number));
        let number =
            number.ok_or_else(|| invalid("InvalidArgument", "Part numbers are from 1 to 10,000."))?;
        let upload = self.upload(asked)?;
        if upload.ended.is_some() {
            return Err(unknown());
        }
        let body = if corrupt { corrupted(&asked.body) } else { asked.body.clone() };
        let headers = [("etag", format!("\"{}\"", tag(&body))), ("x-goog-hash", checksum(&body))];
        upload.parts.insert(number, body);
        Ok(reply(StatusCode::OK, &headers, Bytes::new()))
    }

    pub(super) fn complete(&mut self, asked: &Asked) -> Answer {
        let upload = self.upload(asked)?;
        let tag = match &upload.ended {
            Some(Ended::Completed(tag)) => tag.clone(),
            Some(Ended::Aborted) => return Err(unknown()),
            None => {
                let bytes = assembled(upload, &asked.body)?;
                let count = upload.parts.len();
                // Another tag than that of the object, which the reference calls opaque.
                let tag = format!("{}-{count}", tag(&bytes));
                upload.ended = Some(Ended::Completed(tag.clone()));
                upload.parts.clear();
                let headers = upload.headers.clone();
                self.insert(&asked.bucket, &asked.key, bytes, headers, Some(count));
                tag
            }
        };
        let children = vec![
            Element::leaf("Location", &format!("http://storage.googleapis.com{}", asked.path)),
            Element::leaf("Bucket", &asked.bucket),
            Element::leaf("Key", &asked.key),
            Element::leaf("ETag", &format!("\"{tag}\"")),
        ];
        Ok(document("CompleteMultipartUploadResult", children))
    }

    pub(super) fn abort(&mut self, asked: &Asked) -> Answer {
        let upload = self.upload(asked)?;
        if !matches!(upload.ended, Some(Ended::Completed(_))) {
            upload.parts.clear();
            upload.ended = Some(Ended::Aborted);
        }
        Ok(reply(StatusCode::NO_CONTENT, &[], Bytes::new()))
    }
}

/// The bytes of the parts that the request lists.
fn assembled(upload: &Upload, body: &[u8]) -> Result<Bytes, Rejection> {
    let root = Element::parse(&String::from_utf8_lossy(body)).ok();
    let root = root.filter(|root| root.name == "CompleteMultipartUpload" && !root.children.is_empty());
    let root =
        root.ok_or_else(|| invalid("MalformedCompleteMultipartUploadRequest", "no parts are listed"))?;
    let mut bytes = BytesMut::new();
    let mut before = 0;
    for (at, part) in root.children.iter().enumerate() {
        let number = part.text_at("PartNumber").parse::<u32>().unwrap_or_default();
        if part.name != "Part" || number <= before {
            return Err(invalid("InvalidPartOrder", "The list of parts was not in ascending order."));
        }
        before = number;
        let stored = upload.parts.get(&number);
        let stored = stored.filter(|stored| part.text_at("ETag").trim_matches('"') == tag(stored));
        let stored =
            stored.ok_or_else(|| invalid("InvalidPart", "A part was not found, or has another tag."))?;
        if stored.len() < LEAST && at + 1 < root.children.len() {
            return Err(invalid("EntityTooSmall", "A part is smaller than 5 MiB."));
        }
        bytes.extend_from_slice(stored);
    }
    Ok(bytes.freeze())
}
