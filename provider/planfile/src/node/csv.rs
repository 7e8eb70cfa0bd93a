//! CSV (RFC 4180) to the tree of an address plan: a header row, then one row for each range.
//!
//! Spreadsheets have columns of their own, so other columns than the known ones are ignored.

use super::{Entry, Key, Kind, Node, number};
use crate::InputError;
use csv::{ReaderBuilder, StringRecord};
use warren_model::Position;

/// The columns, with other names that they may have.
const COLUMNS: &[(&str, &[&str])] = &[
    ("name", &["name", "network"]),
    ("type", &["type", "kind"]),
    ("cidr", &["cidr", "range", "cidr_block"]),
    ("prefix", &["prefix", "prefix_length"]),
    ("hosts", &["hosts"]),
    ("growth", &["growth"]),
    ("pool", &["pool"]),
    ("cloud", &["cloud"]),
];

/// The columns of an address plan, in the order of the file; `None` for others.
type Header = Vec<Option<&'static str>>;

/// Whether the first line of a text is a header row of an address plan.
pub(crate) fn looks_like(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let columns: Vec<&str> =
        first.split(delimiter(text)).filter_map(|word| column(word.trim_matches(['"', ' ']))).collect();
    columns.contains(&"name") && ["cidr", "prefix", "hosts"].iter().any(|key| columns.contains(key))
}

/// Reads one table.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, Vec<InputError>> {
    let mut reader = ReaderBuilder::new()
        .delimiter(u8::try_from(delimiter(text)).unwrap_or(b','))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut table = Table { file, errors: Vec::new() };
    let mut header: Option<Header> = None;
    let (mut networks, mut pools, mut reserved) = (Vec::new(), Vec::new(), Vec::new());
    let mut subnets: Vec<(Position, String, Node)> = Vec::new();
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {}
            Err(error) => {
                let at = error.position().map_or(start(), |position| line(text, position));
                table.error(at, "not valid CSV: the row cannot be read", None);
                break;
            }
        }
        let at = record.position().map_or(start(), |position| line(text, position));
        if record.iter().all(str::is_empty) {
            continue;
        }
        let Some(columns) = &header else {
            header = Some(table.header(&record, at));
            continue;
        };
        if record.len() > columns.len() {
            let message =
                format!("the row has {} values, but the header has {} columns", record.len(), columns.len());
            table.error(at, &message, Some("put values that contain the separator in quotes"));
            continue;
        }
        if let Some((kind, name, node)) = table.row(&record, columns, at) {
            match (kind.as_str(), name.contains('/')) {
                ("network", false) => networks.push(entry(&name, at, node)),
                ("network", true) => subnets.push((at, name, node)),
                ("pool", _) => table.range(&mut pools, &name, at, &node),
                _ => table.range(&mut reserved, &name, at, &node),
            }
        }
    }
    // The row of a network may follow those of its subnets.
    subnets.sort_by_key(|(at, name, _)| (name.matches('/').count(), *at));
    for (at, name, node) in subnets {
        let (parent, own) = name.rsplit_once('/').unwrap_or(("", &name));
        match find(&mut networks, parent) {
            Some(parent) => add(parent, entry(own, at, node)),
            None => {
                let message = format!("{name:?} is a subnet of {parent:?}, which has no row");
                table.error(at, &message, Some("add a row for the network"));
            }
        }
    }
    if header.is_none() {
        table.error(start(), "the table has no header row", Some(EXAMPLE));
    }
    if !table.errors.is_empty() {
        return Err(table.errors);
    }
    let sections = [("networks", networks), ("pools", pools), ("reserved", reserved)];
    let sections = sections.into_iter().filter(|(_, entries)| !entries.is_empty());
    let sections = sections.map(|(key, entries)| {
        let at = entries.first().map_or(start(), |first| first.key_at);
        entry(key, at, Node { kind: Kind::Map(entries), at })
    });
    Ok(Node { kind: Kind::Map(sections.collect()), at: start() })
}

const EXAMPLE: &str = "the first row names the columns, for example `name,cidr`";

struct Table<'a> {
    file: &'a str,
    errors: Vec<InputError>,
}

