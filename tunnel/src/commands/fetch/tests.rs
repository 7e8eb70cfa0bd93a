//! Against servers of this process that answer as the clouds' services do; the emulated AWS is met in the acceptance
//! tests.

use std::collections::VecDeque;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use super::*;
use crate::commands::cloud::tests::{Asked, instance, serve};

const SHORT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(2));

fn config(folder: &Path, from: &str) -> FetchConfig {
    let text = format!(
        "folder = {:?}\n[[files]]\nname = \"gateway.key\"\nfrom = \"{from}\"\nholds = \"wireguard-key\"\n",
        folder.display().to_string()
    );
    FetchConfig::parse(&text).unwrap()
}

fn run(config: &FetchConfig, environment: &Environment, until: Option<Instant>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(all(config, environment, until, SHORT))
}

fn key() -> String {
    warren_wire::PrivateKey::from_random([9; 32]).to_base64().to_string()
}

/// Answers that are still to be given: status and body.
type Answers = Arc<Mutex<VecDeque<(u16, String)>>>;

/// A metadata service that wants a token, and a parameter store that gives `answers` one after the other.
fn aws(answers: Vec<(u16, String)>) -> (Environment, Answers) {
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    let left = Arc::clone(&answers);
    let store = serve(move |asked| {
        let signature = asked.header("authorization");
        let signed = signature.starts_with("AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE/")
            && signature.contains("/eu-west-1/ssm/aws4_request")
            && signature.contains("x-amz-target")
            && asked.header("x-amz-security-token") == "session"
            && asked.header("x-amz-target") == "AmazonSSM.GetParameter";
        if !signed || asked.body != r#"{"Name":"/warren/gw-a/wireguard","WithDecryption":true}"# {
            return (400, r#"{"__type":"InvalidSignatureException","message":"test"}"#.to_owned());
        }
        left.lock().unwrap().pop_front().unwrap_or((500, String::new()))
    });
    let environment = Environment { aws_ssm: Some(format!("http://{store}")), ..instance("i-1") };
    (environment, answers)
}

fn parameter(value: &str) -> (u16, String) {
    (200, serde_json::json!({ "Parameter": { "Value": value } }).to_string())
}

fn missing() -> (u16, String) {
    (400, r#"{"__type":"com.amazonaws.ssm#ParameterNotFound","message":"no such parameter","Message":"no such parameter"}"#.to_owned())
}

#[test]
fn what_is_missing_or_wrong_is_asked_for_until_it_is_right() {
    let (environment, left) =
        aws(vec![missing(), parameter("not a key"), (503, String::new()), parameter(&key())]);
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("run");
    run(&config(&runtime, "aws-ssm:/warren/gw-a/wireguard"), &environment, None).unwrap();
    assert!(left.lock().unwrap().is_empty());
    let file = runtime.join("gateway.key");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&runtime)), (0o600, 0o700));
    assert_eq!(std::fs::read_dir(&runtime).unwrap().count(), 1);
}

#[test]
fn what_has_not_changed_is_left_alone_and_a_wrong_value_leaves_the_file() {
    let (environment, _) = aws(vec![parameter(&key()), parameter(&key()), parameter("not a key")]);
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "aws-ssm:/warren/gw-a/wireguard");
    let file = folder.path().join("gateway.key");
    // Left by a process that was killed while it wrote.
    std::fs::write(folder.path().join("gateway.key.new"), "half").unwrap();
    let inode = || std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&file).unwrap());
    run(&config, &environment, None).unwrap();
    let first = inode();
    run(&config, &environment, None).unwrap();
    assert_eq!(inode(), first);
    let problem = run(&config, &environment, Some(Instant::now())).unwrap_err();
    insta::assert_snapshot!(problem);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key());
}

