//! Reports with more findings than memory holds.

use crate::{equal_vpcs, warren_in, write};
use serde_json::Value;
use std::collections::BTreeSet;

/// With 250 equal networks, 31,125 pairs conflict: more than are held in memory. All are listed, each once.
#[test]
fn all_findings_are_listed_in_every_format() {
    const PAIRS: usize = 250 * 249 / 2;
    let plan = equal_vpcs(250);
    let all = |format: &str| warren_in(&plan, &["check", "-", "--max-findings", "0", "--format", format]).1;
    let json = |format: &str| serde_json::from_str::<Value>(&all(format)).unwrap();
    let report = json("json");
    assert_eq!((&report["warnings"], &report["omitted"]), (&Value::from(PAIRS), &Value::from(0)));
    let pairs: BTreeSet<Vec<&str>> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let sides = finding["sides"].as_array().unwrap().iter();
            let mut names: Vec<&str> = sides.map(|side| side["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            names
        })
        .collect();
    assert_eq!(pairs.len(), PAIRS);
    assert_eq!(report["findings"].as_array().unwrap().len(), PAIRS);
    assert_eq!(json("sarif")["runs"][0]["results"].as_array().unwrap().len(), PAIRS);
    assert_eq!(json("gitlab").as_array().unwrap().len(), PAIRS);
    let text = all("human");
    assert!(text.ends_with("0 errors, 31125 warnings in 1 file (250 ranges)\n"));
    assert!(!text.contains("are listed"));
}

/// A report on 600 equal networks has 179,700 findings, and does not hold them all.
#[test]
fn memory_does_not_grow_with_the_findings() {
    let folder = tempfile::tempdir().unwrap();
    let plan = write(folder.path(), "plan.json", &equal_vpcs(600));
    let limited =
        r#"ulimit -v 250000 && "$0" check "$1" --max-findings 0 --quiet | grep -c ' has the same range as '"#;
    let output = std::process::Command::new("bash")
        .args(["-c", limited, env!("CARGO_BIN_EXE_warren"), &plan])
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), (600 * 599 / 2).to_string());
}

/// The peak of memory in kB of a check with these options, after its first `read` bytes of output.
#[cfg(target_os = "linux")]
fn peak(plan: &str, options: &[&str], read: u64) -> u64 {
    use std::io::Read as _;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_warren"))
        .args(["check", plan, "--max-findings", "0", "--quiet"])
        .args(options)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut out = child.stdout.take().expect("piped");
    let count = std::io::copy(&mut out.by_ref().take(read), &mut std::io::sink()).expect("read");
    // The child waits for its reader.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(count, read, "{options:?}");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A report on 3,000 equal networks has 4.5 million findings. The peak of memory is that after more findings than are held.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let plan = write(folder.path(), "plan.json", &equal_vpcs(3_000));
    // About 30,000 findings of each format.
    let formats = [("human", 4 << 20), ("json", 28 << 20), ("sarif", 56 << 20)];
    std::thread::scope(|scope| {
        for (format, read) in formats {
            let plan = plan.as_str();
            scope.spawn(move || {
                let peak = peak(plan, &["--format", format], read);
                assert!(peak < 100_000, "{format}: {peak} kB");
            });
        }
    });
}

/// Most of a large plan is about other resources, whose attributes are not kept.
#[cfg(target_os = "linux")]
#[test]
fn memory_of_a_large_plan_is_that_of_its_text() {
    let mut plan: Value = serde_json::from_str(&equal_vpcs(60)).unwrap();
    let tags: Value =
        (0..20).map(|at| (format!("tag-{at}"), Value::from("x"))).collect::<serde_json::Map<_, _>>().into();
    let changes = plan["resource_changes"].as_array_mut().unwrap();
    for at in 0..20_000 {
        let (name, values) =
            (format!("r{at}"), serde_json::json!({"name": at, "tags": tags, "tags_all": tags}));
        changes.push(serde_json::json!({"address": format!("aws_iam_role.{name}"), "mode": "managed",
            "type": "aws_iam_role", "name": name, "change": {"actions": ["no-op"], "before": values, "after": values}}));
    }
    let folder = tempfile::tempdir().unwrap();
    let text = plan.to_string();
    let size = u64::try_from(text.len() / 1024).unwrap();
    let plan = write(folder.path(), "plan.json", &text);
    let peak = peak(&plan, &[], 1000);
    assert!(size > 20_000 && peak < 2 * size + 20_000, "{peak} kB for {size} kB of JSON");
}