impl Table<'_> {
    fn error(&mut self, at: Position, message: &str, hint: Option<&str>) {
        self.errors.push(InputError {
            file: self.file.to_owned(),
            at: Some(at),
            path: String::new(),
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        });
    }

    fn header(&mut self, record: &StringRecord, at: Position) -> Header {
        let columns: Header = record.iter().map(column).collect();
        for (word, _) in record.iter().zip(&columns).filter(|(_, found)| found.is_none()) {
            let near = |known: &&str| strsim::damerau_levenshtein(&word.to_lowercase(), known) == 1;
            if let Some(near) = COLUMNS.iter().map(|(key, _)| *key).find(near) {
                let hint = format!("did you mean `{near}`?");
                self.error(at, &format!("unknown column {word:?}"), Some(&hint));
            }
        }
        for (key, _) in COLUMNS {
            if columns.iter().filter(|found| **found == Some(*key)).count() > 1 {
                self.error(at, &format!("two columns are the `{key}`"), Some("remove one of them"));
            }
        }
        let has = |keys: &[&str]| columns.iter().flatten().any(|found| keys.contains(found));
        if !has(&["name"]) || !has(&["cidr", "prefix", "hosts"]) {
            let message = "the header row needs the column `name` and one of `cidr`, `prefix` and `hosts`";
            self.error(at, message, Some(EXAMPLE));
        }
        columns
    }

    /// The type, the name and the attributes of a row.
    fn row(
        &mut self,
        record: &StringRecord,
        columns: &Header,
        at: Position,
    ) -> Option<(String, String, Node)> {
        let (mut kind, mut name, mut entries) = ("network".to_owned(), String::new(), Vec::new());
        for (value, key) in record.iter().zip(columns) {
            let (Some(key), false) = (key, value.is_empty()) else { continue };
            let text = || Node { kind: Kind::Text(value.to_owned()), at };
            match *key {
                "name" => value.clone_into(&mut name),
                "type" => kind = value.to_lowercase(),
                "prefix" => entries.push(entry(key, at, numeric(value.trim_start_matches('/'), at))),
                "hosts" | "growth" => entries.push(entry(key, at, numeric(value, at))),
                "pool" if value.contains([' ', ';']) => {
                    let items = value.split([' ', ';']).filter(|word| !word.is_empty());
                    let items = items.map(|word| Node { kind: Kind::Text(word.to_owned()), at }).collect();
                    entries.push(entry("pools", at, Node { kind: Kind::List(items), at }));
                }
                _ => entries.push(entry(key, at, text())),
            }
        }
        if name.is_empty() {
            self.error(at, "the row has no `name`", None);
            return None;
        }
        if !["network", "subnet", "pool", "reserved"].contains(&kind.as_str()) {
            let hint = "use `network`, `subnet`, `pool` or `reserved`";
            self.error(at, &format!("unknown type {kind:?}"), Some(hint));
            return None;
        }
        let kind = if kind == "subnet" { "network".to_owned() } else { kind };
        Some((kind, name, Node { kind: Kind::Map(entries), at }))
    }

    /// Adds a range to the list of a pool or of a reserved name.
    fn range(&mut self, lists: &mut Vec<Entry>, name: &str, at: Position, row: &Node) {
        let Some(cidr) = row.get("cidr") else {
            self.error(
                at,
                &format!("{name:?} has no `cidr`"),
                Some("pools and reserved ranges need a `cidr`"),
            );
            return;
        };
        match lists.iter_mut().find(|entry| entry.key == name).map(|entry| &mut entry.value.kind) {
            Some(Kind::List(items)) => items.push(cidr.clone()),
            _ => lists.push(entry(name, at, Node { kind: Kind::List(vec![cidr.clone()]), at })),
        }
    }
}

fn column(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase().replace([' ', '-'], "_");
    COLUMNS.iter().find(|(_, names)| names.contains(&word.as_str())).map(|(key, _)| *key)
}

/// Spreadsheets also separate values with semicolons or tabs.
fn delimiter(text: &str) -> char {
    let header =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let count = |separator: char| header.matches(separator).count();
    [',', ';', '\t'].into_iter().rev().max_by_key(|separator| count(*separator)).unwrap_or(',')
}

fn numeric(value: &str, at: Position) -> Node {
    let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
    let kind = if is_number { Kind::Number(value.to_owned()) } else { Kind::Text(value.to_owned()) };
    Node { kind, at }
}

/// Adds a subnet to the entries of its network.
fn add(entries: &mut Vec<Entry>, subnet: Entry) {
    let at = subnet.key_at;
    match entries.iter_mut().find(|entry| entry.key == "subnets").map(|entry| &mut entry.value.kind) {
        Some(Kind::Map(subnets)) => subnets.push(subnet),
        _ => entries.push(entry("subnets", at, Node { kind: Kind::Map(vec![subnet]), at })),
    }
}

/// The entries of the network or subnet at a path such as `hub/public`.
fn find<'a>(networks: &'a mut [Entry], path: &str) -> Option<&'a mut Vec<Entry>> {
    let (first, rest) = path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let Kind::Map(entries) = &mut networks.iter_mut().find(|entry| entry.key == first)?.value.kind else {
        return None;
    };
    match rest {
        None => Some(entries),
        Some(rest) => {
            let subnets = entries.iter_mut().find(|entry| entry.key == "subnets")?;
            let Kind::Map(subnets) = &mut subnets.value.kind else { return None };
            find(subnets, rest)
        }
    }
}

fn entry(key: &str, at: Position, value: Node) -> Entry {
    Entry { key: Key::from(key), key_at: at, value }
}

fn start() -> Position {
    Position { line: 1, column: 1 }
}

/// The line of a row. The parser reports where it began to look, which may be a comment or an empty line.
fn line(text: &str, position: &csv::Position) -> Position {
    let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let rest = text.get(size(position.byte())..).unwrap_or_default();
    let skipped = rest.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count();
    Position { line: number(size(position.line()) + skipped), column: 1 }
}
