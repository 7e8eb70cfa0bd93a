//! The runner, shown with the real program: built-in resources need no provider of ours.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use warren_harness::Terraform;

/// A workspace whose provider ends at once and says so.
fn workspace() -> (tempfile::TempDir, Terraform) {
    let build = tempfile::tempdir().expect("a temporary folder");
    let binary = build.path().join("terraform-provider-warren");
    fs::write(&binary, "#!/bin/sh\necho provider-was-started >&2\nexit 3\n").expect("a file");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("permissions");
    let terraform = Terraform::new("warren-net/warren", build.path()).expect("terraform on PATH");
    (build, terraform)
}

const MODULE: &str = r#"
variable "text" { type = string }
resource "terraform_data" "kept" { input = var.text }
output "text" { value = terraform_data.kept.output }
"#;

#[test]
fn plans_applies_shows_and_destroys_with_modules() {
    let (_build, terraform) = workspace();
    terraform.write("modules/kept/main.tf", MODULE).unwrap();
    let root = "module \"kept\" {\n  source = \"./modules/kept\"\n  text = \"one\"\n}\n\
                output \"text\" { value = module.kept.text }\n";
    terraform.write("main.tf", root).unwrap();
    assert!(terraform.plan(&[]).unwrap().failure().unwrap().output().contains("Module not installed"));
    terraform.get().unwrap().success().unwrap();
    terraform.validate().unwrap().success().unwrap();
    assert_eq!(terraform.state_list().unwrap(), Vec::<String>::new());
    let plan = terraform.plan(&["-out=x.tfplan", "-detailed-exitcode"]).unwrap();
    assert_eq!(plan.code, 2, "{}", plan.output());
    assert!(!plan.output().contains('\u{1b}'), "colours in {}", plan.output());
    assert_eq!(
        terraform.show(Some("x.tfplan")).unwrap()["resource_changes"][0]["change"]["actions"][0],
        "create"
    );
    terraform.apply(&[]).unwrap().success().unwrap();
    assert_eq!(terraform.outputs().unwrap()["text"]["value"], "one");
    assert_eq!(terraform.state_list().unwrap(), ["module.kept.terraform_data.kept"]);
    assert_eq!(terraform.plan(&["-detailed-exitcode"]).unwrap().code, 0);
    terraform.destroy(&[]).unwrap().success().unwrap();
    assert!(terraform.state_list().unwrap().is_empty());
}

const USES_PROVIDER: &str = r#"
terraform {
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}
provider "warren" {}
resource "warren_address_plan" "x" {}
"#;

#[test]
fn the_built_provider_is_started_without_init_and_init_works_offline() {
    let (_build, terraform) = workspace();
    terraform.write("main.tf", USES_PROVIDER).unwrap();
    let plan = terraform.plan(&[]).unwrap().failure().unwrap();
    assert!(
        plan.output().contains("Development overrides") || plan.output().contains("development overrides")
    );
    assert!(!plan.output().contains("terraform init\""), "{}", plan.output());
    assert!(plan.output().contains("handshake") || plan.output().contains("plugin"), "{}", plan.output());
    terraform.init().unwrap().success().unwrap();
}

#[test]
fn a_run_can_be_killed_and_is_bounded() {
    let (_build, mut terraform) = workspace();
    let slow = "resource \"terraform_data\" \"slow\" {\n  provisioner \"local-exec\" { command = \"sleep 60\" }\n}\n";
    terraform.write("main.tf", slow).unwrap();
    let running = terraform.spawn(&["apply", "-no-color", "-auto-approve"]).unwrap();
    let killer = running.killer();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        killer.kill();
    });
    let run = running.wait().unwrap();
    assert_eq!(run.code, 137, "{}", run.output());
    assert!(run.time < Duration::from_secs(30));

    terraform.time_limit(Duration::from_secs(1));
    let error = terraform.apply(&["-lock=false"]).unwrap_err().to_string();
    assert!(error.contains("took longer than 1s"), "{error}");
    assert!(Path::new(terraform.program()).is_file());
}
