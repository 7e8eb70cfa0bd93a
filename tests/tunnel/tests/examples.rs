//! The examples of pods, as far as they can be held to something without a container engine or a cluster.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::Parser as _;
use serde_json::Value;
use warren_tunnel::cli::Cli;
use warren_tunnel_tests::workspace_root;

fn example(path: &str) -> PathBuf {
    workspace_root().join("examples").join(path)
}

fn manifest() -> Value {
    serde_saphyr::from_str(&fs::read_to_string(example("kubernetes-sidecar/pod.yaml")).unwrap()).unwrap()
}

fn containers(pod: &Value) -> Vec<&Value> {
    ["initContainers", "containers"].iter().flat_map(|kind| pod["spec"][kind].as_array().unwrap()).collect()
}

/// The "restricted" Pod Security Standard, as its table says (kubernetes.io/docs/concepts/security/pod-security-standards).
#[test]
fn the_pod_is_restricted() {
    let pod = manifest();
    assert_eq!((pod["apiVersion"].as_str(), pod["kind"].as_str()), (Some("v1"), Some("Pod")));
    let spec = &pod["spec"];
    for forbidden in ["hostNetwork", "hostPID", "hostIPC"] {
        assert!(spec[forbidden].is_null(), "{forbidden}");
    }
    let own = &spec["securityContext"];
    assert_eq!(own["runAsNonRoot"], true);
    assert_eq!(own["runAsUser"], 65_534);
    assert_eq!(own["seccompProfile"]["type"], "RuntimeDefault");
    for container in containers(&pod) {
        let name = &container["name"];
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"], false, "{name}");
        assert_eq!(context["capabilities"]["drop"], serde_json::json!(["ALL"]), "{name}");
        assert!(context["privileged"].is_null() && context["capabilities"]["add"].is_null(), "{name}");
        assert!(
            container["ports"]
                .as_array()
                .is_none_or(|ports| ports.iter().all(|port| port["hostPort"].is_null()))
        );
    }
    for volume in spec["volumes"].as_array().unwrap() {
        assert!(volume["hostPath"].is_null(), "{volume}");
    }
}

#[test]
fn the_sidecar_says_what_the_program_understands() {
    let pod = manifest();
    let sidecar = &pod["spec"]["initContainers"][0];
    assert_eq!(sidecar["restartPolicy"], "Always", "what makes it a sidecar");
    let mounts = sidecar["volumeMounts"].as_array().unwrap();
    for mount in mounts {
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        assert!(volumes.iter().any(|volume| volume["name"] == mount["name"]), "{mount}");
    }
    // Every variable is one that `agent` reads.
    let help = {
        use clap::CommandFactory as _;
        let mut command = Cli::command();
        command.find_subcommand_mut("agent").unwrap().render_long_help().to_string()
    };
    let variables = sidecar["env"].as_array().unwrap();
    for name in variables.iter().filter_map(|variable| variable["name"].as_str()) {
        assert!(name == "XDG_RUNTIME_DIR" || help.contains(&format!("[env: {name}=")), "{name}");
    }
    let value = |name: &str| {
        variables.iter().find(|variable| variable["name"] == name).unwrap()["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let arguments =
        ["warren-tunnel", "agent", "--config", &value("WARREN_CONFIG"), "--device", &value("WARREN_DEVICE")];
    let more = ["--metrics", &value("WARREN_METRICS"), "--log-format", &value("WARREN_LOG_FORMAT")];
    Cli::try_parse_from(arguments.iter().chain(&more)).unwrap();
    let program: Vec<&str> =
        sidecar["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(program, ["/usr/local/bin/warren-tunnel", "agent"]);
}

/// Of a Containerfile the instructions, joined over line ends.
fn instructions(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    joined
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(instruction, rest)| (instruction.to_owned(), rest.to_owned()))
        .collect()
}

#[test]
fn the_image_runs_the_entrypoint_as_an_ordinary_user() {
    let text = fs::read_to_string(example("pod-image/Containerfile")).unwrap();
    let instructions = instructions(&text);
    let all = |name: &str| -> Vec<&str> {
        instructions
            .iter()
            .filter(|(instruction, _)| instruction == name)
            .map(|(_, rest)| rest.as_str())
            .collect()
    };
    assert_eq!(all("FROM"), ["${BASE}"]);
    assert_eq!(all("USER"), ["65534:65534"]);
    let entrypoint: Vec<String> = serde_json::from_str(all("ENTRYPOINT")[0]).unwrap();
    let command: Vec<String> = serde_json::from_str(all("CMD")[0]).unwrap();
    assert!(!command.is_empty());
    let copied = all("COPY");
    let target = |copy: &&str| copy.split_whitespace().last().unwrap().to_owned();
    assert!(copied.iter().map(target).any(|path| path == entrypoint[0]), "the entrypoint is copied");
    for copy in &copied {
        let source = copy.split_whitespace().nth(1).unwrap();
        assert!(source == "${BINARY}" || workspace_root().join(source).is_file(), "{source}");
    }
    // The binary lies where the entrypoint looks for it.
    let script = fs::read_to_string(example("pod-image/entrypoint.sh")).unwrap();
    assert!(
        copied.iter().map(target).any(|path| script.contains(&format!(":-{path}}}"))),
        "the binary is copied"
    );
    let mode = fs::metadata(example("pod-image/entrypoint.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "it can be run");
}

#[test]
fn the_entrypoint_takes_a_token_a_file_or_its_text() {
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(example("pod-image/entrypoint.sh"));
        command.args(["python", "train.py"]).env_remove("WARREN_CONFIG").env("WARREN_TUNNEL", "/bin/echo");
        command.envs(variables.iter().copied());
        command.output().unwrap()
    };
    for way in ["WARREN_TOKEN", "WARREN_TOKEN_FILE", "WARREN_CONFIG", "WARREN_WG_CONFIG"] {
        let output = run(&[(way, "x")]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "exec -- python train.py\n", "{way}");
    }
    // `env` prints the variables that the agent would have.
    let name = |variables: &[(&str, &str)]| {
        let mut command = Command::new(example("pod-image/entrypoint.sh"));
        command.env("WARREN_TOKEN", "x").env_remove("WARREN_HOST_NAME").env_remove("RUNPOD_POD_ID");
        command.args(["env"]).envs(variables.iter().copied());
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("agent");
        fs::write(&agent, "#!/bin/sh\nshift 2\nexec \"$@\"\n").unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let output = command.env("WARREN_TUNNEL", &agent).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find_map(|line| line.strip_prefix("WARREN_HOST_NAME=").map(ToOwned::to_owned))
    };
    assert_eq!(name(&[]), None);
    assert_eq!(name(&[("RUNPOD_POD_ID", "k3x9")]).as_deref(), Some("k3x9"));
    assert_eq!(name(&[("RUNPOD_POD_ID", "k3x9"), ("WARREN_HOST_NAME", "a")]).as_deref(), Some("a"));
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("set WARREN_TOKEN "), "{output:?}");
}
