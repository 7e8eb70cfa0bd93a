//! When a checkpoint is complete, and which are surplus. Pure: times and listings are arguments.
//!
//! A checkpoint is a file or folder directly below the watched folder.
//!
//! ```text
//! temporary name ─────────────────────────────► ignored (renamed into place later)
//! marker file is required and there ──────────► complete
//! shards or index file missing, file too short ► incomplete
//! unchanged for the quiet period ─────────────► complete        else ► unsettled
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sums::Hasher;

/// End of the name of a manifest: the object that is written last and makes a checkpoint complete.
pub const MANIFEST: &str = ".warren-complete.json";
/// End of the name of an index of shards, as `transformers` and `safetensors` write it last.
const INDEX: &str = ".index.json";

/// A file of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Its name below the watched folder.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// When it was modified, in nanoseconds since 1970.
    #[serde(skip)]
    pub modified: i64,
}

/// A file or folder that may be a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unit {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// Its files, in the order of their names.
    pub pieces: Vec<Piece>,
    /// Names of files that index files list.
    pub listed: BTreeSet<String>,
    /// Files that are shorter than their own header says.
    pub short: BTreeSet<String>,
    /// The time of the manifest in it, if it was downloaded.
    pub manifest: Option<i64>,
}

/// How completeness is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// A file that is written last. Folders without it are incomplete; files have no marker.
    pub marker: Option<String>,
    /// How long nothing may change in a checkpoint without a marker.
    pub quiet: Duration,
}

/// The state of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It can be uploaded.
    Complete,
    /// It is complete if nothing changes for this time.
    Unsettled(Duration),
    /// Something is missing.
    Incomplete(String),
}

/// Whether programs use such names until something is complete: `torch.save` to a temporary name, `tmp-checkpoint-5` of
/// `transformers`, hidden files, and editors' and downloaders' suffixes.
pub fn is_temporary(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let ends = [".tmp", ".temp", ".part", ".partial", ".incomplete", ".crdownload", ".lock", "~"];
    lower.starts_with('.')
        || lower.starts_with("tmp-")
        || lower.starts_with("tmp_")
        || ends.iter().any(|end| lower.ends_with(end))
        || lower.ends_with(MANIFEST)
}

impl Unit {
    /// When the newest file was modified.
    pub fn modified(&self) -> i64 {
        self.pieces.iter().map(|piece| piece.modified).max().unwrap_or(i64::MIN)
    }

    /// All bytes.
    pub fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.size).sum()
    }

    /// A number that changes when a file is added, removed, or written.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = Hasher::default();
        for piece in &self.pieces {
            hasher.update(piece.name.as_bytes());
            hasher.update(&[0]);
            hasher.update(&piece.size.to_le_bytes());
            hasher.update(&piece.modified.to_le_bytes());
        }
        hasher.sums().crc64
    }

    /// The name of its manifest at the destination.
    pub fn manifest_name(&self) -> String {
        if self.folder { format!("{}/{MANIFEST}", self.name) } else { format!("{}{MANIFEST}", self.name) }
    }

    /// The state, if nothing has changed for `unchanged`.
    pub fn state(&self, rules: &Rules, unchanged: Duration) -> State {
        if self.pieces.is_empty() {
            return State::Incomplete("it has no files".to_owned());
        }
        if let Some(short) = self.short.first() {
            return State::Incomplete(format!("{short} is shorter than its header says"));
        }
        let names: BTreeSet<&str> = self.pieces.iter().map(|piece| piece.name.as_str()).collect();
        if let Some(temporary) =
            names.iter().find(|name| name.rsplit('/').next().is_some_and(is_temporary_piece))
        {
            return State::Incomplete(format!("{temporary} has a temporary name"));
        }
        if let Some(missing) = self.listed.iter().find(|name| !names.contains(name.as_str())) {
            return State::Incomplete(format!("the index lists {missing}, which is missing"));
        }
        let shard = |name: &&str| if self.folder { missing_shard(name, &names) } else { None };
        if let Some(missing) = names.iter().find_map(shard) {
            return State::Incomplete(format!("{missing} is missing"));
        }
        if let (Some(marker), true) = (&rules.marker, self.folder) {
            return if names.contains(format!("{}/{marker}", self.name).as_str()) {
                State::Complete
            } else {
                State::Incomplete(format!("it has no {marker}"))
            };
        }
        match rules.quiet.checked_sub(unchanged).filter(|left| !left.is_zero()) {
            None => State::Complete,
            Some(left) => State::Unsettled(left),
        }
    }
}

