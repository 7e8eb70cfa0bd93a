//! `warren capacity`, from the file to each output.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use warren_cli::{FINDINGS, FINE, Streams, UNUSABLE, run};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/capacity/capacity.yaml");
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/capacity");

/// Exit code, standard output, standard error.
fn warren_in(stdin: &str, arguments: &[&str]) -> (u8, String, String) {
    let (mut stdin, mut out, mut err) = (stdin.as_bytes(), Vec::new(), Vec::new());
    let streams = Streams { stdin: &mut stdin, stdout: &mut out, stderr: &mut err, colour: false };
    let words = ["warren", "capacity"].into_iter().chain(arguments.iter().copied());
    let code = run(words.map(OsString::from), streams);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (code, text(out), text(err))
}

/// The metrics of a gateway at `used` of a planned rate.
fn metrics(planned: &str, used: &str) -> String {
    let mut text = String::from(
        "# HELP warren_tunnel_receive_bytes_total Bytes.\nwarren_tunnel_receive_bytes_total{interface=\"wg0\"} 9000005000\n",
    );
    for (name, value) in [("planned_rate_bits_per_second", planned), ("utilisation_ratio", used)] {
        if !value.is_empty() {
            text.push_str(&format!("warren_tunnel_{name}{{interface=\"wg0\"}} {value}\n"));
        }
    }
    text
}

#[test]
fn ten_scenarios_and_the_example() {
    let mut files: Vec<_> = std::fs::read_dir(SCENARIOS).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 10);
    files.push(EXAMPLE.into());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (code, out, err) = warren_in("", &[&file.to_string_lossy()]);
        assert_eq!(err, "", "{name}");
        let fits = !["nothing_fits", "no_option"].contains(&name.as_str());
        assert_eq!(code, if fits { FINE } else { FINDINGS }, "{name}: {out}");
        insta::assert_snapshot!(name, out);
    }
}

#[test]
fn the_other_formats_of_the_example() {
    let output = |format| warren_in("", &[EXAMPLE, "--format", format]).1;
    insta::assert_snapshot!("markdown", output("markdown"));
    insta::assert_snapshot!("svg", output("svg"));
    let json: serde_json::Value = serde_json::from_str(&output("json")).unwrap();
    assert_eq!(json["planned_rate_mbit"], 623);
    insta::assert_snapshot!("json", output("json"));
}

#[test]
fn the_three_syntaxes_give_the_same_plan() {
    let yaml = "store: aws\ndatasets: {a: {size: 1 TB, within: 1 d}}\nlinks: {b: {kind: wireguard}}\n";
    let json = r#"{"store": "aws", "datasets": {"a": {"size": "1 TB", "within": "1 d"}}, "links": {"b": {"kind": "wireguard"}}}"#;
    let toml =
        "store = \"aws\"\n[datasets.a]\nsize = \"1 TB\"\nwithin = \"1 d\"\n[links.b]\nkind = \"wireguard\"\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capacity.toml");
    std::fs::write(&file, toml).unwrap();
    let first = warren_in(yaml, &["-"]);
    assert_eq!(first.0, FINE, "{}", first.2);
    assert_eq!(first, warren_in(json, &["-"]));
    assert_eq!(first, warren_in("", &[&file.to_string_lossy()]));
}

#[test]
fn every_mistake_is_reported_with_its_place_and_one_hint() {
    let cases = [
        "datasets: {a: {size: 1 TB, within: 1 d}}\nlinks: {b: {kind: wireguard}}\n",
        "store: azure\nlinks: [1]\ndatasets: 5\n",
        "store: aws\n",
        "store: aws\ndatasets: {a: {size: 1 TB, within: 1 d}}\n",
        "store: aws\ndatasets:\n  a: {size: 1000, within: 1 week, sise: 1 TB}\nlinks:\n  b: {kind: wireguard, rate: 10 Gbps}\n",
        "store: aws\ndatasets: {a: {size: 1 TB, within: 1 d}}\nlinks:\n  b: {kind: interconnect}\n  c: {kind: vpn, rate: 40 Gbit/s, gateways: 2}\n  d: {}\n",
        "store: aws\ncheckpoint: {interval: 10 min, upload_within: 20 min}\nlinks: {b: {kind: wireguard}}\n",
        "store: aws\nmodel: {parameters: many, gradient_bytes: 2.5}\ntraining: {gpus: 0, pods: 2}\nlinks: {b: {kind: wireguard}}\n",
        "store: aws\nmodel: {parameters: 7B}\ntraining: {gpus: 10, pods: 4, step: 1 s, network: 1 Gbit/s}\nlinks: {b: {kind: wireguard}}\n",
        "store: aws\nmodel: {parameters: 7B}\ntraining: {gpus: 8, pods: 2, tensor_parallel: 3, step: 1 s, network: 1 Gbit/s}\nlinks: {b: {kind: wireguard}}\n",
        "store: aws\nmodel: {parameters: 7B}\ntraining: {gpus: 8, pods: 8, tensor_parallel: 4, sites: 4, step: 1 s, network: 1 Gbit/s, between_sites: 1 Gbit/s}\nlinks: {b: {kind: wireguard}}\n",
        "store: aws\nstore: gcp\nprices: {aws_interne: 1, aws_vpn: -1}\nprivate: 1\n",
        "store: [\n",
        "",
    ];
    let mut report = String::new();
    for case in cases {
        let (code, out, err) = warren_in(case, &["-"]);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""), "{case}");
        report.push_str(&format!("{case}---\n{err}\n"));
    }
    insta::assert_snapshot!(report);
}

