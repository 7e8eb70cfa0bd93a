//! The plans of `tests/plans`, which Terraform made from configurations in the shapes of public modules.

use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use warren_cli::{FINDINGS, Streams, UNUSABLE, run};

fn corpus() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans/corpus"))
}

/// Runs the command. Names of files are without their folder.
fn warren(arguments: &[&str]) -> (u8, String, String) {
    let folder = format!("{}/", corpus().display());
    let words = std::iter::once("warren".to_owned())
        .chain(arguments.iter().map(|word| word.replace("P:", &folder)))
        .map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin = std::io::empty();
    let streams = Streams { stdin: &mut stdin, stdout: &mut out, stderr: &mut err, colour: false };
    let code = run(words, streams);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(&folder, "");
    (code, text(out), text(err))
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(corpus()).expect("the corpus exists");
    let mut names: Vec<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every plan of the corpus: all findings, which were checked by hand.
#[test]
fn findings_of_every_plan() {
    for name in names() {
        let (code, out, err) = warren(&["check", &format!("P:{name}")]);
        assert_ne!(code, UNUSABLE, "{name}: {err}");
        insta::assert_snapshot!(format!("check-{}", name.trim_end_matches(".json")), out);
    }
}

/// How many subnets of the corpus were attached to a network, and how.
#[test]
fn attached_subnets_of_every_plan() {
    let mut table = String::new();
    let mut sum = (0, 0);
    for name in names() {
        let (_, out, _) = warren(&["check", &format!("P:{name}"), "--format", "json"]);
        let report: Value = serde_json::from_str(&out).expect("JSON");
        let subnets = &report["subnets"];
        let number = |key: &str| subnets[key].as_u64().expect("a number");
        sum = (sum.0 + number("attached"), sum.1 + number("total"));
        let _ = write!(table, "{name}: {} of {}", number("attached"), number("total"));
        for list in ["inferred", "unattached"] {
            for subnet in subnets[list].as_array().expect("a list") {
                let text = |key: &str| subnet[key].as_str().unwrap_or("none");
                let _ = write!(table, "\n  {} -> {} ({})", text("subnet"), text("network"), text("how"));
            }
        }
        table.push('\n');
    }
    let _ = writeln!(table, "all: {} of {}", sum.0, sum.1);
    insta::assert_snapshot!(table);
}

/// Every plan of the corpus as a flowchart, which names each network with its subnets.
#[test]
fn pictures_of_every_plan() {
    for name in names() {
        let (code, out, err) = warren(&["diagram", &format!("P:{name}"), "--format", "mermaid"]);
        assert_ne!(code, UNUSABLE, "{name}: {err}");
        insta::assert_snapshot!(format!("picture-{}", name.trim_end_matches(".json")), out);
    }
}

/// Subnets whose network the plan does not show are drawn in a box of their own, and counted.
#[test]
fn unattached_subnets_are_drawn_and_counted() {
    for format in ["svg", "html", "markdown", "mermaid", "dot"] {
        let (code, out, err) = warren(&["diagram", "P:map-of-vpcs.json", "--format", format]);
        assert_ne!(code, UNUSABLE, "{err}");
        assert!(out.contains("Subnets without a known network"), "{format}");
        assert!(out.contains("10.101.0.0/24"), "{format}");
        let counted = out.contains("1 of 2 subnets attached");
        assert_eq!(counted, !["mermaid", "dot"].contains(&format), "{format}");
        let (_, out, _) = warren(&["diagram", "P:vpc-module.json", "--format", format]);
        assert!(!out.contains("without a known network") && !out.contains("subnets attached"), "{format}");
    }
}

/// The same plan in the encodings that shells write gives the same report.
#[test]
fn every_encoding_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = std::fs::read_to_string(corpus().join("vpc-module.json")).expect("the plan");
    let wide = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
        mark.iter().copied().chain(plan.encode_utf16().flat_map(bytes)).collect::<Vec<u8>>()
    };
    let file = folder.path().join("plan.json").display().to_string();
    let check = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("written");
        warren(&["check", &file])
    };
    let expected = check(plan.as_bytes());
    assert_eq!(expected.0, FINDINGS, "{}", expected.2);
    let encodings = [
        ("UTF-8 with a mark", [b"\xef\xbb\xbf", plan.as_bytes()].concat()),
        ("UTF-16 little-endian, as PowerShell's `>` writes it", wide(b"\xff\xfe", u16::to_le_bytes)),
        ("UTF-16 big-endian", wide(b"\xfe\xff", u16::to_be_bytes)),
        ("UTF-16 little-endian without a mark", wide(b"", u16::to_le_bytes)),
        ("UTF-16 big-endian without a mark", wide(b"", u16::to_be_bytes)),
    ];
    for (what, bytes) in encodings {
        assert_eq!(check(&bytes), expected, "{what}");
    }
    let (code, _, err) = check(b"\xff\xfe{");
    assert_eq!((code, err.contains("not valid UTF-16")), (UNUSABLE, true), "{err}");
}

/// A state file as Terraform stores it gives the same report and picture as the output of `terraform show -json`.
#[test]
fn raw_states_are_read_as_printed_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let states = corpus().join("../states");
    let mut count = 0;
    for name in ["history", "forget", "errored"] {
        let file = folder.path().join("state.json").display().to_string();
        let of = |ending: &str, command: &[&str]| {
            std::fs::copy(states.join(format!("{name}.{ending}")), &file).expect("copied");
            warren(&[command, &[file.as_str()]].concat())
        };
        for command in [&["check", "--format", "json"][..], &["diagram", "--format", "mermaid"][..]] {
            let printed = of("json", command);
            assert_ne!(printed.0, UNUSABLE, "{name}: {}", printed.2);
            assert_eq!(of("tfstate", command), printed, "{name}");
            assert!(!printed.1.contains("\"ranges\": 0"), "{name}: {}", printed.1);
            count += usize::from(printed.1.contains("10.1"));
        }
    }
    assert_eq!(count, 3, "no ranges were drawn");
}

