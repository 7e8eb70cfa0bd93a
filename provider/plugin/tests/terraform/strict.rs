//! A provider with required and replaced attributes at every depth.

use std::fs;

use serde_json::json;
use tf_provider_rs::test::Plugin;

use crate::{Workspace, common, quoted, told, wait_for};

fn workspace() -> Workspace {
    Workspace::new("strict")
}

fn write(workspace: &Workspace, body: &str) {
    let directory = format!("directory = {}", quoted(&workspace.notes()));
    workspace.write("strict", &directory, body);
}

fn site(body: &str) -> String {
    format!("resource \"strict_site\" \"a\" {{\n  name = \"a\"\n  {body}\n}}")
}

const MISSING: &str = "Missing Configuration for Required Attribute";

#[test]
fn null_is_no_value_of_a_required_attribute_at_any_depth() {
    let workspace = workspace();
    for (body, path) in [
        ("name = null", "name"),
        ("name = \"a\"\n list = [{ number = 1 }, { number = null }]", "list[1].number"),
        ("name = \"a\"\n set = [{ number = null }]", "set.number"),
        ("name = \"a\"\n map = { x = { number = null } }", "map[\"x\"].number"),
        ("name = \"a\"\n one = { number = null }", "one.number"),
        ("name = \"a\"\n deep = { x = { ports = null } }", "deep[\"x\"].ports"),
        ("name = \"a\"\n deep = { x = { ports = [{ number = null }] } }", "deep[\"x\"].ports[0].number"),
    ] {
        write(&workspace, &format!("resource \"strict_site\" \"a\" {{\n  {body}\n}}"));
        let refused = workspace.terraform.plan(&[]).unwrap().failure().unwrap();
        let text = told(&refused.stderr);
        assert!(
            text.contains(&format!("Error: {MISSING} with strict_site.a, on main.tf line")),
            "{path}: {text}"
        );
        assert!(text.contains(&format!("`{path}` must have a value")), "{path}: {text}");
    }
    write(&workspace, "data \"strict_lookup\" \"a\" { key = null }");
    let text = told(&workspace.terraform.plan(&[]).unwrap().failure().unwrap().stderr);
    assert!(text.contains(MISSING) && text.contains("with data.strict_lookup.a"), "{text}");
    write(&workspace, "ephemeral \"strict_key\" \"a\" { seed = null }");
    let text = told(&workspace.terraform.plan(&[]).unwrap().failure().unwrap().stderr);
    assert!(text.contains(MISSING) && text.contains("with ephemeral.strict_key.a"), "{text}");
    workspace.write("strict", "directory = null", &site(""));
    let text = told(&workspace.terraform.plan(&[]).unwrap().failure().unwrap().stderr);
    assert!(text.contains(MISSING) && text.contains("with provider["), "{text}");
}

#[test]
fn a_required_value_that_turns_out_null_is_refused_before_the_create() {
    let workspace = workspace();
    write(
        &workspace,
        r#"resource "strict_site" "a" { name = "a" }
           resource "strict_site" "b" { name = strict_site.a.id == "" ? "b" : null }
           resource "strict_site" "c" {
             name = "c"
             list = [{ number = strict_site.a.id == "" ? 1 : null }]
           }
           data "strict_lookup" "a" { key = strict_site.a.id == "" ? "b" : null }"#,
    );
    workspace.terraform.plan(&[]).unwrap().success().unwrap();
    let text = told(&workspace.terraform.apply(&[]).unwrap().failure().unwrap().stderr);
    assert_eq!(text.matches(MISSING).count(), 3, "{text}");
    assert_eq!(workspace.terraform.state_list().unwrap(), ["strict_site.a"]);
    assert_eq!(fs::read_dir(workspace.notes().join("here")).unwrap().count(), 1);
}

/// A collection of these elements.
type Shape = fn(&[String]) -> String;

fn keyed(items: &[String]) -> String {
    let items: Vec<String> = items.iter().enumerate().map(|(at, item)| format!("k{at} = {item}")).collect();
    items.join(", ")
}

