//! Messages about input that cannot be read, and the tables that can.

use crate::{warren, warren_in, write};
use std::fmt::Write as _;
use warren_cli::{FINDINGS, FINE, UNUSABLE};

/// Broken files of every syntax. No message has terms of a library or of Rust.
#[test]
fn broken_files_are_explained_in_their_own_terms() {
    let files = [
        ("duplicate.yaml", "networks:\n  a: {cidr: 10.0.0.0/16}\n  a: {cidr: 10.1.0.0/16}\n"),
        ("unclosed.yaml", "networks:\n  a: {cidr: 10.0.0.0/16\n"),
        ("tab.yaml", "networks:\n\ta: {cidr: 10.0.0.0/16}\n"),
        ("alias.yaml", "networks:\n  a: *missing\n"),
        ("recursive.yaml", "a: &x [*x]\n"),
        ("documents.yaml", "a: 1\n---\nb: 2\n"),
        ("key.yaml", "? [a, b]\n: c\n"),
        ("null.yaml", "null: 1\n"),
        ("tag.yaml", "networks: !!binary xx\n"),
        ("number.yaml", "a: .nan\n"),
        ("merge.yaml", "a: {<<: 5}\n"),
        ("indent.yaml", "networks:\n a: 1\n   b: 2\n"),
        ("empty.yaml", ""),
        ("table.toml", "networks = {\n"),
        ("twice.toml", "a = 1\na = 2\n"),
        ("bare.toml", "a = b\n"),
        ("comma.json", "{\"a\": 1,}"),
        ("end.json", "{\"a\": 1"),
        ("quotes.json", "{'a': 1}"),
        ("column.csv", "name,cird\na,10.0.0.0/16\n"),
        ("values.csv", "name,cidr\na,10.0.0.0/16,9\n,10.0.0.0/8\nx/y,10.0.0.0/9\n"),
        ("ranges.csv", "name,cidr,type\na,10.0.0.0/33,\nb,,\np,,pool\nb,10.0.0.0/8,route\n"),
        ("again.csv", "name;cidr\na;10.0.0.0/16\na;10.1.0.0/16\n"),
        ("header.csv", "\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for (name, text) in files {
        let file = write(folder.path(), name, text);
        let (code, out, err) = warren(&["check", &file]);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""), "{name}: {err}");
        write!(all, "{err}").unwrap();
    }
    let all = all.replace(&format!("{}/", folder.path().display()), "");
    for term in ["Policy", "Option", "serialize", "from_str", "serde", "scalar or", "weak", "policy"] {
        assert!(!all.contains(term), "{term}: {all}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn values_can_be_shared_and_notes_kept_in_yaml() {
    let text = "x-defaults: &small {pool: p, prefix: 24}\npools: {p: [10.0.0.0/16]}\nnetworks:\n  a: *small\n  b:\n    <<: *small\n    prefix: 25\n    x-ticket: NET-7\n";
    let (code, out, err) = warren_in(text, &["plan", "-"]);
    assert_eq!((code, err.as_str()), (FINE, ""));
    assert!(out.contains("/24 ") && out.contains("/25 "), "{out}");
    let (code, _, err) = warren_in("y-defaults: 1\nnetworks: {a: {prefix: 8}}", &["plan", "-"]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("unknown key \"y-defaults\""), "{err}");
}

#[test]
fn a_table_is_an_address_plan() {
    let table = "\u{feff}Name;CIDR;Type;Prefix;Hosts;Pool;Note\ncampus;10.0.0.0/8;pool;;;;\nhub/a;;;;100;;rows may come in any order\nhub;10.1.0.0/16;network;;;;\"a; b\"\nlab;;network;/20;;campus;\nold;10.9.0.0/16;reserved;;;;\n";
    let (code, out, err) = warren_in(table, &["plan", "-"]);
    assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
    for row in ["hub  ", "hub/a  ", "lab  "] {
        assert!(out.contains(row), "{out}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file =
        write(folder.path(), "net.csv", "name,cidr\n# of the campus\na,10.0.0.0/16\n\nb,10.0.9.0/24\n");
    let (code, out, err) = warren(&["check", &file]);
    assert_eq!((code, err.as_str()), (FINDINGS, ""));
    assert!(out.contains("net.csv:5:1: networks.b") && out.contains("net.csv:3:1: networks.a"), "{out}");
}

#[test]
fn ranges_known_after_apply_are_named() {
    let change = |name: &str| {
        serde_json::json!({"address": format!("aws_vpc.{name}"), "mode": "managed", "type": "aws_vpc", "name": name,
            "change": {"actions": ["create"], "after": {}, "after_unknown": {"cidr_block": true}}})
    };
    let names: Vec<String> = (10..35).map(|at| format!("v{at}")).collect();
    let changes: Vec<_> = names.iter().map(|name| change(name)).collect();
    let plan = serde_json::json!({"format_version": "1.2", "resource_changes": changes}).to_string();
    let (_, out, _) = warren_in(&plan, &["check", "-"]);
    assert!(
        out.contains("25 ranges are known only after apply and not checked: aws_vpc.v10.cidr_block, "),
        "{out}"
    );
    assert!(out.contains("aws_vpc.v29.cidr_block and 5 more"), "{out}");
    let (_, out, _) = warren_in(&plan, &["check", "-", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["unknown"].as_array().unwrap().len(), 25);
}
