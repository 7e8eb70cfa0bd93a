//! A well-behaved provider.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tf_provider_rs::test::Plugin;

use crate::{Workspace, common, quoted, told};

fn workspace(body: &str) -> Workspace {
    let workspace = Workspace::new("notes");
    write(&workspace, body);
    workspace
}

fn write(workspace: &Workspace, body: &str) {
    let directory = format!("directory = {}", quoted(&workspace.notes()));
    workspace.write("notes", &directory, body);
}

const NOTE: &str = r#"
    resource "notes_note" "a" {
      name   = "NAME"
      text   = provider::notes::shout("TEXT")
      tags   = ["b", "a"]
      serial = 123456789012345678901234567890123456789.125
      links  = { home = { url = "https://example.com" } }
    }
    data "notes_size" "a" { name = notes_note.a.name }
    output "size" { value = data.notes_size.a.size }
"#;

fn note(name: &str, text: &str) -> String {
    NOTE.replace("NAME", name).replace("TEXT", text)
}

#[test]
fn create_update_replace_destroy() {
    let workspace = workspace(&note("first", "hello"));
    let terraform = &workspace.terraform;
    let applied = terraform.apply(&[]).unwrap().success().unwrap();
    assert!(applied.stdout.contains("1 added, 0 changed, 0 destroyed"), "{}", applied.output());
    let first = workspace.notes().join("first.txt");
    let content = "HELLO!\nhome: https://example.com (untitled)\n--\n";
    assert_eq!(fs::read_to_string(&first).unwrap(), content);
    assert_eq!(terraform.outputs().unwrap()["size"]["value"], content.len());
    let unchanged = terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());

    write(&workspace, &note("first", "good bye"));
    let updated = terraform.apply(&[]).unwrap().success().unwrap();
    assert!(updated.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", updated.output());

    write(&workspace, &note("second", "good bye"));
    let plan = terraform.plan(&[]).unwrap().success().unwrap();
    assert!(plan.stdout.contains("# forces replacement"), "{}", plan.output());
    let replaced = terraform.apply(&[]).unwrap().success().unwrap();
    assert!(replaced.stdout.contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.output());
    assert!(!first.exists());

    let destroyed = terraform.destroy(&[]).unwrap().success().unwrap();
    assert!(destroyed.stdout.contains("Destroy complete! Resources: 1 destroyed"), "{}", destroyed.output());
    assert_eq!(fs::read_dir(workspace.notes()).unwrap().count(), 0);
}

#[test]
fn what_vanished_is_made_again() {
    let workspace = workspace(&note("a", "x"));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    fs::remove_file(workspace.notes().join("a.txt")).unwrap();
    let again = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(again.stdout.contains("1 added, 0 changed, 0 destroyed"), "{}", again.output());
}

#[test]
fn an_existing_note_is_imported() {
    let workspace = workspace("resource \"notes_note\" \"old\" {\n  name = \"old\"\n  text = \"x\"\n}");
    fs::write(workspace.notes().join("old.txt"), "x\n--\n").unwrap();
    workspace.terraform.import("notes_note.old", "old").unwrap().success().unwrap();
    assert_eq!(workspace.terraform.state_list().unwrap(), ["notes_note.old"]);
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    let unchanged = workspace.terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());
}

#[test]
fn errors_point_at_the_attribute() {
    let workspace = workspace(
        r#"resource "notes_note" "a" {
             name  = "two words"
             text  = "x"
             links = {
               home = { url = "http://example.com" }
             }
           }"#,
    );
    let refused = workspace.terraform.plan(&[]).unwrap().failure().unwrap();
    let text = told(&refused.stderr);
    assert!(text.contains("Error: Invalid name with notes_note.a, on main.tf line 10"), "{text}");
    assert!(text.contains("\"two words\" is not made of letters"), "{text}");
    assert!(text.contains("Error: Invalid link with notes_note.a"), "{text}");
    assert!(text.contains("Links must be encrypted. Attribute: links[\"home\"].url"), "{text}");
}

