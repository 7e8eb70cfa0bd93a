//! `--source`: findings at the lines of the configuration.

use crate::{PLANS, warren, write};
use serde_json::Value;
use warren_cli::{FINDINGS, UNUSABLE};

/// Two overlapping VPCs, one of the root module and one of a module.
fn plan(folder: &std::path::Path) -> String {
    let vpc = |address: &str, range: &str| {
        serde_json::json!({"address": address, "mode": "managed", "type": "aws_vpc", "name": "main",
            "change": {"actions": ["create"], "after": {"cidr_block": range}, "after_unknown": {"id": true}}})
    };
    let changes =
        [vpc("aws_vpc.main", "10.0.0.0/16"), vpc("module.net[\"a.b\"].aws_vpc.main[0]", "10.0.8.0/24")];
    let plan = serde_json::json!({"format_version": "1.2", "resource_changes": changes});
    write(folder, "plan.json", &plan.to_string())
}

const ROOT: &str = "# The office\nresource \"aws_vpc\" \"main\" {\n  tags       = {}\n  cidr_block = \"10.0.0.0/16\"\n}\n\nmodule \"net\" {\n  for_each = toset([\"a.b\"])\n  source   = \"../net\"\n}\n";
const NET: &str = "resource \"aws_vpc\" \"main\" {\n  count      = 1\n  cidr_block = \"10.0.8.0/24\"\n}\n";

fn places(report: &str) -> Vec<(String, u64)> {
    let log: Value = serde_json::from_str(report).expect("a SARIF log");
    let result = &log["runs"][0]["results"][0];
    let all = [&result["locations"], &result["relatedLocations"]];
    let place = |location: &Value| {
        let place = &location["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a SARIF log");
        (
            uri.rsplit("/root/").next().expect("a SARIF log").to_owned(),
            place["region"]["startLine"].as_u64().expect("a SARIF log"),
        )
    };
    all.into_iter().flat_map(|list| list.as_array().expect("a SARIF log")).map(place).collect()
}

#[test]
fn findings_are_at_the_lines_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let plan = plan(folder.path());
    write(&root, "app/main.tf", ROOT);
    write(&root, "net/vpc.tf", NET);
    let source = root.join("app").display().to_string();
    let (code, out, err) = warren(&["check", &plan, "--strict", "--source", &source]);
    assert_eq!((code, err.as_str()), (FINDINGS, ""));
    assert!(out.contains("root/net/vpc.tf:3:3: module.net[\"a.b\"].aws_vpc.main[0].cidr_block"), "{out}");
    assert!(out.contains("root/app/main.tf:4:3: aws_vpc.main.cidr_block"), "{out}");
    let sarif = |source: &[&str]| warren(&[&["check", &plan, "--format", "sarif"], source].concat()).1;
    let with = sarif(&["--source", &source]);
    assert_eq!(places(&with), [("net/vpc.tf".to_owned(), 3), ("app/main.tf".to_owned(), 4)]);
    // The lines do not change what identifies a finding.
    let print = |report: &str| {
        let log: Value = serde_json::from_str(report).unwrap();
        log["runs"][0]["results"][0]["partialFingerprints"].clone()
    };
    assert_eq!(print(&with), print(&sarif(&[])));

    // What `terraform init` recorded comes first, and a module that it downloaded is at its call.
    write(&root, "app/main.tf", &ROOT.replace("../net", "acme/net/aws"));
    let modules = r#"{"Modules": [{"Key": "", "Dir": "."}, {"Key": "net", "Source": "x", "Dir": ".terraform/modules/net"}]}"#;
    write(&root, "app/.terraform/modules/modules.json", modules);
    write(&root, "app/.terraform/modules/net/main.tf", NET);
    let found = sarif(&["--source", &format!("{plan}={source}")]);
    assert_eq!(places(&found)[0], ("app/main.tf".to_owned(), 7));
}

#[test]
fn a_configuration_that_does_not_fit_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let other = folder.path().join("other");
    write(&other, "main.tf", "resource \"aws_vpc\" \"else\" {}\n");
    write(&other, "broken.tf", "resource {{{\n");
    write(&other, "latin.tf", "");
    std::fs::write(other.join("latin.tf"), b"# \xe9\n").unwrap();
    let (code, out, _) = warren(&["check", &plan, "--strict", "--source", other.to_str().unwrap()]);
    assert_eq!(code, FINDINGS);
    assert!(out.contains("defines none of the resources"), "{out}");
    assert!(out.contains("broken.tf:1:"), "{out}");
    assert!(out.contains("latin.tf"), "{out}");
    assert!(out.contains("--> ") && out.contains("plan.json: aws_vpc.main.cidr_block"), "{out}");
    let empty = tempfile::tempdir().unwrap();
    let (_, out, _) = warren(&["check", &plan, "--source", empty.path().to_str().unwrap()]);
    assert!(out.contains("has no `.tf` files"), "{out}");
    let (code, _, err) = warren(&["check", &plan, "--source", "missing"]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("--source missing: not a folder"), "{err}");
    let (code, _, err) = warren(&["check", &plan, "--source", &format!("x.json={}", other.display())]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("x.json is not among the files to check"), "{err}");
}

/// Terraform refuses modules that call themselves. Here, they end.
#[test]
fn modules_that_call_themselves_end() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let text = "module \"a\" {\n  source = \"./\"\n}\nmodule \"b\" {\n  source = \"./\"\n}\nresource \"aws_vpc\" \"main\" {}\n";
    write(&folder.path().join("loop"), "main.tf", text);
    let (code, out, _) =
        warren(&["check", &plan, "--strict", "--source", folder.path().join("loop").to_str().unwrap()]);
    assert_eq!(code, FINDINGS);
    assert!(out.contains("loop/main.tf:7:1: aws_vpc.main"), "{out}");
}

/// Every finding of the corpus is at a line of the configuration that its plan was made from.
#[test]
fn the_corpus_has_its_lines() {
    let mut found = 0;
    for entry in std::fs::read_dir(format!("{PLANS}/shapes")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (plan, source) = (format!("{PLANS}/corpus/{name}.json"), format!("{PLANS}/shapes/{name}"));
        // A team with history has two configurations.
        let sources = ["", "/before", "/after"].map(|part| format!("--source={source}{part}"));
        let there = |word: &&String| std::path::Path::new(&word["--source=".len()..]).is_dir();
        let sources = sources.iter().filter(there).map(String::as_str);
        let words: Vec<&str> = ["check", &plan, "--quiet"].into_iter().chain(sources).collect();
        let (_, out, err) = warren(&words);
        assert_eq!(err, "", "{name}");
        for line in out.lines().filter(|line| line.contains("--> ")) {
            assert!(line.contains(".tf:"), "{name}: {line}");
            found += 1;
        }
    }
    assert!(found > 5, "{found} places");
}
