//! The example of the documentation.

use std::fs;

use crate::{Workspace, quoted, told};

fn write(workspace: &Workspace, body: &str) {
    let directory = format!("directory = {}", quoted(&workspace.notes()));
    workspace.write("todo", &directory, body);
}

fn item(name: &str, priority: &str) -> String {
    format!("resource \"todo_item\" \"a\" {{\n  name = {name:?}\n  {priority}\n}}")
}

#[test]
fn the_example_works() {
    let workspace = Workspace::new("todo");
    let terraform = &workspace.terraform;
    let file = workspace.notes().join("milk");
    write(&workspace, &item("milk", ""));
    terraform.apply(&[]).unwrap().success().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "3\n");
    assert_eq!(terraform.plan(&["-detailed-exitcode"]).unwrap().code, 0);

    // Somebody edits the file.
    fs::write(&file, "5\n").unwrap();
    let drift = terraform.apply(&[]).unwrap().success().unwrap();
    assert!(drift.stdout.contains("priority = 5 -> 3"), "{}", drift.output());

    write(&workspace, &item("bread", "priority = 1"));
    let replaced = terraform.apply(&[]).unwrap().success().unwrap();
    assert!(replaced.stdout.contains("1 added, 0 changed, 1 destroyed"), "{}", replaced.output());

    write(&workspace, &item("bread", "priority = 6"));
    let refused = terraform.plan(&[]).unwrap().failure().unwrap();
    assert!(
        told(&refused.stderr).contains("6 is out of range. Use a number from 1 to 5."),
        "{}",
        refused.output()
    );

    write(&workspace, &item("bread", ""));
    terraform.destroy(&[]).unwrap().success().unwrap();
    assert_eq!(fs::read_dir(workspace.notes()).unwrap().count(), 0);
}

#[test]
fn an_existing_file_is_imported() {
    let workspace = Workspace::new("todo");
    fs::write(workspace.notes().join("milk"), "2\n").unwrap();
    write(&workspace, &item("milk", "priority = 2"));
    workspace.terraform.import("todo_item.a", "milk").unwrap().success().unwrap();
    assert_eq!(workspace.terraform.plan(&["-detailed-exitcode"]).unwrap().code, 0);
}