#[test]
fn refusals_are_told_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "aws-ssm:/warren/gw-a/wireguard");
    let denied =
        r#"{"__type":"AccessDeniedException","Message":"not authorized to perform ssm:GetParameter"}"#;
    let told: Vec<String> = [missing(), (400, denied.to_owned()), (200, "{}".to_owned())]
        .into_iter()
        .map(|answer| run(&config, &aws(vec![answer]).0, Some(Instant::now())).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_secret_of_google_is_fetched_with_the_service_accounts_token() {
    let metadata = serve(|asked| {
        if asked.header("metadata-flavor") != "Google" {
            return (403, String::new());
        }
        assert_eq!(asked.line, "GET /computeMetadata/v1/instance/service-accounts/default/token");
        (200, r#"{"access_token":"google-token","expires_in":3599,"token_type":"Bearer"}"#.to_owned())
    });
    let secrets = serve(|asked| {
        if asked.header("authorization") != "Bearer google-token" {
            return (401, String::new());
        }
        let sum = match asked.line.as_str() {
            "GET /v1/projects/acme-ml/secrets/gw-a/versions/latest:access" => {
                crc32c::crc32c(key().as_bytes())
            }
            "GET /v1/projects/acme-ml/secrets/garbled/versions/latest:access" => 1,
            _ => {
                return (
                    404,
                    r#"{"error":{"code":404,"status":"NOT_FOUND","message":"not found"}}"#.to_owned(),
                );
            }
        };
        let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, key());
        let payload = serde_json::json!({ "data": data, "dataCrc32c": sum.to_string() });
        (200, serde_json::json!({ "name": "x", "payload": payload }).to_string())
    });
    let environment = Environment {
        google_metadata: Some(format!("http://{metadata}")),
        google_secrets: Some(format!("http://{secrets}")),
        ..Environment::default()
    };
    let folder = tempfile::tempdir().unwrap();
    run(&config(folder.path(), "gcp-secret:projects/acme-ml/secrets/gw-a"), &environment, None).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("gateway.key")).unwrap(), key());
    let told: Vec<String> = ["other", "garbled"]
        .into_iter()
        .map(|name| config(folder.path(), &format!("gcp-secret:projects/acme-ml/secrets/{name}")))
        .map(|config| run(&config, &environment, Some(Instant::now())).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_configuration_waits_for_the_keys_that_it_names() {
    let toml = |named: &str| {
        format!(
            r#"fabric = "llm"
name = "gw-a"
listen = {{ tls = "0.0.0.0:443" }}
keys = {{ private_key_file = "k", certificate_file = "t", certificate_key_file = "t", token_keys = ["k4.public.Hrnbu7wEfAP9cGBOAHHwmH4Wsot1ciXBHwBBXQ4gsaI"] }}
pool = {{ prefixes = ["10.100.0.0/16"] }}
[[gateways]]
name = "gw-a"
key = "{named}"
udp = "gw-a.example.com:51820"
tls = "gw-a.example.com:443"
pins = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
"#
        )
    };
    let public = |secret: &str| PrivateKey::from_base64(secret).unwrap().public().to_string();
    let other = PrivateKey::from_random([7; 32]).to_base64();
    let store = |named: &str| {
        let config = toml(named);
        let value = move |asked: &Asked| if asked.body.contains("config") { config.clone() } else { key() };
        let address = serve(move |asked| parameter(&value(asked)));
        let keys = ("id".to_owned(), Zeroizing::new("secret".to_owned()), None);
        Environment {
            aws_keys: Some(keys),
            aws_region: Some("eu-west-1".to_owned()),
            aws_ssm: Some(format!("http://{address}")),
            ..Environment::default()
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let list = format!(
        "folder = {:?}\nfiles = [{{ name = \"gateway.toml\", from = \"aws-ssm:/config\", holds = \"gateway-config\" }}, \
         {{ name = \"gateway.key\", from = \"aws-ssm:/key\", holds = \"wireguard-key\" }}]",
        folder.path().display().to_string()
    );
    let list = FetchConfig::parse(&list).unwrap();
    let problem = run(&list, &store(&public(&other)), Some(Instant::now())).unwrap_err();
    insta::assert_snapshot!(problem);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
    run(&list, &store(&public(&key())), Some(Instant::now())).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("gateway.key")).unwrap(), key());
}
