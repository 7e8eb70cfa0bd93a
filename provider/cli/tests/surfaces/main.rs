//! What others see of the command: its reports for programs, its messages, and what shells know about it.

mod fabrics;
mod hints;
mod judged;
mod memory;
mod messages;
mod outline;
mod recipes;
mod reports;
mod schemas;
mod shells;
mod sources;

use std::ffi::OsString;
use std::path::Path;
use warren_cli::{Streams, Terminal, run_on};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../planfile/tests/fixtures");
const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans");

/// Exit code, standard output and standard error of the command.
fn warren_on(terminal: Terminal, stdin: &[u8], arguments: &[&str]) -> (u8, String, String) {
    let (mut stdin, mut out, mut err) = (stdin, Vec::new(), Vec::new());
    let streams = Streams { stdin: &mut stdin, stdout: &mut out, stderr: &mut err, colour: false };
    let words = std::iter::once("warren").chain(arguments.iter().copied());
    let code = run_on(terminal, words.map(OsString::from), streams);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (code, text(out), text(err))
}

fn warren_in(stdin: &str, arguments: &[&str]) -> (u8, String, String) {
    warren_on(Terminal::default(), stdin.as_bytes(), arguments)
}

fn warren(arguments: &[&str]) -> (u8, String, String) {
    warren_in("", arguments)
}

/// Writes a file and returns its path.
fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// A plan that creates VPCs with one range: addresses `aws_vpc.v0` and so on.
fn equal_vpcs(count: usize) -> String {
    let vpc = |index| {
        serde_json::json!({"address": format!("aws_vpc.v{index}"), "mode": "managed", "type": "aws_vpc",
            "name": format!("v{index}"),
            "change": {"actions": ["create"], "after": {"cidr_block": "10.0.0.0/16"}, "after_unknown": {"id": true}}})
    };
    let changes: Vec<_> = (0..count).map(vpc).collect();
    serde_json::json!({"format_version": "1.2", "resource_changes": changes}).to_string()
}
