//! Pods without a secret of a cloud: the gateway exchanges their leases for credentials that are narrowed to their group's grants.
//!
//! ```text
//! pods 10.200.0.1 --wire-- 10.200.0.2 gateway 10.50.0.1 --lan-- 10.50.0.2:9000 STS and S3: moto behind checks (front.py)
//!                          10.100.0.1:9580
//! ```
//! moto does not enforce session policies; the front does, with those that the gateway sent.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod lab;

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use warren_tunnel_tests::fabric::both;
use warren_tunnel_tests::{Daemon, wait_for};

use lab::{By, ENDPOINT, Lab, PATIENCE};

const SCRIPT: &str = include_str!("client.py");
/// What the gateway sends to STS for the group `gpu`, no more.
const POLICY: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::acme-data/llm/*","arn:aws:s3:::acme-data/out/*"]},{"Effect":"Allow","Action":["s3:PutObject","s3:DeleteObject","s3:AbortMultipartUpload","s3:ListMultipartUploadParts"],"Resource":["arn:aws:s3:::acme-data/out/*"]},{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::acme-data"],"Condition":{"StringLike":{"s3:prefix":["llm/*","out/*"]}}}]}"#;

#[test]
fn a_pod_without_a_secret_gets_its_prefixes_and_nothing_else() {
    both(|by| {
        let lab = Lab::start(by);
        let of = |group: &str, host: &str| {
            let mut command = lab.exec(group, host, &[]);
            command.args(["--", &lab.python()]).args(["-c", SCRIPT, ENDPOINT]);
            lab.output(&mut command)
        };
        let expected = "method container-role\nlist llm/ llm/a.txt,llm/deep/b.txt\nlist all AccessDenied\nlist other AccessDenied\n\
            get a alpha\nget secret AccessDenied\nget other AccessDenied\nput llm/ AccessDenied\nput out/ done\ndelete out/ done\n";
        assert_eq!(of("gpu", "train-0"), expected, "{}", lab.gateway.daemon.log());
        let asked = lab.lines("sts.jsonl");
        assert_eq!(asked.len(), 1, "one session for all requests: {asked:?}");
        let fields = &asked[0]["fields"];
        assert_eq!(fields["Policy"], POLICY);
        assert_eq!(fields["RoleArn"], "arn:aws:iam::123456789012:role/warren-pods");
        assert_eq!(fields["DurationSeconds"], "3600");
        let session = fields["RoleSessionName"].as_str().unwrap();
        assert!(session.starts_with("train-0@gpu@10.100.0."), "{session}");

        // Another group has other grants, and a third one none.
        let other = of("other", "train-1");
        assert!(other.contains("list other d.txt\n") && other.contains("get a AccessDenied\n"), "{other}");
        assert!(other.contains("put out/ AccessDenied\n"), "{other}");
        assert_eq!(of("plain", "train-2"), "method None\n");
        assert_eq!(lab.lines("sts.jsonl").len(), 2);
        lab.keeps_secrets(&[]);
    });
}

#[test]
fn sync_copies_with_credentials_of_the_gateway() {
    let lab = Lab::start(By::User);
    let (data, out) = (lab.path("data"), lab.path("out"));
    let (from, to) = (format!("s3://acme-data/llm/={data}"), format!("{out}=s3://acme-data/out/run/"));
    // The copies need no proxy: they dial the tunnel of their own process.
    let copies = ["--http-proxy", "off", "--socks5", "off", "--sync-in", &from, "--sync-out", &to];
    let copies = copies.map(str::to_owned);
    let script =
        format!("mkdir -p {out} && cat {data}/a.txt {data}/deep/b.txt > {out}/c.txt && cat {out}/c.txt");
    let mut command = lab.exec("gpu", "train-0", &copies);
    command.args(["--", "sh", "-c", &script]);
    assert_eq!(lab.output(&mut command), "alphabeta");

    // The same beside a running agent, without a variable.
    let agent = lab.agent("gpu", "train-0", &["--http-proxy", "127.0.0.1:3128"]);
    let back = lab.path("back");
    let mut command = lab.beside(&agent, &["sync", "s3://acme-data/out/run/", &back]);
    let printed = lab.output(&mut command);
    assert_eq!(fs::read_to_string(lab.home().join("back/c.txt")).unwrap(), "alphabeta", "{printed}");
    // Another program of the pod reaches the gateway, but has not the agent's key.
    let proof = format!("warren-proof: {}", "A".repeat(43));
    for header in ["accept: */*", proof.as_str()] {
        let (status, body) =
            lab.as_another_program("http://10.100.0.1:9580/v1/credentials/aws", &["--header", header]);
        assert_eq!((status, body.contains("SecretAccessKey")), (401, false), "{header} {body}");
    }
    // What is not granted is refused by name.
    let output = lab.beside(&agent, &["sync", "s3://acme-data/secret/", &back]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("AccessDenied"), "{text}");
    lab.keeps_secrets(&[&agent]);
}

