//! What measurements mean.

use super::*;
use crate::commands::netcheck::probe::Target;

fn times(milliseconds: &[u64]) -> Samples {
    let times = milliseconds.iter().map(|time| Duration::from_millis(*time)).collect();
    Samples { sent: 5, times, error: (milliseconds.len() < 5).then_some(Failure::Silent) }
}

fn dead(what: &str) -> Samples {
    Samples { sent: 2, times: Vec::new(), error: Some(Failure::Other(what.into(), "check it".into())) }
}

/// A gateway, with what was measured.
fn gateway(name: &str, udp: Samples, tls: Samples, used: Option<Used>) -> (Named, Measured) {
    let key = warren_wire::PrivateKey::from_random([name.as_bytes()[3]; 32]).public();
    let tls_endpoint = warren_wire::config::TlsEndpoint {
        endpoint: format!("{name}.example.net:443").parse().unwrap(),
        pins: None,
        name: None,
    };
    let target = Target {
        key,
        udp: Some(format!("{name}.example.net:51820").parse().unwrap()),
        tls: Some(tls_endpoint),
        own: None,
        fwmark: None,
    };
    let measured = Measured { udp: Some(udp), tls: Some(tls), path_mtu: Some(1450) };
    (Named { name: name.into(), target, used }, measured)
}

fn report(source: Source, all: Vec<(Named, Measured)>) -> Report {
    let (gateways, measured) = all.into_iter().unzip();
    let plan = Plan { count: 5, timeout: Duration::from_secs(2) };
    Report::new(Targets { source, gateways, omitted: 0 }, measured, plan)
}

fn used(active: bool, carrier: &'static str) -> Option<Used> {
    let why = if carrier == "udp" { "UDP answers" } else { "UDP does not answer" };
    Some(Used {
        interface: "warren0".parse().unwrap(),
        active,
        carrier,
        why: why.into(),
        mtu: 1370,
        handshake_age: None,
    })
}

#[test]
fn a_token_whose_gateways_differ() {
    let report = report(
        Source::Token,
        vec![
            gateway("gw-a", times(&[20, 10, 30, 12, 14]), times(&[11, 12, 13, 14, 15]), None),
            gateway("gw-b", times(&[]), times(&[22, 22, 22, 22]), None),
            gateway("gw-c", times(&[]), dead("cannot connect to gw-c.example.net:443: timed out"), None),
        ],
    );
    insta::assert_snapshot!("netcheck_text", report.text());
    insta::assert_snapshot!("netcheck_json", serde_json::to_string_pretty(&report).unwrap());
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn udp_is_blocked_only_if_a_gateway_is_there() {
    let good = || times(&[1, 1, 1, 1, 1]);
    let verdict = |udp: Samples, tls: Samples| {
        let report = report(Source::Token, vec![gateway("gw-a", udp, tls, None)]);
        (report.udp, report.exit_code(), report.selection.carrier)
    };
    assert_eq!(verdict(good(), good()), (Verdict::Works, 0, Some("udp")));
    assert_eq!(verdict(times(&[]), good()), (Verdict::Blocked, 1, Some("tls")));
    assert_eq!(verdict(times(&[]), dead("x")), (Verdict::Unknown, 2, None));
    // Without TLS an agent cannot enrol.
    assert_eq!(verdict(good(), dead("x")), (Verdict::Works, 1, None));
}

#[test]
fn what_a_running_agent_uses_is_its_own_choice() {
    let good = || times(&[1, 1, 1, 1, 1]);
    let both = |first: Samples| {
        report(
            Source::Agent,
            vec![
                gateway("gw-a", first, dead("x"), used(true, "udp")),
                gateway("gw-b", good(), good(), used(false, "udp")),
            ],
        )
    };
    let report = both(good());
    assert_eq!((report.selection.gateway.as_deref(), report.selection.carrier), (Some("gw-a"), Some("udp")));
    assert_eq!(report.gateways[0].agent.as_deref(), Some("warren0"));
    assert_eq!(report.gateways[1].agent, None);
    // The agent's MTU fits where the usual one does not.
    assert!(report.gateways[0].mtu.as_ref().unwrap().full_packets);
    insta::assert_snapshot!(
        "selection_of_an_agent",
        [report.selection.why, both(times(&[])).selection.why].join("\n")
    );
}

#[test]
fn a_session_over_udp_proves_that_it_works() {
    let fresh = used(true, "udp").map(|used| Used { handshake_age: Some(12.0), ..used });
    let report = report(Source::Agent, vec![gateway("gw-a", times(&[]), times(&[1; 5]), fresh)]);
    assert_eq!((report.udp, report.gateways[0].carrier), (Verdict::Works, Some("udp")));
    let reason = report.gateways[0].udp.as_ref().unwrap().reason.clone().unwrap();
    assert!(reason.contains("the agent has a session"), "{reason}");
}

#[test]
fn jitter_is_the_mean_difference_of_neighbours() {
    let of =
        |times: &[u64]| jitter(&times.iter().map(|time| Duration::from_millis(*time)).collect::<Vec<_>>());
    assert_eq!(of(&[10, 20, 14]), Some(8.0));
    assert_eq!((of(&[10]), of(&[])), (None, None));
}
