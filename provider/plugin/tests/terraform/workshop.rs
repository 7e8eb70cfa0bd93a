//! Blocks, plan modifiers, semantic equality, validators, provider meta and moves.

use serde_json::{Value as Json, json};

use crate::{Workspace, told};

fn workspace(body: &str) -> Workspace {
    let workspace = Workspace::new("workshop");
    write(&workspace, body);
    workspace
}

fn write(workspace: &Workspace, body: &str) {
    workspace.write("workshop", "", body);
}

fn tool(content: &str) -> String {
    format!("resource \"workshop_tool\" \"a\" {{\n  name = \"saw\"\n  {content}\n}}")
}

fn unchanged(workspace: &Workspace) {
    let plan = workspace.terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(plan.code, 0, "{}", plan.output());
}

fn values(workspace: &Workspace) -> Json {
    let state = workspace.terraform.show(None).unwrap();
    state["values"]["root_module"]["resources"][0]["values"].clone()
}

const BLOCKS: &str = r#"
  drawer {
    name = "top"
    case { width = 1 }
    case { width = 2 }
  }
  drawer {
    name  = "bottom"
    depth = 20
  }
  owner { name = "Ada" }
  slot "left" { content = "screws" }
  slot "right" {}
"#;

#[test]
fn blocks_are_created_updated_and_replaced() {
    let workspace = workspace(&tool(BLOCKS));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    unchanged(&workspace);
    let made = values(&workspace);
    assert_eq!(
        made["drawer"],
        json!([
            { "name": "top", "depth": 10, "number": "no. 1", "case": [{ "width": 1 }, { "width": 2 }] },
            { "name": "bottom", "depth": 20, "number": "no. 2", "case": [] },
        ])
    );
    assert_eq!(made["owner"], json!({ "name": "Ada", "phone": null }));
    assert_eq!(made["slot"], json!({ "left": { "content": "screws" }, "right": { "content": null } }));

    write(&workspace, &tool(&BLOCKS.replace("width = 2", "width = 3").replace("screws", "nails")));
    let updated = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(updated.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", updated.output());
    unchanged(&workspace);

    write(&workspace, &tool(&BLOCKS.replace("Ada", "Grace")));
    let replaced = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(replaced.stdout.contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.output());

    // Without any block, collections are empty.
    write(&workspace, &tool(""));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    unchanged(&workspace);
    let bare = values(&workspace);
    assert_eq!((&bare["drawer"], &bare["owner"], &bare["slot"]), (&json!([]), &Json::Null, &json!({})));
    workspace.terraform.destroy(&[]).unwrap().success().unwrap();
}

#[test]
fn dynamic_blocks_may_be_unknown_in_the_plan() {
    let workspace = workspace(&format!(
        "resource \"workshop_tool\" \"other\" {{ name = \"plane\" }}\n{}",
        tool(
            "dynamic \"drawer\" {\n    for_each = toset([workshop_tool.other.id])\n    content {\n      \
             name = drawer.value\n    }\n  }\n  dynamic \"slot\" {\n    for_each = { x = workshop_tool.other.id }\n    \
             labels   = [slot.key]\n    content {\n      content = slot.value\n    }\n  }"
        )
    ));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    unchanged(&workspace);
}

#[test]
fn an_imported_object_has_no_blocks() {
    let workspace = workspace(&tool(""));
    workspace.terraform.import("workshop_tool.a", "saw").unwrap().success().unwrap();
    unchanged(&workspace);
}

#[test]
fn a_plan_modifier_replaces_on_its_condition_only() {
    let workspace = workspace(&tool("edges = 10"));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    write(&workspace, &tool("edges = 12"));
    let updated = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(updated.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", updated.output());
    write(&workspace, &tool("edges = 8"));
    let plan = workspace.terraform.plan(&[]).unwrap().success().unwrap();
    assert!(plan.stdout.contains("12 -> 8 # forces replacement"), "{}", plan.output());
}

#[test]
fn another_spelling_is_no_change() {
    let workspace = workspace(&tool("serial = \"ab-1\""));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    // The API answers in capital letters, in apply and in every refresh.
    assert_eq!(values(&workspace)["serial"], "ab-1");
    unchanged(&workspace);
    write(&workspace, &tool("serial = \"Ab-1\""));
    unchanged(&workspace);
    write(&workspace, &tool("serial = \"Ab-2\""));
    let updated = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(updated.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", updated.output());
    assert_eq!(values(&workspace)["serial"], "Ab-2");
}

#[test]
fn validators_report_what_to_write() {
    let refused = |content: &str| {
        let refused = workspace(&tool(content)).terraform.plan(&[]).unwrap().failure().unwrap();
        told(&refused.stderr)
    };
    let text = refused("edges = 101\n  colour = \"transparent\"\n  made_in = 1\n  bought_in = 2");
    assert!(text.contains("101 is out of range. Use a number from 1 to 100."), "{text}");
    assert!(text.contains("\"transparent\" is reserved. Use none of `transparent`."), "{text}");
    assert!(text.contains("`bought_in` and `made_in` exclude each other."), "{text}");
    let text = refused(&"drawer { name = \"x\" }\n  ".repeat(3));
    assert!(text.contains("No more than 2 \"drawer\" blocks are allowed"), "{text}");
    let text = refused("drawer {\n    name = null\n  }");
    assert!(text.contains("`drawer[0].name` must have a value"), "{text}");
}

#[test]
fn a_deprecated_attribute_warns() {
    let workspace = workspace(&tool("made_in = 1999"));
    let plan = workspace.terraform.plan(&[]).unwrap().success().unwrap();
    let text = told(&plan.output());
    assert!(text.contains("Warning: Attribute Deprecated with workshop_tool.a"), "{text}");
    assert!(text.contains("Use `bought_in` instead."), "{text}");
}

#[test]
fn a_module_passes_provider_meta() {
    let meta = "terraform {\n  provider_meta \"workshop\" {\n    team = \"joinery\"\n  }\n}\n";
    let workspace = workspace(&format!("{meta}{}", tool("")));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert_eq!(values(&workspace)["team"], "joinery");
}

#[test]
fn an_object_moves_from_another_resource_type() {
    let workspace = workspace("resource \"terraform_data\" \"old\" {\n  input = \"saw\"\n}");
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    write(
        &workspace,
        &format!("moved {{\n  from = terraform_data.old\n  to   = workshop_tool.a\n}}\n{}", tool("")),
    );
    let moved = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(moved.stdout.contains("0 added, 0 changed, 0 destroyed"), "{}", moved.output());
    assert_eq!(values(&workspace)["id"], "tool-saw");
    assert_eq!(workspace.terraform.state_list().unwrap(), ["workshop_tool.a"]);
}

#[test]
fn a_deprecated_function_still_works_in_this_version() {
    let workspace = Workspace::new("proving");
    workspace.write("proving", "", "output \"sum\" { value = provider::proving::sum(1, 2) }");
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert_eq!(workspace.terraform.outputs().unwrap()["sum"]["value"], 3);
}

#[test]
fn terraform_connects_over_tcp() {
    let mut workspace = workspace(&tool(""));
    workspace.terraform.env("TF_PROVIDER_NETWORK", "tcp").env("TF_LOG", "DEBUG");
    let applied = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(applied.stderr.contains("network=tcp"), "{}", applied.stderr);
    assert!(applied.stdout.contains("1 added, 0 changed, 0 destroyed"), "{}", applied.output());
}