#[test]
fn clients_of_google_get_tokens_within_a_boundary() {
    let lab = Lab::start(By::User);
    let data = lab.path("data");
    let copy = ["--sync-in".to_owned(), format!("gs://acme-gs/llm/={data}")];
    let mut command = lab.exec("google", "train-0", &copy);
    command.args(["--", &lab.python(), "-c", include_str!("google.py"), ENDPOINT]);
    let printed = lab.output(&mut command);
    assert_eq!(printed, "list llm/ 200 \nlist all 403 \nget e 200 epsilon\nget secret 403 \n");
    assert_eq!(fs::read_to_string(lab.home().join("data/e.txt")).unwrap(), "epsilon");
    let asked = lab.lines("google.jsonl");
    assert_eq!(asked.len(), 1, "one token for all requests: {asked:?}");
    let rules = asked[0]["boundary"]["accessBoundary"]["accessBoundaryRules"].as_array().unwrap();
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["availableResource"], "//storage.googleapis.com/projects/_/buckets/acme-gs");
    lab.keeps_secrets(&[]);
}

#[test]
fn only_who_has_the_token_of_the_agent_gets_credentials_and_none_after_an_eviction() {
    both(|by| {
        let lab = Lab::start(by);
        let agent = lab.agent("gpu", "train-0", &[]);
        let folder = agent.home.path().join("warren-tunnel/warren0.credentials");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let token = read("token");
        let environment = read("env");
        let url =
            environment.lines().find_map(|line| line.strip_prefix("AWS_CONTAINER_CREDENTIALS_FULL_URI='"));
        let url = url.unwrap().trim_end_matches('\'').to_owned();
        assert!(!environment.contains(&token), "{environment}");
        let ask = |headers: &[&str]| lab.curl(&url, headers);
        let (status, body) = ask(&[]);
        assert_eq!((status, body.contains("Unauthorized")), (401, true), "{body}");
        assert_eq!(ask(&["Authorization: nothing"]).0, 401);
        assert_eq!(lab.lines("sts.jsonl").len(), 0, "strangers cause no request");
        let right = format!("Authorization: {token}");
        let (status, body) = ask(&[&right]);
        assert_eq!(status, 200, "{body}\n{}", lab.gateway.daemon.log());
        let first: Value = serde_json::from_str(&body).unwrap();
        assert!(first["SecretAccessKey"].as_str().unwrap().len() > 20 && first["Expiration"].is_string());
        assert_eq!(ask(&[&right]).1, body, "kept");
        // The network of the gateway does not reach the address.
        assert_eq!(lab.outside_the_tunnel("http://10.100.0.1:9580/v1/credentials/aws"), None);

        let key = lab.gateway.peers().unwrap()[0]["public_key"].as_str().unwrap().to_owned();
        lab.gateway.run(&["gateway", "evict", &key]).unwrap();
        wait_for(PATIENCE, "end of the lease", || Ok((ask(&[&right]).0 != 200).then_some(()))).unwrap();
        let (status, body) = ask(&[&right]);
        assert!(status != 200 && !body.contains("SecretAccessKey"), "{body}");
        let audit = lab.audit("issued");
        let line = audit.iter().find(|line| line["credentials"] == "aws").unwrap();
        assert_eq!((&line["verdict"], &line["group"]), (&"issued".into(), &"gpu".into()), "{audit:?}");
        lab.keeps_secrets(&[&agent]);
    });
}

