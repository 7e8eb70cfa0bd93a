//! A provider that misbehaves.

use crate::{Workspace, told};

fn workspace(mode: &str, more: &str) -> Workspace {
    let workspace = Workspace::new("proving");
    write(&workspace, mode, more);
    workspace
}

fn write(workspace: &Workspace, mode: &str, more: &str) {
    let body = format!("resource \"proving_thing\" \"a\" {{\n  mode = \"{mode}\"\n  {more}\n}}");
    workspace.write("proving", "", &body);
}

#[test]
fn every_shape_of_value_passes_through() {
    let body = r#"
      number = 9007199254740993.000000000000000000001
      any    = { a = [1, "two", null], b = { c = true } }
      names  = ["z", "a", "z"]
      rules  = [{ port = 1 }, { port = 2, protocol = "udp" }]
      peers  = [{ port = 2 }, { port = 1 }, { port = 3, protocol = "udp" }]
      zones  = { x = { port = 1 }, y = { port = 2, protocol = "udp" } }
    "#;
    let workspace = workspace("ok", body);
    let terraform = &workspace.terraform;
    terraform.apply(&[]).unwrap().success().unwrap();
    let unchanged = terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());
    let state = terraform.show(None).unwrap();
    let values = &state["values"]["root_module"]["resources"][0]["values"];
    insta::assert_snapshot!(serde_json::to_string_pretty(values).unwrap());

    // A nested element changes: an update in place, whose plan Terraform finds consistent.
    write(
        &workspace,
        "ok",
        &body.replace("port = 3", "port = 4").replace("y = { port = 2", "y = { port = 5"),
    );
    let updated = terraform.apply(&[]).unwrap().success().unwrap();
    assert!(updated.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", updated.output());
    terraform.destroy(&[]).unwrap().success().unwrap();
}

#[test]
fn a_panic_is_a_diagnostic_and_what_exists_is_kept() {
    let workspace = workspace("panic", "");
    let failed = workspace.terraform.apply(&[]).unwrap().failure().unwrap();
    let text = told(&failed.stderr);
    assert!(text.contains("Error: The provider panicked during a create"), "{text}");
    assert!(text.contains("asked to panic (at provider/plugin/examples/proving.rs:"), "{text}");
    assert_eq!(workspace.terraform.state_list().unwrap(), ["proving_thing.a"]);

    write(&workspace, "ok", "");
    let replaced = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(replaced.stdout.contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.output());
}

#[test]
fn an_error_of_apply_points_into_a_map() {
    let workspace = workspace("error", "zones = {\n    b = { port = 1 }\n  }");
    let failed = workspace.terraform.apply(&[]).unwrap().failure().unwrap();
    let text = told(&failed.stderr);
    assert!(text.contains("Error: Asked to fail with proving_thing.a"), "{text}");
    assert!(text.contains("The mode is \"error\". Attribute: zones[\"b\"].port"), "{text}");
}

#[test]
fn a_failed_destroy_is_not_called_complete() {
    let workspace = workspace("delete-error", "");
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    let failed = workspace.terraform.destroy(&[]).unwrap().failure().unwrap();
    assert!(!failed.output().contains("Destruction complete"), "{}", failed.output());
    assert_eq!(workspace.terraform.state_list().unwrap(), ["proving_thing.a"]);
}

#[test]
fn unknown_collections_become_known() {
    let workspace = workspace("ok", "");
    workspace.write(
        "proving",
        "",
        r#"resource "proving_thing" "a" { mode = "ok" }
           resource "proving_thing" "b" {
             mode   = "ok"
             any    = [proving_thing.a.id]
             names  = [proving_thing.a.id, proving_thing.a.outcome]
             peers  = [{ port = length(proving_thing.a.id) }, { port = length(proving_thing.a.outcome) }]
             zones  = { for key in ["k"] : key => { port = length(proving_thing.a.outcome) } }
           }"#,
    );
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    let unchanged = workspace.terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());
}
