//! The page of what real clouds do names tests that exist.

#![expect(clippy::unwrap_used, reason = "a test ends where its footing gives way")]

use std::collections::BTreeSet;
use std::path::Path;

/// The repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Behaviour and test of each row.
fn rows() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(root().join("docs/real-clouds.md")).unwrap();
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let mut table: Option<bool> = None;
    let mut rows = Vec::new();
    for line in page.lines() {
        if !line.starts_with('|') {
            table = None;
            continue;
        }
        let cells = cells(line);
        // The first line of a table tells what it is about.
        let wanted = *table.get_or_insert_with(|| cells.get(1).is_some_and(|cell| cell == "behaviour"));
        if wanted && cells[1] != "behaviour" && !cells[1].starts_with("---") {
            assert_eq!(cells.len(), 6, "{line}");
            rows.push((cells[1].clone(), cells[4].clone()));
        }
    }
    rows
}

/// The names of all tests in a folder.
fn tests(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "target" && name != "node_modules" {
            tests(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut marked = false;
            for line in text.lines().map(str::trim) {
                let function = line.trim_start_matches("async ").strip_prefix("fn ");
                if let (true, Some(rest)) = (marked, function) {
                    names.extend(rest.split_once('(').map(|(name, _)| name.to_owned()));
                }
                marked = line.starts_with("#[test]")
                    || line.starts_with("#[tokio::test")
                    || (marked && line.starts_with("#["));
            }
        }
    }
}

#[test]
fn every_test_of_the_page_exists() {
    let mut names = BTreeSet::new();
    for folder in ["tests", "provider", "tunnel"] {
        tests(&root().join(folder), &mut names);
    }
    assert!(names.contains("every_test_of_the_page_exists") && !names.contains("rows"));
    let rows = rows();
    let wrong: Vec<&(String, String)> =
        rows.iter().filter(|(_, test)| test != "open" && !names.contains(test.trim_matches('`'))).collect();
    assert!(wrong.is_empty(), "tests that do not exist: {wrong:#?}");
    let open = rows.iter().filter(|(_, test)| test == "open").count();
    assert_eq!((rows.len(), open), (71, 0), "rows, and rows without a test");
}
