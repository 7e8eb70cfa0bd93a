//! The example providers under the real Terraform (or OpenTofu), from PATH.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "../common/mod.rs"]
mod common;
mod notes;
mod proving;
mod strict;
mod todo;
mod workshop;

use std::path::Path;

use tempfile::TempDir;
use tf_provider_rs::test::Terraform;

/// Terraform with one example as its provider.
struct Workspace {
    terraform: Terraform,
    /// Holds the provider under the name that Terraform looks for; and a place for the notes.
    folder: TempDir,
}

impl Workspace {
    fn new(name: &str) -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(format!("terraform-provider-{name}"));
        std::os::unix::fs::symlink(common::example(name), program).unwrap();
        let terraform = Terraform::new(&format!("example/{name}"), folder.path()).unwrap();
        Workspace { terraform, folder }
    }

    fn notes(&self) -> std::path::PathBuf {
        let notes = self.folder.path().join("notes");
        std::fs::create_dir_all(&notes).unwrap();
        notes
    }

    /// Writes the configuration; `provider` is the content of the provider block.
    fn write(&self, name: &str, provider: &str, body: &str) {
        let text = format!(
            "terraform {{\n  required_providers {{\n    {name} = {{ source = \"example/{name}\" }}\n  }}\n}}\n\
             provider \"{name}\" {{\n  {provider}\n}}\n{body}\n"
        );
        self.terraform.write("main.tf", &text).unwrap();
    }
}

/// What Terraform says about errors and warnings, in one line: it breaks lines by itself.
fn told(output: &str) -> String {
    let words: Vec<&str> =
        output.split_whitespace().filter(|word| !word.chars().all(|c| "│╷╵".contains(c))).collect();
    words.join(" ")
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// Waits until `path` exists.
fn wait_for(path: &Path) {
    for _ in 0..600 {
        if path.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{} was never written", path.display());
}
