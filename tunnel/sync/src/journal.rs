//! The parts of one object that are done: JSON lines, appended. Pure.
//!
//! The first line describes the object, every further line is one completed part. The last line may be torn by a kill. A
//! journal of another version of the object, or of other parts, is void.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::parts::Parts;
use crate::plan::Stamp;
use crate::sums::Sums;

/// What the journal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The name of the object.
    pub name: String,
    /// The version of the source.
    pub source: Stamp,
    /// The size of a part.
    pub part: u64,
    /// The multipart upload that collects the parts; absent where they go to a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<String>,
}

/// A completed part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Its number, counted from 0.
    pub n: u32,
    /// Its checksums.
    pub sums: Sums,
    /// The store's receipt for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Whether the receipt names the MD5 of the part. It is not computed for stores that report another checksum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub md5: bool,
}

/// A journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// What it is about.
    pub header: Header,
    /// The completed parts, by number.
    pub done: BTreeMap<u32, Done>,
}

impl Journal {
    /// Reads a journal. Lines that are not valid, such as a torn last one, are left out; `None` without a valid header.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let header: Header = serde_json::from_str(lines.next()?).ok()?;
        let parts = Parts::exactly(header.source.size, header.part);
        let done = lines.filter_map(|line| serde_json::from_str::<Done>(line).ok());
        let fits = |done: &Done| {
            let range = parts.range(done.n);
            done.n < parts.count() && done.sums.length == range.end - range.start
        };
        let done = done.filter(fits).map(|done| (done.n, done)).collect();
        Some(Self { header, done })
    }

    /// Whether it is about this version of the object; its parts may have another size than preferred now.
    pub fn is_about(&self, name: &str, source: &Stamp) -> bool {
        self.header.name == name && self.header.source.is(source)
    }
}

/// One line of a journal.
pub fn line(value: &impl Serialize) -> String {
    // Maps with text keys and numbers are always valid JSON.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_loses_only_its_part() {
        let source = Stamp { size: 25, modified: 7, etag: Some("\"x\"".into()) };
        let header = Header { name: "a/b".into(), source: source.clone(), part: 10, upload: None };
        let done =
            |n: u32, length| Done { n, sums: Sums { length, ..Sums::default() }, receipt: None, md5: false };
        let text =
            [line(&header), line(&done(2, 5)), line(&done(0, 10)), line(&done(1, 9)), line(&done(9, 10))];
        let whole = Journal::parse(&text.concat()).unwrap();
        assert!(whole.is_about("a/b", &source) && !whole.is_about("a/c", &source));
        assert!(!whole.is_about("a/b", &Stamp { etag: Some("\"y\"".into()), ..source }));
        assert_eq!(whole.done.keys().copied().collect::<Vec<_>>(), [0, 2]);
        for cut in text[0].len()..text.concat().len() {
            let torn = Journal::parse(&text.concat()[..cut]).unwrap();
            assert!(torn.done.iter().all(|(n, part)| whole.done[n] == *part), "{cut}");
        }
        assert_eq!(Journal::parse(&text[0][..20]), None);
        assert_eq!(Journal::parse(""), None);
    }
}