/// Inside a folder, hidden files are common and complete.
fn is_temporary_piece(name: &str) -> bool {
    !name.starts_with('.') && is_temporary(name)
}

/// Another shard, or the index, that `NAME-00001-of-00003.safetensors` implies and that does not exist.
fn missing_shard(name: &str, names: &BTreeSet<&str>) -> Option<String> {
    let (stem, end) = name.rsplit_once('.')?;
    let (stem, total) = stem.rsplit_once("-of-")?;
    let (stem, number) = stem.rsplit_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(total) || !digits(number) {
        return None;
    }
    let (width, count) = (number.len(), total.parse::<u32>().ok().filter(|count| *count <= 100_000)?);
    // The first shard speaks for all; without it, itself is what is missing.
    let first = format!("{stem}-{:0width$}-of-{total}.{end}", 1);
    if name != first {
        return (!names.contains(first.as_str())).then_some(first);
    }
    let shards = (1..=count).map(|n| format!("{stem}-{n:0width$}-of-{total}.{end}"));
    let index = matches!(end, "safetensors" | "bin").then(|| format!("{stem}.{end}{INDEX}"));
    shards.chain(index).find(|name| !names.contains(name.as_str()))
}

/// Whether a file is an index of shards.
pub fn is_index(name: &str) -> bool {
    name.ends_with(INDEX)
}

/// The file names in an index of shards: the values of its `weight_map`.
pub fn listed(index: &str) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Shards {
        weight_map: std::collections::BTreeMap<String, String>,
    }
    let read: Result<Shards, _> = serde_json::from_str(index);
    read.map(|shards| shards.weight_map.into_values().collect()).unwrap_or_default()
}

/// The length of a safetensors file by its header: 8 bytes of length, the header, then the tensors
/// (<https://github.com/huggingface/safetensors#format>).
pub fn safetensors_length(header: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Tensor {
        data_offsets: (u64, u64),
    }
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let ends = all
        .into_iter()
        .filter(|(name, _)| name != "__metadata__")
        .map(|(_, tensor)| serde_json::from_value::<Tensor>(tensor).map(|tensor| tensor.data_offsets.1));
    let end = ends.collect::<Result<Vec<u64>, _>>().ok()?.into_iter().max().unwrap_or(0);
    Some(8 + header.len() as u64 + end)
}

/// What the manifest says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this format.
    pub version: u32,
    /// The name of the checkpoint.
    pub name: String,
    /// Its fingerprint where it was written.
    pub fingerprint: u64,
    /// When its newest file was written, in nanoseconds since 1970.
    pub modified: i64,
    /// Its files.
    pub files: Vec<Piece>,
}

impl Manifest {
    /// That of a unit.
    pub fn of(unit: &Unit) -> Self {
        Self {
            version: 1,
            name: unit.name.clone(),
            fingerprint: unit.fingerprint(),
            modified: unit.modified(),
            files: unit.pieces.clone(),
        }
    }

    /// Whether it describes this unit: the version that was uploaded, or one that was downloaded and not changed since.
    pub fn describes(&self, unit: &Unit) -> bool {
        let same = |(one, other): (&Piece, &Piece)| one.name == other.name && one.size == other.size;
        let equal = self.files.len() == unit.pieces.len() && self.files.iter().zip(&unit.pieces).all(same);
        let downloaded = unit.manifest.is_some_and(|at| unit.modified() <= at);
        self.fingerprint == unit.fingerprint() || (equal && downloaded)
    }
}

/// A complete checkpoint at the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// When its newest file was written, in nanoseconds since 1970: the order of training, not that of uploads.
    pub written: i64,
}

/// Complete checkpoints beyond the newest `keep`, the oldest first.
pub fn surplus(mut stored: Vec<Stored>, keep: usize) -> Vec<Stored> {
    stored.sort_by(|one, other| other.written.cmp(&one.written).then_with(|| other.name.cmp(&one.name)));
    let mut surplus = stored.split_off(keep.max(1).min(stored.len()));
    surplus.reverse();
    surplus
}

