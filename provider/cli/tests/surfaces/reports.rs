//! Reports for programs and for narrow terminals.

use crate::{FIXTURES, warren, warren_in, warren_on, write};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use warren_cli::{FINDINGS, FINE, Streams, Terminal, UNUSABLE, run};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn unreadable_input_has_a_report_too() {
    let missing = ["check", "missing.json", "--format"];
    let (code, out, err) = warren(&[&missing[..], &["sarif"]].concat());
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("cannot read missing.json"), "{err}");
    let invocation = &json(&out)["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["level"], "error");
    assert!(notification["message"]["text"].as_str().unwrap().contains("cannot read missing.json"));
    assert_eq!(notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "missing.json");
    assert_eq!(json(&out)["runs"][0]["results"], serde_json::json!([]));

    let (code, out, err) = warren(&[&missing[..], &["json"]].concat());
    assert_eq!(code, UNUSABLE);
    assert!(json(&out)["error"]["messages"][0].as_str().unwrap().contains("cannot read missing.json"));
    assert!(err.contains("cannot read missing.json"), "{err}");

    let (code, out, _) = warren(&[&missing[..], &["gitlab"]].concat());
    assert_eq!(code, UNUSABLE);
    assert_eq!(json(&out)[0]["severity"], "blocker");
    assert_eq!(json(&out)[0]["location"]["path"], "missing.json");

    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.sarif");
    let words = [&missing[..], &["sarif", "-o", report.to_str().unwrap()]].concat();
    assert_eq!(warren(&words).0, UNUSABLE);
    assert_eq!(json(&std::fs::read_to_string(report).unwrap())["version"], "2.1.0");
    assert_eq!(warren(&[&missing[..], &["human"]].concat()).1, "");
}

/// <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>
#[test]
fn gitlab_reads_every_field() {
    let plan = format!("{FIXTURES}/plan_aws.json");
    let (code, out, _) = warren(&["check", &plan, "--format", "gitlab"]);
    assert_eq!(code, FINDINGS);
    let issues = json(&out);
    let issues = issues.as_array().unwrap();
    assert!(issues.len() > 5, "{out}");
    let mut prints = std::collections::BTreeSet::new();
    for issue in issues {
        for key in ["description", "check_name", "fingerprint"] {
            assert!(!issue[key].as_str().unwrap().is_empty(), "{key} in {issue}");
        }
        assert!(["minor", "critical"].contains(&issue["severity"].as_str().unwrap()));
        assert!(issue["location"]["lines"]["begin"].as_u64().unwrap() > 0);
        assert!(!issue["location"]["path"].as_str().unwrap().starts_with("./"));
        assert!(prints.insert(issue["fingerprint"].to_string()), "equal fingerprints hide findings");
    }
    assert_eq!(
        warren_in("networks: {a: {cidr: 10.0.0.0/8}}", &["check", "-", "--format", "gitlab"]).1,
        "[]\n"
    );
}

/// The same findings have the same fingerprints in another folder and in another order.
#[test]
fn fingerprints_do_not_depend_on_where_files_are() {
    let text = std::fs::read_to_string(format!("{FIXTURES}/plan_aws.json")).unwrap();
    let prints = |folder: &Path, names: [&str; 2]| {
        let files = names.map(|name| {
            write(
                folder,
                name,
                if name.ends_with("yaml") { "networks:\n  lab: {cidr: 10.0.0.0/8}\n" } else { &text },
            )
        });
        let (_, out, _) = warren(&["check", &files[0], &files[1], "--format", "sarif"]);
        let results = json(&out)["runs"][0]["results"].as_array().unwrap().clone();
        let prints = results.iter().map(|result| result["partialFingerprints"]["warren/v1"].to_string());
        let mut prints: Vec<String> = prints.collect();
        prints.sort();
        assert!(prints.len() > 8, "{prints:?}");
        prints
    };
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(
        prints(one.path(), ["plan.json", "net.yaml"]),
        prints(&other.path().join("b/c"), ["z/net.yaml", "a.json"])
    );
}

/// Names and ranges stay whole in a terminal of 40 columns, and everything else fits.
#[test]
fn narrow_terminals_show_everything() {
    let plan = format!("{FIXTURES}/plan_aws.json");
    let wide = warren(&["check", &plan]).1;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for width in [1, 40, 80] {
        let terminal = Terminal { width: Some(width), ..Terminal::default() };
        let out = warren_on(terminal, b"", &["check", &plan]).1;
        assert_eq!(words(&out), words(&wide), "{width} columns");
        for line in out.lines() {
            let single = line.split_whitespace().filter(|word| word.len() > 3).count() <= 1;
            assert!(line.chars().count() <= width || single, "{width} columns: {line:?}");
        }
        let table = "networks: {a-network-with-a-long-name: {cidr: 10.128.0.0/16}, b: {cidr: 10.0.0.0/16}}";
        let out = warren_on(terminal, table.as_bytes(), &["plan", "-"]).1;
        assert!(out.contains("a-network-with-a-long-name") && out.contains("10.128.0.0/16"), "{out}");
        let longest = out.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(longest <= width.max(40), "{out}");
    }
}

#[test]
fn errors_fit_a_narrow_terminal() {
    let terminal = Terminal { error_width: Some(40), ..Terminal::default() };
    let (_, _, err) = warren_on(terminal, b"networks: {a: {}, b: {prefix: 900}}", &["plan", "-"]);
    assert!(err.lines().count() > 4 && err.lines().all(|line| line.chars().count() <= 40), "{err}");
}

/// After two seconds, standard error names the step, unless `--quiet` is set.
#[test]
fn slow_work_shows_its_progress() {
    use std::process::{Command, Stdio};
    let start = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warren"));
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the command")
    };
    let running = [start(&["check", "-"]), start(&["check", "-", "--quiet"])];
    std::thread::sleep(std::time::Duration::from_millis(2_700));
    let said = running.map(|mut running| {
        running.stdin.take().unwrap().write_all(b"networks: {a: {cidr: 10.0.0.0/16}}").unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    });
    assert_eq!(said, ["reading standard input (2 s)\n", ""]);
}

#[test]
fn a_pipe_may_end_early() {
    let folder = tempfile::tempdir().unwrap();
    let plan = write(folder.path(), "plan.json", &crate::equal_vpcs(200));
    let script = r#""$0" check "$1" --strict --max-findings 0 | head -n 1; echo "${PIPESTATUS[0]}""#;
    let words = ["-c", script, env!("CARGO_BIN_EXE_warren"), &plan];
    let output = std::process::Command::new("bash").args(words).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("warning[overlap]") && said.ends_with("\n1\n"), "{said}");
}

/// A reader that has seen enough.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_may_stop_reading() {
    let text = "networks: {a: {cidr: 10.0.0.0/16}, b: {cidr: 10.0.0.0/16}}";
    for (words, code) in [
        (&["check", "-"][..], FINDINGS),
        (&["check", "-", "--format", "json"], FINDINGS),
        (&["check", "-", "--format", "sarif", "--max-findings", "0"], FINDINGS),
        (&["check", "-", "--format", "gitlab"], FINDINGS),
        (&["plan", "-"], FINDINGS),
        (&["completions", "bash"], FINE),
    ] {
        let (mut stdin, mut err) = (text.as_bytes(), Vec::new());
        let streams = Streams { stdin: &mut stdin, stdout: &mut Closed, stderr: &mut err, colour: false };
        let words = std::iter::once(&"warren").chain(words).map(std::ffi::OsString::from);
        assert_eq!(run(words, streams), code);
        assert!(err.is_empty(), "{}", String::from_utf8_lossy(&err));
    }
}
