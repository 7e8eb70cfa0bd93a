//! Checks the order of the folders: each file imports only from its own folder and from folders below it.

use std::{collections::BTreeMap, fs, path::Path};

/// The folders from the top down. Folders of one row do not import each other.
const TUNNEL: &[&[&str]] = &[&["commands"], &["cli"], &["agent", "gateway"], &["enrolment"], &["runtime"]];

/// The same inside `runtime`, where a file counts as a folder.
const RUNTIME: &[&[&str]] = &[
    &["datapath_runner", "lookups"],
    &["control"],
    &["cipher", "metrics", "net", "netstack", "queues", "sandbox", "uapi"],
    &["datapath", "host", "http1", "listen", "log", "random", "status"],
    &["problem", "supervise"],
];

#[test]
fn folders_import_only_from_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    check(&root, "crate", TUNNEL);
    check(&root.join("runtime"), "crate::runtime", RUNTIME);
}

fn check(folder: &Path, prefix: &str, rows: &[&[&str]]) {
    let rank: BTreeMap<&str, usize> =
        rows.iter().enumerate().flat_map(|(rank, row)| row.iter().map(move |name| (*name, rank))).collect();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if ["lib", "main", "mod", "layers", "snapshots"].contains(&name.as_str()) {
            continue;
        }
        let own =
            *rank.get(name.as_str()).unwrap_or_else(|| panic!("{name} is missing in the order of {prefix}"));
        for (file, imported) in imports(&path, prefix) {
            if let Some(below) = rank.get(imported.as_str()) {
                assert!(
                    imported == name || *below > own,
                    "{file} imports {prefix}::{imported} from above or from its own row"
                );
            }
        }
    }
}

/// Every module of `prefix` that the sources at `path` name, except in tests.
fn imports(path: &Path, prefix: &str) -> Vec<(String, String)> {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        return entries.flat_map(|below| imports(&below, prefix)).collect();
    }
    let name = path.to_str().unwrap();
    if path.extension().is_none_or(|extension| extension != "rs") || name.ends_with("tests.rs") {
        return Vec::new();
    }
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    paths(code)
        .iter()
        .filter_map(|path| first_below(path, prefix))
        .map(|module| (name.into(), module))
        .collect()
}

fn first_below(path: &str, prefix: &str) -> Option<String> {
    path.strip_prefix(prefix)?.strip_prefix("::")?.split("::").next().map(str::to_owned)
}

/// All paths from the crate's root in a source, with groups in braces expanded.
fn paths(code: &str) -> Vec<String> {
    let starts = code
        .match_indices("crate::")
        .filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    starts.flat_map(|(at, _)| expand(&code[at..], "").0).collect()
}

/// Expands one path, such as `a::{b, c::d}`; returns the paths, and the length of what was read.
fn expand(text: &str, before: &str) -> (Vec<String>, usize) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let head = format!("{before}{}", &text[..end]);
    if !text[end..].starts_with('{') || !head.ends_with("::") {
        return (vec![head], end);
    }
    let (mut found, mut at) = (Vec::new(), end + 1);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.starts_with('}') && !rest.is_empty()) {
        let next = rest.chars().next().unwrap();
        if next.is_alphanumeric() || next == '_' {
            let (below, length) = expand(rest, &head);
            found.extend(below);
            at += length;
        } else {
            at += next.len_utf8();
        }
    }
    (found, at + 1)
}

#[test]
fn groups_are_expanded() {
    let code = "use crate::{a::{self, b}, c::{d::e, f as g}};\nfn x() { crate::h::i() }";
    let found = [
        "crate::a::self",
        "crate::a::b",
        "crate::c::d::e",
        "crate::c::f",
        "crate::c::as",
        "crate::c::g",
        "crate::h::i",
    ];
    assert_eq!(paths(code), found);
}
