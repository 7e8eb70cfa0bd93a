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

/// Scrapes that the tests of the tunnel store.
const OF_GATEWAY: &str = include_str!(
    "../../../tunnel/src/runtime/metrics/snapshots/warren_tunnel__runtime__metrics__tests__the_scrape_of_a_gateway.snap"
);
const OF_AGENT: &str = include_str!(
    "../../../tunnel/src/runtime/metrics/snapshots/warren_tunnel__runtime__metrics__tests__the_scrape_has_names_units_and_help.snap"
);

/// A scrape with another planned rate in bit/s, and another part of it in use. Without a value, the scrape has no such metric.
fn scrape(stored: &str, planned: &str, used: &str) -> String {
    let changed = |line: &str| {
        let (metric, _) = line.rsplit_once(' ')?;
        let value = if metric.starts_with("warren_tunnel_planned_rate_bits_per_second{") {
            planned
        } else if metric.starts_with("warren_tunnel_utilisation_ratio{") {
            used
        } else {
            return Some(format!("{line}\n"));
        };
        (!value.is_empty()).then(|| format!("{metric} {value}\n"))
    };
    let metrics = stored.lines().skip_while(|line| !line.starts_with('#'));
    metrics.filter_map(changed).collect()
}

/// The metrics of a gateway at `used` of a planned rate.
fn metrics(planned: &str, used: &str) -> String {
    scrape(OF_GATEWAY, planned, used)
}

#[test]
fn the_scenarios_and_the_example() {
    let mut files: Vec<_> = std::fs::read_dir(SCENARIOS).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 13);
    files.push(EXAMPLE.into());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (code, out, err) = warren_in("", &[&file.to_string_lossy()]);
        assert_eq!(err, "", "{name}");
        let fits = !["nothing_fits", "no_option", "only_tight"].contains(&name.as_str());
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
    assert_eq!((&json["planned_rate_mbit"], &json["agent_planned_rate_mbit"]), (&661.into(), &166.into()));
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
        "store: aws\ndatasets: {a: 5, b: {size: 1 TB, within: 1 d, per_pod: true}}\nlinks: {c: 5}\ntraining: 5\nname: 5\nprivate: 1\n",
        "store: aws\npods: 4\nmodel: {parameters: [7]}\ndatasets: {a: {size: 1 TB, within: 30 d, times_per_month: 2}, b: {size: 1 TB, within: 60 d}}\ntraining: {pods: 8, step: 1 s, network: 1 Gbit/s}\nlinks: {b: {kind: wireguard, gateways: 0}}\n",
        "store: aws\npods: 1000000\nmodel: {parameters: 1000000T}\ndatasets: {a: {size: 900 PB, within: 1 h}, b: {size: 10 PB, within: 1 d, per_pod: true}, c: {size: 900 PB, within: 1 s}}\nlinks: {b: {kind: wireguard}}\n",
        "store: aws\ndatasets: {a: {size: 500 PB, within: 1 d, times_per_month: 20}}\nlinks: {b: {kind: wireguard}}\n",
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
    for (role, stored, planned, used, code) in [
        ("gateway", OF_GATEWAY, "661000000", "0.25", FINE),
        ("gateway", OF_GATEWAY, "661000000", "0.72", FINE),
        ("gateway", OF_GATEWAY, "661000000", "0.78", FINDINGS),
        ("gateway", OF_GATEWAY, "1000000000", "0.25", FINDINGS),
        ("gateway", OF_GATEWAY, "661000000", "", FINDINGS),
        ("gateway", OF_GATEWAY, "", "", FINDINGS),
        ("agent", OF_AGENT, "166000000", "0.25", FINE),
        ("agent", OF_AGENT, "166000000", "0.95", FINDINGS),
        ("agent", OF_AGENT, "661000000", "0.1", FINDINGS),
        ("agent", OF_AGENT, "", "", FINDINGS),
    ] {
        let text = scrape(stored, planned, used);
        let (found, out, err) = warren_in(&text, &[EXAMPLE, "--measured", "-"]);
        assert_eq!((found, err.as_str()), (code, ""), "{role} {planned} {used}: {out}");
        report.push_str(&format!("{role} {planned} {used}\n{out}"));
    }
    insta::assert_snapshot!(report);
    let (_, out, _) =
        warren_in(&metrics("661000000", "0.25"), &[EXAMPLE, "--measured", "-", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["findings"][0]["is_warning"], &json["findings"][0]["role"]),
        (&false.into(), &"gateway".into())
    );
}

#[test]
fn a_plan_without_a_rate_for_an_interface_says_what_to_add() {
    let compared = |plan: &str, stored: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("capacity.yaml");
        std::fs::write(&file, plan).expect("a file");
        let (code, out, _) =
            warren_in(&scrape(stored, "1000000", "0.1"), &[&file.to_string_lossy(), "--measured", "-"]);
        assert_eq!(code, FINDINGS, "{out}");
        out
    };
    let data = "store: aws\ndatasets: {a: {size: 1 TB, within: 1 d}}\n";
    let none = compared(&format!("{data}links: {{b: {{kind: cloud-sync}}}}\n"), OF_GATEWAY);
    assert!(none.contains("the plan has no WireGuard link"), "{none}");
    let no_pods = compared(&format!("{data}links: {{b: {{kind: wireguard}}}}\n"), OF_AGENT);
    assert!(no_pods.contains("set the number of pods with `pods`"), "{no_pods}");
}