#[test]
fn an_attribute_that_replaces_does_so_inside_every_collection() {
    let workspace = workspace();
    let port = |host: &str, note: &str| format!("{{ number = 1, host = \"{host}\", note = \"{note}\" }}");
    let shapes: [(&str, Shape); 5] = [
        ("list", |items| format!("list = [{}]", items.join(", "))),
        ("set", |items| format!("set = [{}]", items.join(", "))),
        ("map", |items| format!("map = {{ {} }}", keyed(items))),
        ("deep", |items| format!("deep = {{ k = {{ ports = [{}] }} }}", items.join(", "))),
        ("one", |items| format!("one = {}", items.last().map_or("null", String::as_str))),
    ];
    for (name, shape) in shapes {
        let plan = |items: &[String]| {
            write(&workspace, &site(&shape(items)));
            workspace.terraform.plan(&[]).unwrap().success().unwrap().stdout
        };
        write(&workspace, &site(&shape(&[port("w", ""), port("x", "one")])));
        workspace.terraform.apply(&[]).unwrap().success().unwrap();
        let noted = plan(&[port("w", ""), port("x", "two")]);
        assert!(noted.contains("will be updated in-place"), "{name}: {noted}");
        if name != "one" {
            let removed = plan(&[port("w", "")]);
            assert!(removed.contains("will be updated in-place"), "{name}: {removed}");
            let added = plan(&[port("w", ""), port("x", "one"), port("y", "")]);
            assert!(added.contains("must be replaced"), "{name}: {added}");
        }
        let changed = plan(&[port("w", ""), port("y", "one")]);
        assert!(changed.contains("must be replaced"), "{name}: {changed}");
        assert!(changed.contains("# forces replacement"), "{name}: {changed}");
        let replaced = workspace.terraform.apply(&[]).unwrap().success().unwrap();
        assert!(replaced.stdout.contains("1 added, 0 changed, 1 destroyed"), "{name}: {}", replaced.output());
        workspace.terraform.destroy(&[]).unwrap().success().unwrap();
    }
}

#[test]
fn elements_that_are_unknown_replace_if_they_could() {
    let workspace = workspace();
    let sites = |ports: &str, a: &str| {
        format!(
            "resource \"strict_site\" \"a\" {{\n  name = \"{a}\"\n}}\n\
             resource \"strict_site\" \"b\" {{\n  name = \"b\"\n  list = {ports}\n}}"
        )
    };
    write(&workspace, &sites("[{ number = 1, host = \"x\" }]", "a"));
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    // The ID of the other site is known only after it was replaced.
    let unknown = "strict_site.a.id == \"\" ? [] : [{ number = 1, host = \"y\" }]";
    write(&workspace, &sites(unknown, "other"));
    let applied = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(applied.stdout.contains("2 added, 0 changed, 2 destroyed"), "{}", applied.output());
}

#[test]
fn a_provider_under_debug_serves_the_run_after_an_interrupted_one() {
    let mut workspace = workspace();
    write(&workspace, &site("pause_ms = 60000"));
    let plugin = Plugin::launch_debug(&common::example("strict"), &[]).unwrap();
    let attach = json!({ "registry.terraform.io/example/strict": {
        "Protocol": "grpc", "ProtocolVersion": 6, "Pid": plugin.pid(), "Test": true,
        "Addr": { "Network": "unix", "String": plugin.socket() },
    }});
    workspace.terraform.env("TF_REATTACH_PROVIDERS", attach.to_string());
    let running =
        workspace.terraform.spawn(&["apply", "-no-color", "-input=false", "-auto-approve"]).unwrap();
    wait_for(&workspace.notes().join("here/a"));
    let sent = std::process::Command::new("kill").args(["-s", "INT", &running.pid().to_string()]).status();
    assert!(sent.unwrap().success());
    let interrupted = running.wait().unwrap();
    assert!(interrupted.time.as_secs() < 30, "the create was not cancelled: {:?}", interrupted.time);
    assert!(told(&interrupted.output()).contains("Interrupted"), "{}", interrupted.output());

    write(&workspace, &site("pause_ms = 1"));
    let resumed = workspace.terraform.apply(&[]).unwrap().success().unwrap();
    assert!(resumed.stdout.contains("0 added, 1 changed, 0 destroyed"), "{}", resumed.output());
    let unchanged = workspace.terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());
    workspace.terraform.destroy(&[]).unwrap().success().unwrap();
}