#[test]
fn a_cloud_that_fails_is_reported_and_disturbs_nothing_else() {
    let lab = Lab::start(By::User);
    let agent = lab.agent("gpu", "train-0", &["--http-proxy", "127.0.0.1:3128"]);
    let ask = || lab.ask(&agent);
    let outcomes = || {
        let status = lab.gateway.status().unwrap();
        let of = status["credentials"][0].clone();
        ["issued", "kept", "failed", "refused"].map(|name| of[name].as_u64().unwrap())
    };

    lab.fault("down");
    let (status, body) = ask();
    assert_eq!((status, body.contains("STS does not answer the gateway; try again")), (503, true), "{body}");
    let attempts = lab.lines("sts.jsonl").len();
    assert_eq!(attempts, 3, "attempts of one exchange");
    assert_eq!(ask().0, 503);
    assert_eq!(lab.lines("sts.jsonl").len(), attempts, "no storm of requests");
    let open = lab.through_the_proxy(&format!("{ENDPOINT}/open"));
    assert_eq!(open, "open\n", "other traffic passes");

    lab.fault("denied");
    let (status, body) = wait_for(PATIENCE, "refusal", || {
        let (status, body) = ask();
        Ok((status == 502).then_some((status, body)))
    })
    .unwrap();
    assert!(
        body.contains("STS refused the gateway (AccessDenied); its log has the reason"),
        "{status} {body}"
    );
    assert!(!body.contains("user/gw"), "identities of the gateway are not for pods: {body}");
    assert!(
        lab.gateway
            .daemon
            .log()
            .contains("no credentials: AccessDenied: User: arn:aws:iam::123456789012:user/gw")
    );

    // The first answer is that of a service with too many requests, and the next one comes in the same exchange.
    lab.fault("throttle");
    let before = lab.lines("sts.jsonl").len();
    wait_for(PATIENCE, "credentials", || Ok((ask().0 == 200).then_some(()))).unwrap();
    assert_eq!(lab.lines("sts.jsonl").len(), before + 2);
    let [issued, _, failed, refused] = outcomes();
    assert!(issued == 1 && failed >= 2 && refused >= 1, "{:?}", outcomes());
    let metrics = lab.metrics();
    assert!(metrics.contains("cloud=\"aws\",outcome=\"issued\"} 1\n"), "{metrics}");
    lab.keeps_secrets(&[&agent]);
}

#[test]
fn credentials_are_replaced_before_they_end() {
    let lab = Lab::start(By::User);
    let agent = lab.agent("gpu", "train-0", &[]);
    lab.fault("short");
    let key = || {
        let (status, body) = lab.ask(&agent);
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        body["AccessKeyId"].as_str().unwrap().to_owned()
    };
    let first = key();
    assert_eq!(key(), first);
    // They live for 10 seconds.
    thread::sleep(Duration::from_millis(5500));
    let second = key();
    assert_ne!(second, first);
    // The cloud fails, and these are still valid.
    lab.fault("down");
    thread::sleep(Duration::from_millis(5500));
    assert_eq!(key(), second);
}

#[test]
fn the_limits_of_one_pod_are_its_own() {
    let lab = Lab::start(By::User);
    let (greedy, honest) = (lab.agent("gpu", "train-0", &[]), lab.agent("other", "train-1", &[]));
    let statuses: Vec<u16> = (0..40).map(|_| lab.ask(&greedy).0).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(lab.ask(&honest).0, 200);
}