/// What Terraform writes for other readers is refused, with the command to run.
#[test]
fn other_files_of_terraform_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut told = String::new();
    for (name, bytes) in [
        (
            "log.json",
            &b"{\"@level\":\"info\",\"@message\":\"Terraform 1.11.4\"}\n{\"@level\":\"info\"}\n"[..],
        ),
        (
            "plan.txt",
            b"\nTerraform will perform the following actions:\n\n  # aws_vpc.main will be created\n",
        ),
        ("old.tfplan", b"tfplan\x02"),
        ("plan.json.gz", b"\x1f\x8b\x08"),
        ("old.tfstate", b"{\"version\": 3, \"terraform_version\": \"0.11.14\", \"modules\": []}"),
        ("next.json", b"{\"format_version\": \"2.0\", \"resource_changes\": []}"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("written");
        let (code, out, err) = warren(&["check", &file.display().to_string()]);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""), "{name}");
        told.push_str(&err.replace(&format!("{}/", folder.path().display()), ""));
    }
    insta::assert_snapshot!(told);
}

/// The JSON output of Terraform 0.12 to 1.0 has versions 0.1 and 0.2, and the same structure.
#[test]
fn plans_of_old_versions_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = std::fs::read_to_string(corpus().join("vpc-module.json")).expect("the plan");
    let file = folder.path().join("plan.json").display().to_string();
    let of = |version: &str| {
        let text = plan.replacen("\"format_version\":\"1.2\"", &format!("\"format_version\":{version:?}"), 1);
        std::fs::write(&file, text).expect("written");
        warren(&["check", &file])
    };
    let expected = of("1.2");
    assert_eq!(expected.0, FINDINGS);
    for version in ["0.1", "0.2"] {
        assert_eq!(of(version), expected, "{version}");
    }
}

/// The script for plans of others runs every output, and reports what an output does wrong.
#[cfg(unix)]
#[test]
fn every_output_is_tried_on_plans_of_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let plans = folder.path().join("plans");
    std::fs::create_dir_all(&plans).expect("made");
    std::fs::copy(corpus().join("multicloud.json"), plans.join("plan.json")).expect("copied");
    std::fs::write(plans.join("other.json"), "[1]").expect("written");
    let tried = |warren: &std::path::Path| {
        let script = corpus().join("../foreign.py");
        let output = std::process::Command::new("python3").arg(script).arg(&plans).arg(warren).output();
        let output = output.expect("python3 runs");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let warren = PathBuf::from(env!("CARGO_BIN_EXE_warren"));
    let (code, out) = tried(&warren);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("other.json: refused: ") && out.contains("4 of 4 subnets attached, 1 error"),
        "{out}"
    );
    assert!(out.contains("'outputs': 11"), "{out}");
    // A command that crashes, fails, or draws nothing in one format.
    let broken = folder.path().join("broken");
    let real = warren.display();
    for (format, what, said) in [
        ("sarif", "kill -SEGV $$", "check --format sarif: exit code -11"),
        ("svg", "exit 101", "diagram --format svg: exit code 101"),
        ("dot", "echo 'graph network {}'; exit 0", "diagram --format dot: no range is drawn"),
        ("png", "exit 0", "diagram --format png: starts with b''"),
    ] {
        let script = format!("#!/bin/sh\nif [ \"$3\" = {format} ]; then {what}; fi\nexec {real} \"$@\"\n");
        std::fs::write(&broken, script).expect("written");
        std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).expect("executable");
        let (code, out) = tried(&broken);
        assert_eq!((code, out.contains(said)), (Some(1), true), "{out}");
    }
}

/// A saved plan is read with the `terraform` on `PATH`, in the folder of the configuration.
#[cfg(unix)]
#[test]
fn a_saved_plan_is_read_by_terraform() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let (programs, configuration) = (folder.path().join("bin"), folder.path().join("live"));
    std::fs::create_dir_all(&programs).expect("made");
    std::fs::create_dir_all(configuration.join(".terraform")).expect("made");
    let plan = configuration.join("tf.plan");
    std::fs::write(&plan, b"PK\x03\x04").expect("written");
    let check = |script: Option<&str>| {
        let program = programs.join("terraform");
        let _ = std::fs::remove_file(&program);
        if let Some(script) = script {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_warren"))
            .arg("check")
            .arg(&plan)
            .env("PATH", &programs)
            .output()
            .expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let source = corpus().join("vpc-module.json").display().to_string();
    let fine = format!(
        "test \"$1 $2 $3 $4\" = \"show -json -no-color {}\" && test -d .terraform && exec /bin/cat {source}",
        plan.display()
    );
    let (code, out, err) = check(Some(&fine));
    assert_eq!((code, err.as_str()), (Some(i32::from(FINDINGS)), ""), "{out}");
    assert!(out.contains("outside-parent"), "{out}");
    let (code, _, err) = check(Some("echo 'Error: Inconsistent dependency lock file' >&2; exit 1"));
    assert_eq!(code, Some(i32::from(UNUSABLE)));
    assert!(err.contains("cannot read it: Error: Inconsistent dependency lock file; run"), "{err}");
    let (code, _, err) = check(None);
    assert_eq!(code, Some(i32::from(UNUSABLE)));
    assert!(err.contains("convert it with `terraform show -json"), "{err}");
}
