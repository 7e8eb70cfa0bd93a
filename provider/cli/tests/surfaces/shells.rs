//! Completion scripts and manual pages.

use crate::warren;
use std::process::Command;
use warren_cli::{FINE, UNUSABLE};

#[test]
fn every_shell_has_a_script_and_bash_reads_it() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, out, err) = warren(&["completions", shell]);
        assert_eq!((code, err.as_str()), (FINE, ""));
        assert!(out.contains("max-findings"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("warren.bash");
    std::fs::write(&script, warren(&["completions", "bash"]).1).unwrap();
    let ask = r#"source "$1" && complete -p warren && COMP_WORDS=(warren check --form) COMP_CWORD=2 && _warren warren --form check && echo "${COMPREPLY[@]}""#;
    let output = Command::new("bash").args(["-c", ask, "bash"]).arg(&script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("-F _warren warren") && said.contains("--format"), "{said}");
    assert_eq!(warren(&["completions", "tcsh"]).0, UNUSABLE);
}

#[test]
fn every_command_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let (code, out, err) = warren(&["man", pages.to_str().unwrap()]);
    assert_eq!((code, out.as_str(), err.as_str()), (FINE, "", ""));
    let mut names: Vec<String> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["capacity", "check", "completions", "diagram", "man", "plan"].map(|name| format!("warren-{name}.1"));
    assert_eq!(names, [&expected[..], &["warren.1".to_owned()]].concat());
    let page = std::fs::read_to_string(pages.join("warren-check.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains(".TH"));
    assert!(page.contains("Exit codes"), "{page}");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (code, _, err) = warren(&["man", file.to_str().unwrap()]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("cannot create"), "{err}");
}