#[test]
fn a_lease_that_ends_soon_gets_no_credentials_that_outlive_it() {
    let lab = Lab::start_with(By::User, "[lease]\nttl = \"5m\"\nmax = \"10m\"\n");
    let agent = lab.agent("gpu", "train-0", &[]);
    // STS grants no session of less than 15 minutes, and a token of Google Cloud has the life of its source.
    let (status, body) = lab.ask(&agent);
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &told["code"]), (403, &"LeaseEnds".into()), "{body}");
    assert_eq!(lab.lines("sts.jsonl").len(), 0, "STS was not asked");
    let google = lab.agent("google", "train-1", &[]);
    let (status, body) = lab.ask_for_google(&google);
    assert_eq!((status, body.contains("LeaseEnds")), (403, true), "{body}");
    let asked = lab.lines("google.jsonl").len();
    assert_eq!(asked, 1, "its life is known once it is there");
    assert!(!body.contains("access_token"), "{body}");
    let status = lab.gateway.status().unwrap();
    for cloud in [0, 1] {
        assert_eq!(
            (&status["credentials"][cloud]["refused"], &status["credentials"][cloud]["issued"]),
            (&1.into(), &0.into())
        );
    }
}

#[test]
fn operators_see_transfers_of_pods_in_numbers() {
    let lab = Lab::start(By::User);
    let agent = lab.agent("gpu", "train-0", &["--http-proxy", "127.0.0.1:3128"]);
    let files = lab.home().join("files");
    fs::create_dir(&files).unwrap();
    for number in 0..8 {
        fs::write(files.join(format!("hush-{number}")), [number; 100_000]).unwrap();
    }
    let from = files.display().to_string();
    let sync = ["sync", &from, "s3://acme-data/out/hush/", "--rate", "100K", "--connections", "1"];
    let mut command = lab.beside(&agent, &sync);
    let mut sync = Daemon::start(&mut command).unwrap();
    let shown = wait_for(PATIENCE, "a transfer on the page", || Ok(lab.transfers().pop()));
    let shown = shown.unwrap_or_else(|error| panic!("{error}\n{}", sync.log()));
    assert_eq!((&shown["direction"], &shown["of_files"]), (&"out".into(), &8.into()), "{shown}");
    assert_eq!((&shown["of_bytes"], &shown["planned_rate"]), (&800_000.into(), &102_400.into()), "{shown}");
    let number = |name: &str| shown[name].as_u64().unwrap();
    assert!(number("bytes") > 0 && number("bytes") < 800_000, "{shown}");
    assert!(number("rate") > 10_000 && number("eta_seconds") < 80, "{shown}");
    assert!(!lab.page().to_string().contains("hush"), "names stay in the pod");
    assert_eq!(sync.terminate().unwrap().code(), Some(143), "{}", sync.log());
    wait_for(PATIENCE, "its end on the page", || Ok(lab.transfers().is_empty().then_some(()))).unwrap();

    // A pod has a few transfers, a few reports, and no other reports.
    let report = |id: u32| {
        let body = format!(
            r#"{{"id":{id},"direction":"in","files":0,"of_files":1,"bytes":0,"of_bytes":9,"rate":{id}}}"#
        );
        lab.report(&agent, &body).0
    };
    let answers: Vec<u16> = (0..60).map(report).collect();
    assert!(answers.contains(&200) && answers.contains(&429), "{answers:?}");
    wait_for(PATIENCE, "four transfers", || Ok((lab.transfers().len() == 4).then_some(()))).unwrap();
    assert_eq!(lab.report(&agent, "{}").0, 400);
    assert_eq!(lab.report(&agent, &format!("{{\"names\":\"{}\"}}", "x".repeat(2000))).0, 400);
    let to = "http://10.100.0.1:9580/v1/transfers";
    let body = r#"{"id":1,"direction":"in","files":0,"of_files":1,"bytes":0,"of_bytes":9,"rate":1}"#;
    assert_eq!(lab.as_another_program(to, &["--data", body]).0, 401, "only the agent reports");
}