#[test]
fn a_type_name_is_registered_once() {
    for (kind, name) in
        [("resource", "strict_site"), ("data source", "strict_lookup"), ("ephemeral resource", "strict_key")]
    {
        let mut workspace = workspace();
        write(&workspace, &site(""));
        workspace.terraform.env("STRICT_TWICE", kind);
        let refused = workspace.terraform.plan(&[]).unwrap().failure().unwrap();
        let text = told(&refused.stderr).to_lowercase();
        assert!(text.contains(&format!("duplicate {kind} type defined")), "{text}");
        assert!(text.contains(&format!("{name} is the name of strict::")), "{text}");
    }
}

#[test]
fn the_stored_identity_is_compared_in_every_client() {
    let workspace = workspace();
    let configure = |region: &str| {
        let block = format!("directory = {}\n  region = \"{region}\"", quoted(&workspace.notes()));
        workspace.write("strict", &block, &site("key = \"one\""));
    };
    configure("east");
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    configure("west");
    for run in [
        workspace.terraform.plan(&[]),
        workspace.terraform.apply(&["-refresh-only"]),
        workspace.terraform.destroy(&[]),
        workspace.terraform.destroy(&["-refresh=false"]),
    ] {
        let text = told(&run.unwrap().failure().unwrap().stderr);
        assert!(text.contains("The state says east, and the provider is configured for west."), "{text}");
    }
    assert!(workspace.notes().join("east/a").exists());
    configure("east");
    let unchanged = workspace.terraform.plan(&["-detailed-exitcode"]).unwrap();
    assert_eq!(unchanged.code, 0, "{}", unchanged.output());
    workspace.terraform.destroy(&[]).unwrap().success().unwrap();
    assert!(!workspace.notes().join("east/a").exists());
}

#[test]
fn a_trace_has_every_call_and_no_sensitive_value() {
    let mut workspace = workspace();
    write(
        &workspace,
        &site(
            "key = \"very-sensitive\"\n  key_wo = ephemeral.strict_key.a.key\n}\nephemeral \"strict_key\" \"a\" {\n  seed = \"x\"",
        ),
    );
    let log = workspace.notes().join("log");
    workspace.terraform.env("TF_LOG_PROVIDER", "TRACE").env("TF_LOG_PATH", log.as_os_str());
    workspace.terraform.apply(&[]).unwrap().success().unwrap();
    let log = fs::read_to_string(log).unwrap();
    let line = |parts: &[&str]| {
        let found = log.lines().find(|line| parts.iter().all(|part| line.contains(part)));
        found.unwrap_or_else(|| panic!("no line has {parts:?}:\n{log}"))
    };
    let served = line(&["Served request", "tf_rpc=ApplyResourceChange", "tf_resource_type=strict_site"]);
    for field in [
        "@module=sdk.proto",
        "tf_req_id=",
        "tf_req_duration_ms=",
        "tf_provider_addr=registry.terraform.io/example/strict",
        "tf_proto_version=6.11",
        "diagnostic_error_count=0",
    ] {
        assert!(served.contains(field), "{field} is not in {served}");
    }
    line(&["Received request", "tf_rpc=OpenEphemeralResource"]);
    line(&["Served request", "tf_ephemeral_resource_type=strict_key"]);
    // The provider's own lines name the call, too.
    let own = line(&["wrote a site", "@module=strict", "tf_rpc=ApplyResourceChange"]);
    assert!(own.contains("name=a") && own.contains("***"), "{own}");
    assert!(!log.contains("very-sensitive"), "{log}");
    assert!(!log.contains("key-of-x"), "{log}");
}