#[test]
fn unknown_values_pass_validation_and_are_checked_when_known() {
    let workspace = workspace(
        r#"resource "notes_note" "a" {
             name = "a"
             text = "x"
           }
           resource "notes_note" "b" {
             name  = "b-${notes_note.a.size}"
             text  = "x"
             tags  = [notes_note.a.path, "fixed"]
             links = { for key in ["k"] : key => { url = notes_note.a.path } }
           }"#,
    );
    let plan = workspace.terraform.plan(&[]).unwrap().success().unwrap();
    assert!(plan.stdout.contains("2 to add"), "{}", plan.output());
    let refused = workspace.terraform.apply(&[]).unwrap().failure().unwrap();
    assert!(told(&refused.stderr).contains("does not begin with \"https://\""), "{}", refused.output());
}

#[test]
fn a_function_error_names_the_argument() {
    let workspace = workspace(r#"output "x" { value = provider::notes::shout("") }"#);
    let refused = workspace.terraform.plan(&[]).unwrap().failure().unwrap();
    let text = told(&refused.stderr);
    assert!(text.contains("there is nothing to shout"), "{text}");
}

#[test]
fn an_ephemeral_value_reaches_a_write_only_argument_and_no_file() {
    let workspace = Workspace::new("notes");
    fs::write(workspace.notes().join("pw.txt"), "tr0ub4dor").unwrap();
    write(
        &workspace,
        r#"ephemeral "notes_reading" "pw" { name = "pw" }
           resource "notes_note" "a" {
             name     = "a"
             text     = "x"
             password = ephemeral.notes_reading.pw.content
           }"#,
    );
    workspace.terraform.plan(&["-out=x.tfplan"]).unwrap().success().unwrap();
    workspace.terraform.run(&["apply", "x.tfplan"]).unwrap().success().unwrap();
    let state = fs::read_to_string(workspace.terraform.folder().join("terraform.tfstate")).unwrap();
    assert!(state.contains("notes_note"), "{state}");
    assert!(!state.contains("tr0ub4dor"), "{state}");
}

#[test]
fn ctrl_c_during_a_create_saves_it_and_the_next_apply_goes_on() {
    let slow = |pause: u32| {
        format!("resource \"notes_note\" \"a\" {{\n  name = \"a\"\n  text = \"x\"\n  pause_ms = {pause}\n}}")
    };
    let workspace = workspace(&slow(60_000));
    let arguments = ["apply", "-no-color", "-input=false", "-auto-approve"];
    let running = workspace.terraform.spawn(&arguments).unwrap();
    let file = workspace.notes().join("a.txt");
    for _ in 0..600 {
        if file.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(file.exists(), "the create never began");
    // As a terminal does: to the whole group, the provider included.
    let group = format!("-{}", running.pid());
    let sent = std::process::Command::new("kill").args(["-s", "INT", "--", &group]).status().unwrap();
    assert!(sent.success());
    let interrupted = running.wait().unwrap();
    assert!(interrupted.time < Duration::from_secs(30), "{:?}", interrupted.time);
    assert!(told(&interrupted.output()).contains("Interrupted"), "{}", interrupted.output());
    assert_eq!(workspace.terraform.state_list().unwrap(), ["notes_note.a"]);

    write(&workspace, &slow(0));
    let resumed = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(resumed.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", resumed.output());
    assert_eq!(fs::read_to_string(&file).unwrap(), "x\n--\n");
    let unchanged = workspace.terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());
    workspace.terraform.destroy(&[]).unwrap().success().unwrap();
    assert!(!file.exists());
}

#[test]
fn terraform_attaches_to_a_provider_under_debug() {
    let mut workspace = workspace(&note("a", "attached"));
    let plugin = Plugin::launch_debug(&common::example("notes"), &[]).unwrap();
    // No other provider is there to be started.
    fs::remove_file(workspace.folder.path().join("terraform-provider-notes")).unwrap();
    let attach = json!({ "registry.terraform.io/example/notes": {
        "Protocol": "grpc", "ProtocolVersion": 6, "Pid": plugin.pid(), "Test": true,
        "Addr": { "Network": "unix", "String": plugin.socket() },
    }});
    workspace.terraform.env("TF_REATTACH_PROVIDERS", attach.to_string());
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    // It serves many runs.
    workspace.terraform.destroy(&[]).unwrap().success().unwrap();
    assert!(plugin.schema().is_ok());
}
