//! The commands of the recipes for other systems, with a program in place of Terraform.

use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A program that answers as Terraform does: `plan -out=FILE` saves, and `show -json` prints the example's plan.
const TERRAFORM: &str = "#!/bin/sh\nfor word in \"$@\"; do case $word in -out=*) echo saved > \"${word#-out=}\";; esac; done\nif [ \"$1\" = show ]; then cat \"$PLAN\"; fi\n";

fn read(file: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{file}")).expect("the recipe")
}

/// The commands after `marker` in the lines of a YAML file.
fn commands<'a>(text: &'a str, marker: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(marker)).collect()
}

fn run(folder: &Path, commands: &[&str], plan: &str) -> Output {
    use std::os::unix::fs::PermissionsExt as _;
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let terraform = programs.join("terraform");
    std::fs::write(&terraform, TERRAFORM).expect("a program");
    std::fs::set_permissions(&terraform, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let warren = Path::new(env!("CARGO_BIN_EXE_warren")).parent().expect("a folder");
    let path = format!("{}:{}:/usr/bin:/bin", programs.display(), warren.display());
    Command::new("sh")
        .args(["-ec", &commands.join("\n")])
        .current_dir(folder)
        .env("PATH", path)
        .env("PLAN", plan)
        .env("PLANFILE", folder.join("default.tfplan"))
        .env("SHOWFILE", folder.join("default.json"))
        .output()
        .expect("sh")
}

#[test]
fn the_job_of_gitlab_writes_its_report() {
    let recipe = read("examples/plan-review/gitlab-ci.yml");
    let guide = read("docs/guides/checking-plans-in-ci.md");
    let script = commands(&recipe, "- ");
    let script: Vec<&str> = script.into_iter().filter(|line| !line.starts_with("if:")).collect();
    assert_eq!(script.len(), 4, "{script:?}");
    assert!(
        script.iter().all(|line| guide.contains(&format!("- {line}\n"))),
        "the guide shows the same commands"
    );
    let plan = format!("{ROOT}/provider/planfile/tests/fixtures/plan_aws.json");
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &script, &plan);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read_to_string(folder.path().join("gl-code-quality-report.json")).unwrap();
    assert!(recipe.contains("codequality: gl-code-quality-report.json"));
    let issues: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert!(issues.as_array().unwrap().len() > 5);
}

#[test]
fn the_workflow_of_atlantis_fails_on_findings_only() {
    let recipe = read("examples/plan-review/atlantis.yaml");
    let steps = commands(&recipe, "- run: ");
    assert_eq!(steps.len(), 2, "{steps:?}");
    let guide = read("docs/guides/checking-plans-in-ci.md");
    assert!(
        steps.iter().all(|line| guide.contains(&format!("- run: {line}\n"))),
        "the guide shows the same steps"
    );
    for (plan, code) in
        [("examples/plan-review/plan.json", 0), ("provider/planfile/tests/fixtures/plan_aws.json", 1)]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &steps, &format!("{ROOT}/{plan}"));
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains(" in 1 file"));
    }
}

#[test]
fn the_plan_of_a_remote_run_is_read_by_terraform() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("remote.tfplan");
    std::fs::write(
        &plan,
        "{\n  \"remote_plan_format\": 1, \"run_id\": \"run-1\", \"hostname\": \"app.terraform.io\"}",
    )
    .unwrap();
    let output = run(
        folder.path(),
        &["warren check remote.tfplan"],
        &format!("{ROOT}/examples/plan-review/plan.json"),
    );
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_hook_checks_address_plans() {
    let recipe = read(".pre-commit-hooks.yaml");
    let entry = recipe.lines().find_map(|line| line.trim().strip_prefix("entry: ")).unwrap();
    let example = format!("{ROOT}/examples/address-plan/network.yaml");
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &[&format!("{entry} {example}")], "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