#[test]
fn names_cannot_steer_a_terminal() {
    let plan = "name: \"a\\e[2Jb\\u202e\"\nstore: aws\ndatasets: {\"d\\e]0;x\\a\": {size: 1 TB, within: 1 d}}\nlinks: {\"l\\e[1m\": {kind: wireguard}}\n";
    let (code, out, err) = warren_in(plan, &["-"]);
    assert_eq!((code, err.as_str()), (FINE, ""));
    assert!(!out.contains('\u{1b}') && !out.contains('\u{202e}'), "{out}");
    assert!(out.starts_with("Capacity plan a\\u{1b}[2Jb\\u{202e}: AWS"), "{out}");
    for format in ["markdown", "svg"] {
        let (_, out, _) = warren_in(plan, &["-", "--format", format]);
        assert!(!out.contains('\u{1b}') && !out.contains('\u{202e}'), "{out}");
    }
}

/// The scenario that `docs/capacity.md` derives by hand is one of the scenarios, and the page has its figures.
#[test]
fn the_scenario_by_hand_has_the_figures_of_the_plan() {
    let page = include_str!("../../../docs/capacity.md");
    let (_, rest) = page.split_once("```yaml file=video.yaml\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let file = format!("{SCENARIOS}/site_dedicated.yaml");
    assert_eq!(block, std::fs::read_to_string(&file).unwrap());
    let (_, out, _) = warren_in("", &[&file, "--format", "json"]);
    let plan: serde_json::Value = serde_json::from_str(&out).unwrap();
    let gbit = |rate: &serde_json::Value, digits: usize| format!("{:.digits$}", rate.as_f64().unwrap() / 1e9);
    let demand = &plan["demand"];
    let [gateways, interconnect, vpn] = ["gateways", "interconnect", "vpn"]
        .map(|name| plan["options"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap());
    let (down, planned) = (&demand["down_bits_per_second"], &demand["planned_bits_per_second"]);
    let time = |option: &serde_json::Value| {
        let seconds = option["transfers"][0]["time_seconds"].as_f64().unwrap();
        format!("{} s = {:.1} h", thousands(seconds, 0), seconds / 3600.0)
    };
    let usd = |value: &serde_json::Value| format!("${}", thousands(value.as_f64().unwrap(), 2));
    let cost = |option: &serde_json::Value| {
        let cost = &option["cost"];
        [usd(&cost["egress_usd"]), usd(&cost["fixed_usd"]), usd(&cost["total_usd"])]
    };
    let gib = demand["out_per_month_bytes"].as_f64().unwrap() / 1_073_741_824.0;
    let mut figures = vec![
        format!("= {} Gbit/s, sustained", gbit(down, 3)),
        format!(
            "the larger of {} × 1.3 = {} and",
            gbit(down, 3),
            gbit(&demand["peak_with_headroom_bits_per_second"], 2)
        ),
        format!("/ 0.7 = {} Gbit/s", gbit(planned, 2)),
        format!("{} GiB", thousands(gib, 1)),
        format!("3 Gbit/s = {}", time(vpn)),
        format!("10 Gbit/s {}", time(interconnect)),
        format!("{} Mbit/s for each gateway", gateways["planned_rate_mbit"]),
    ];
    assert_eq!(time(gateways), time(vpn));
    figures.extend([gateways, interconnect, vpn].into_iter().flat_map(cost));
    for figure in figures {
        assert!(page.contains(&figure), "docs/capacity.md needs: {figure}");
    }
}

/// A number with separators.
fn thousands(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// Each syntax has its own examples in hints.
#[test]
fn hints_have_the_syntax_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = String::new();
    for (name, text) in [
        ("a.yaml", "store: aws\nlinks: {a: {rate: 1 Gbit/s}}\n"),
        ("a.json", r#"{"store": "aws", "links": {"a": {"rate": "1 Gbit/s"}}}"#),
        ("a.toml", "store = \"aws\"\n[links.a]\nrate = \"1 Gbit/s\"\n"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let (code, _, err) = warren_in("", &[&file.to_string_lossy()]);
        assert_eq!(code, UNUSABLE);
        report.push_str(&err.replace(&*folder.path().to_string_lossy(), ""));
    }
    insta::assert_snapshot!(report);
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
        refused("", "http://user:secret@gateway/metrics?token=secret", "human"),
        refused("", "https://user:secret@gateway/metrics?token=secret", "human"),
        refused("", "http:///metrics", "human"),
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
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{}", metrics("661000000", "0.5"));
    let (address, server) = serve(&answer);
    let (code, out, err) = warren_in("", &[EXAMPLE, "--measured", &format!("http://{address}")]);
    assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
    assert!(out.contains("it carries 330 Mbit/s, 50 % of the plan"), "{out}");
    let request = server.join().unwrap();
    assert!(request.starts_with("GET /metrics HTTP/1.0\r\n"), "{request}");

    for (answer, expected) in [
        ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
        ("SSH-2.0-OpenSSH_10\r\n", "not HTTP"),
        ("HTTP/1.1 200 OK\r\n\r\nup 1\n", "there is no metric"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nup 1\n", "ended after 5 of 6 bytes"),
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