#[test]
fn a_plan_is_compared_with_metrics() {
    let mut report = String::new();
    for (planned, used, code) in [
        ("623000000", "0.25", FINE),
        ("623000000", "0.71", FINDINGS),
        ("1000000000", "0.25", FINDINGS),
        ("623000000", "", FINDINGS),
        ("", "", FINDINGS),
    ] {
        let text = metrics(planned, used);
        let (found, out, err) = warren_in(&text, &[EXAMPLE, "--measured", "-"]);
        assert_eq!((found, err.as_str()), (code, ""), "{planned} {used}: {out}");
        report.push_str(&format!("{planned} {used}\n{out}"));
    }
    insta::assert_snapshot!(report);
    let (_, out, _) =
        warren_in(&metrics("623000000", "0.25"), &[EXAMPLE, "--measured", "-", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["findings"][0]["is_warning"], false);
}

#[test]
fn what_is_not_metrics_is_refused() {
    let refused = |stdin: &str, from: &str, format: &str| {
        let (code, out, err) = warren_in(stdin, &[EXAMPLE, "--measured", from, "--format", format]);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""));
        err
    };
    let all = [
        refused("", "-", "human"),
        refused("go_goroutines 5\n", "-", "human"),
        refused("\nwarren_tunnel_utilisation_ratio{interface=\"wg0\"} much\n", "-", "human"),
        refused("\nwarren_tunnel_utilisation_ratio{interface=\"wg0\" 1\n", "-", "human"),
        refused("", "-", "svg"),
        refused("", "https://10.0.0.5:9586/metrics", "human"),
        refused("", "http://user@/metrics", "human"),
        refused("", "missing.txt", "human"),
        warren_in("", &["-", "--measured", "-"]).2,
    ];
    insta::assert_snapshot!(all.concat());
}

/// Serves one answer on the loopback, and returns its address and the request that came.
fn serve(answer: &str) -> (String, std::thread::JoinHandle<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let answer = answer.to_owned();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let (mut request, mut chunk) = (Vec::new(), [0; 1024]);
        while !request.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut chunk).expect("a request");
            assert!(count > 0, "the request has no end");
            request.extend_from_slice(&chunk[..count]);
        }
        stream.write_all(answer.as_bytes()).expect("an answer");
        String::from_utf8_lossy(&request).into_owned()
    });
    (address, thread)
}

#[test]
fn metrics_are_read_from_a_url() {
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{}", metrics("623000000", "0.5"));
    let (address, server) = serve(&answer);
    let (code, out, err) = warren_in("", &[EXAMPLE, "--measured", &format!("http://{address}")]);
    assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
    assert!(out.contains("it carries 312 Mbit/s, 50 % of the plan"), "{out}");
    let request = server.join().unwrap();
    assert!(request.starts_with("GET /metrics HTTP/1.0\r\n"), "{request}");

    for (answer, expected) in [
        ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
        ("SSH-2.0-OpenSSH_10\r\n", "not HTTP"),
        ("HTTP/1.1 200 OK\r\n\r\nup 1\n", "there is no metric"),
    ] {
        let (address, server) = serve(answer);
        let (code, _, err) = warren_in("", &[EXAMPLE, "--measured", &format!("http://{address}/x")]);
        assert_eq!(code, UNUSABLE);
        assert!(err.contains(expected), "{err}");
        assert!(server.join().unwrap().starts_with("GET /x "));
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, _, err) = warren_in("", &[EXAMPLE, "--measured", &format!("http://{free}/metrics")]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("check the port and the option `--metrics`"), "{err}");
}
