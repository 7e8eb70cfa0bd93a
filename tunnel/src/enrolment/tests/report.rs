//! Reports of gateways: only another gateway of the file gets one.

use warren_wire::enrolment::{REPORT_MAX, REPORT_PATH, ReportRequest};

use super::tls::{connect, listen};
use super::*;
use crate::enrolment::client;
use crate::enrolment::server::NoReport;

/// The same file with another gateway, that has the key of pod 9.
fn two_gateways() -> GatewayConfig {
    let mut config = config("10.100.0.0/24", "");
    let own = config.gateways.as_slice()[0].clone();
    let other =
        warren_wire::token::Gateway { name: "gw-b".parse().unwrap(), key: pod(9).public(), ..own.clone() };
    config.gateways = vec![own, other].try_into().unwrap();
    config
}

async fn ask(bench: &Bench, key: &PrivateKey, purpose: Purpose, claimed: warren_wire::PublicKey) -> Response {
    let proof = Proof::make(purpose, key, &own_key().public(), &BINDING).unwrap();
    let request = ReportRequest { version: Version, public_key: claimed, proof };
    bench
        .enrolment
        .handle(Request {
            remote: REMOTE,
            binding: BINDING,
            method: "POST",
            path: REPORT_PATH,
            content_type: MEDIA_TYPE,
            body: &request.to_json().unwrap(),
        })
        .await
}

#[tokio::test]
async fn only_a_gateway_gets_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let bench = start(&folder.path().join("leases"), two_gateways());
    let gateway = pod(9);
    bench.enrolment.set_report(Box::new(|| Ok(b"{}".to_vec())));
    let answer = ask(&bench, &gateway, Purpose::Report, gateway.public()).await;
    assert_eq!((answer.status, answer.body), (200, b"{}".to_vec()));
    let again = ask(&bench, &gateway, Purpose::Report, gateway.public()).await;
    assert_eq!((again.status, again.retry_after), (429, Some(2)), "one in 2 s");
    // A pod; a pod that claims to be a gateway; the proof for another request; this gateway itself.
    for (key, purpose, claimed) in [
        (pod(1), Purpose::Report, pod(1).public()),
        (pod(1), Purpose::Report, gateway.public()),
        (gateway.clone(), Purpose::Enrol, gateway.public()),
        (own_key(), Purpose::Report, own_key().public()),
    ] {
        let refused = ask(&bench, &key, purpose, claimed).await;
        assert_eq!(refused.status, 403, "{purpose:?}");
    }
    // A reload that removes the gateway.
    let enrolment = bench.enrolment.with_config(&config("10.100.0.0/24", ""));
    let bench = Bench { enrolment: Arc::new(enrolment), ..bench };
    assert_eq!(ask(&bench, &gateway, Purpose::Report, gateway.public()).await.status, 403);
}

#[tokio::test]
async fn a_gateway_without_a_report_says_why() {
    for (report, status) in [
        (Some(Err(NoReport::Off)), 404),
        (Some(Err(NoReport::Busy)), 503),
        (Some(Ok(vec![b' '; REPORT_MAX + 1])), 413),
        (None, 404),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let bench = start(&folder.path().join("leases"), two_gateways());
        if let Some(report) = report {
            bench.enrolment.set_report(Box::new(move || report.clone()));
        }
        let gateway = pod(9);
        assert_eq!(ask(&bench, &gateway, Purpose::Report, gateway.public()).await.status, status);
    }
}

/// As large as that of 5,000 pods, in many records of TLS.
#[test]
fn a_large_report_arrives_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let bench = runtime.block_on(async { start(&folder.path().join("leases"), two_gateways()) });
    let report: Vec<u8> = (0..3_000_000_u32).map(|byte| b'a' + (byte % 23) as u8).collect();
    bench.enrolment.set_report(Box::new({
        let report = report.clone();
        move || Ok(report.clone())
    }));
    let (_listener, target) = listen(&runtime, &bench.enrolment, Duration::from_secs(10));
    let gateway = bench.config.gateways.as_slice()[0].clone();
    let (mut stream, binding) = connect(&target);
    assert!(client::report(&mut stream, &binding, &gateway, &pod(9)).unwrap() == report);
    let (mut stream, binding) = connect(&target);
    client::report(&mut stream, &binding, &gateway, &pod(1)).unwrap_err();
}
