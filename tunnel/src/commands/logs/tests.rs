use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use super::*;
use crate::commands::cloud::tests::{Asked, instance, serve};

const SHORT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(2));

fn line(at: u64, message: &str) -> String {
    let cursor = format!("s=1;i={at}");
    json!({
        "__CURSOR": cursor, "__REALTIME_TIMESTAMP": format!("{at}000"), "PRIORITY": "6",
        "_SYSTEMD_UNIT": "warren-gateway.service", "MESSAGE": message,
    })
    .to_string()
}

/// A program that prints these lines, and writes its arguments to the file `asked`.
fn journalctl(folder: &Path, lines: &[String]) -> String {
    let program = folder.join("journalctl");
    let script = format!(
        "#!/bin/sh\necho \"$@\" > {}\ncat << 'END'\n{}\nEND\n",
        folder.join("asked").display(),
        lines.join("\n")
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

/// CloudWatch Logs with a group and without a stream; the first request of all is throttled.
fn service(told: &Arc<Mutex<Vec<serde_json::Value>>>) -> String {
    let told = Arc::clone(told);
    let (mut stream, mut throttled) = (false, false);
    serve(move |asked: &Asked| {
        let body: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
        assert_eq!((&body["logGroupName"], &body["logStreamName"]), (&json!("/warren"), &json!("i-1")));
        assert!(asked.header("authorization").contains("/eu-west-1/logs/aws4_request"));
        if !std::mem::replace(&mut throttled, true) {
            return (400, r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#.to_owned());
        }
        match asked.header("x-amz-target") {
            "Logs_20140328.CreateLogStream" => stream = true,
            "Logs_20140328.PutLogEvents" if stream => {
                told.lock().unwrap().extend(body["logEvents"].as_array().unwrap().clone());
            }
            "Logs_20140328.PutLogEvents" => {
                let body = r#"{"__type":"ResourceNotFoundException","message":"The specified log stream does not exist."}"#;
                return (400, body.to_owned());
            }
            other => panic!("{other}"),
        }
        (200, "{}".to_owned())
    })
}

fn run(target: &Target, program: &str, state: &Path) -> Problem {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { ship(journal::follow(program, state).unwrap(), target, state, SHORT).await })
        .unwrap_err()
}

#[test]
fn the_journal_goes_to_the_log_group_once_and_in_order() {
    let told = Arc::default();
    let environment = Environment { aws_logs: Some(format!("http://{}", service(&told))), ..instance("i-1") };
    let target = Target { environment, group: "/warren".into(), stream: "i-1".into() };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("cursor");
    let program = journalctl(folder.path(), &[line(2000, "second"), line(1000, "first"), "{".to_owned()]);
    let ended = run(&target, &program, &state);
    assert!(ended.what().contains("has ended"), "{ended}");
    let asked = || std::fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(asked().contains("--boot") && asked().contains("--unit=warren-gateway.service"), "{}", asked());
    assert!(!asked().contains("warren-logs"), "{}", asked());
    let event = |at: u64, message: &str| {
        let text = json!({ "unit": "warren-gateway.service", "priority": 6, "message": message }).to_string();
        json!({ "timestamp": at, "message": text })
    };
    assert_eq!(*told.lock().unwrap(), [event(1000, "first"), event(2000, "second")]);

    // A restart continues after the last entry that was accepted.
    assert_eq!(std::fs::read_to_string(&state).unwrap(), "s=1;i=1000");
    run(&target, &journalctl(folder.path(), &[line(3000, "third")]), &state);
    assert!(asked().contains("--after-cursor=s=1;i=1000") && !asked().contains("--boot"), "{}", asked());
    assert_eq!(told.lock().unwrap().last(), Some(&event(3000, "third")));
}

#[test]
fn entries_are_parsed_and_limited() {
    let bytes = line(1, "x").replace("\"x\"", "[104,105,255]");
    assert!(Entry::parse(&bytes).unwrap().text.contains("hi\u{fffd}"));
    let long = Entry::parse(&line(1, &"ü".repeat(100_000))).unwrap();
    assert!(long.size() < 70_000, "{}", long.size());
    assert_eq!(Entry::parse("{}"), None);
}

#[test]
fn batches_are_within_the_limits_of_the_service() {
    let entry = |time: u64, size: usize| Entry { time, text: "x".repeat(size), cursor: time.to_string() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first_batch = |others: Vec<Entry>| {
        runtime.block_on(async {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(5000);
            for other in others {
                sender.send(other).await.unwrap();
            }
            drop(sender);
            let (batch, rest) = gather(entry(1, 10), &mut receiver).await;
            (batch.len(), rest.is_some())
        })
    };
    assert_eq!(first_batch(vec![entry(2, 10)]), (2, false));
    assert_eq!(first_batch((0..3000).map(|at| entry(at, 10)).collect()), (MAX_EVENTS, false));
    assert!(first_batch((0..20).map(|at| entry(at, 60_000)).collect()).1);
    assert_eq!(first_batch(vec![entry(2 * MAX_SPAN, 10)]), (1, true));
}

#[test]
fn refusals_have_hints() {
    let address =
        serve(|_| (400, r#"{"__type":"AccessDeniedException","Message":"not authorized"}"#.to_owned()));
    let environment = Environment { aws_logs: Some(format!("http://{address}")), ..instance("i-1") };
    let target = Target { environment, group: "/warren".into(), stream: "i-1".into() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let entry = Entry::parse(&line(1, "x")).unwrap();
    insta::assert_snapshot!(runtime.block_on(target.put(&[entry])).unwrap_err());
}