/// Whether a unit written at `written` would be surplus at once, so that it need not be uploaded.
pub fn is_surplus(name: &str, written: i64, stored: &[Stored], keep: usize) -> bool {
    let newer = |other: &&Stored| other.name != name && other.written > written;
    stored.iter().filter(newer).count() >= keep.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(names: &[&str]) -> Unit {
        let pieces = names.iter().map(|name| Piece { name: format!("c/{name}"), size: 1, modified: 5 });
        Unit { name: "c".into(), folder: true, pieces: pieces.collect(), ..Unit::default() }
    }

    fn rules(marker: Option<&str>) -> Rules {
        Rules { marker: marker.map(str::to_owned), quiet: Duration::from_secs(10) }
    }

    fn state(names: &[&str], marker: Option<&str>, seconds: u64) -> State {
        unit(names).state(&rules(marker), Duration::from_secs(seconds))
    }

    #[test]
    fn without_a_marker_nothing_may_change_for_a_while() {
        assert_eq!(state(&["a.pt"], None, 4), State::Unsettled(Duration::from_secs(6)));
        assert_eq!(state(&["a.pt"], None, 10), State::Complete);
        assert!(matches!(state(&[], None, 99), State::Incomplete(_)));
        assert!(matches!(state(&["a.pt", "b.pt.tmp"], None, 99), State::Incomplete(_)));
        assert_eq!(state(&[".metadata", "__0_0.distcp"], None, 99), State::Complete);
    }

    #[test]
    fn with_a_marker_it_decides() {
        assert_eq!(state(&["a.pt"], Some("done"), 99), State::Incomplete("it has no done".into()));
        assert_eq!(state(&["a.pt", "done"], Some("done"), 0), State::Complete);
    }

    #[test]
    fn all_shards_and_their_index_are_needed() {
        let one = "model-00001-of-00002.safetensors";
        let two = "model-00002-of-00002.safetensors";
        let index = "model.safetensors.index.json";
        for (names, missing) in [(vec![one], two), (vec![two], one), (vec![one, two], index)] {
            assert_eq!(state(&names, None, 99), State::Incomplete(format!("c/{missing} is missing")));
        }
        assert_eq!(state(&[one, two, index], None, 99), State::Complete);
        let mut listed = unit(&["a.bin", "a.bin.index.json"]);
        listed.listed = ["c/a.bin".to_owned(), "c/b.bin".to_owned()].into();
        assert!(matches!(listed.state(&rules(None), Duration::MAX), State::Incomplete(_)));
        assert_eq!(super::listed(r#"{"metadata":{},"weight_map":{"x":"a","y":"b","z":"a"}}"#).len(), 2);
    }

    #[test]
    fn the_header_of_safetensors_gives_the_length() {
        let header = br#"{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}"#;
        assert_eq!(safetensors_length(header), Some(8 + header.len() as u64 + 11));
        assert_eq!(safetensors_length(b"{}"), Some(10));
        assert_eq!(safetensors_length(b"{\"x\":1}"), None);
    }

    #[test]
    fn temporary_names_are_those_of_writers() {
        for name in ["tmp-checkpoint-5", ".hidden", "a.pt.tmp", "x.part", "a.warren-complete.json"] {
            assert!(is_temporary(name), "{name}");
        }
        assert!(!is_temporary("checkpoint-5") && !is_temporary("model.pt"));
    }

    #[test]
    fn the_newest_stay() {
        let stored = |name: &str, written| Stored { name: name.into(), written };
        let all = vec![stored("a", 1), stored("c", 3), stored("b", 2), stored("d", 4)];
        let names = |keep| surplus(all.clone(), keep).into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(2), ["a", "b"]);
        assert_eq!(names(9), Vec::<String>::new());
        assert_eq!(names(0), ["a", "b", "c"]);
        assert!(
            is_surplus("new", 2, &all, 2) && !is_surplus("new", 3, &all, 2) && !is_surplus("a", 1, &all, 4)
        );
    }

    #[test]
    fn a_manifest_knows_its_unit_after_a_download() {
        let written = unit(&["a", "b"]);
        let manifest = Manifest::of(&written);
        assert!(manifest.describes(&written));
        let mut back = written;
        back.pieces[0].modified = 70;
        assert!(!manifest.describes(&back));
        back.manifest = Some(70);
        assert!(manifest.describes(&back));
        back.pieces[1].size = 2;
        assert!(!manifest.describes(&back));
    }
}
