use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;

use http::Request;

use super::*;
use crate::gateway::model::{GatewayStatus, PeerEntry, Report};
use crate::runtime::status::tests::sample;

fn request(path: &str, headers: &[(&str, &str)]) -> RequestHead {
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn status(page: &Page, path: &str, headers: &[(&str, &str)]) -> Option<u16> {
    page.answer(&request(path, headers), || Some("{}".into())).map(|answer| answer.status().as_u16())
}

#[test]
fn the_page_is_for_names_of_this_machine_only() {
    let page = Page::new(None);
    for host in
        ["localhost", "LOCALHOST:9586", "127.0.0.1:9586", "127.1.2.3", "[::1]:9586", "[::1]", "localhost:1"]
    {
        for path in ["/", "/page.json", "/page.json?x=1"] {
            assert_eq!(status(&page, path, &[("host", host)]), Some(200), "{host}{path}");
        }
    }
    for host in [
        "evil.example",
        "evil.example:9586",
        "10.0.0.5:9586",
        "localhost.evil.example",
        "127.0.0.1.evil",
        "",
        ":80",
    ] {
        assert_eq!(status(&page, "/", &[("host", host)]), Some(403), "{host}");
        assert_eq!(status(&page, "/page.json", &[("host", host)]), Some(403), "{host}");
    }
    assert_eq!(status(&page, "/page.json", &[]), Some(403), "no host");
    assert_eq!(status(&page, "/metrics", &[("host", "localhost")]), None);
    assert_eq!(status(&page, "/page.html", &[("host", "localhost")]), None);
}

#[test]
fn a_password_is_needed_if_there_is_one() {
    let page = Page::new(Some(Credential::new("correct horse battery").unwrap()));
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    for (given, expected) in [
        (basic("operator:correct horse battery"), 200),
        (basic(":correct horse battery"), 200),
        (basic("operator:correct horse batterx"), 401),
        (basic("operator:"), 401),
        (basic("correct horse battery"), 401),
        ("Bearer correct horse battery".to_owned(), 401),
        ("Basic %%%".to_owned(), 401),
        (String::new(), 401),
    ] {
        let headers = [("host", "gw-a.example"), ("authorization", given.as_str())];
        assert_eq!(status(&page, "/page.json", &headers), Some(expected), "{given}");
    }
    let refused = page.answer(&request("/", &[("host", "127.0.0.1")]), || None).unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers()[WWW_AUTHENTICATE].to_str().unwrap().starts_with("Basic "));
}

#[test]
fn a_password_that_others_can_read_or_guess_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let write = |text: &str, mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        Credential::read(&file)
    };
    assert!(
        write("correct horse battery\n", 0o600)
            .unwrap()
            .admits(&format!("basic {}", STANDARD.encode("x:correct horse battery")))
    );
    assert!(write("correct horse battery\n", 0o644).err().unwrap().what().contains("others may read"));
    assert!(write("too short\n", 0o600).err().unwrap().what().contains("fewer than 16"));
}

#[test]
fn every_answer_forbids_all_that_the_page_does_not_need() {
    let page = Page::new(None);
    for (path, host) in [("/", "localhost"), ("/page.json", "localhost"), ("/", "evil.example")] {
        let answer = page.answer(&request(path, &[("host", host)]), || Some("{}".into())).unwrap();
        let header = |name: HeaderName| answer.headers()[name].to_str().unwrap().to_owned();
        let policy = header(CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(header(X_FRAME_OPTIONS), "DENY");
        assert_eq!(header(CACHE_CONTROL), "no-store");
        assert_eq!(header(X_CONTENT_TYPE_OPTIONS), "nosniff");
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let own = "http://www.w3.org/2000/svg";
    assert_eq!(HTML.replace(own, "").matches("://").count(), 0);
    for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " src=", "url("] {
        assert!(!HTML.contains(sink), "{sink}");
    }
}

fn pod(number: u8, gateway: &str, carrier: &str) -> PeerEntry {
    PeerEntry {
        public_key: format!("key-{number}"),
        host: format!("pod-{number}"),
        group: "gpu".into(),
        addresses: vec![IpAddr::from([10, 100, 0, number])],
        token: "token".into(),
        signer: None,
        source: None,
        state: "live".into(),
        since: "2026-01-01T00:00:00Z".into(),
        until: "2026-01-01T00:10:00Z".into(),
        last_handshake_age: Some(3.0),
        endpoint: Some("192.0.2.9:1".into()),
        carrier: Some(carrier.into()),
        rx_bytes: 1,
        tx_bytes: 2,
        flows: 3,
        gateway: Some(gateway.into()),
        rtt: Some(0.01),
        denied: 0,
        transfers: Vec::new(),
    }
}

fn report(name: &str, peers: Vec<PeerEntry>) -> Report {
    let mut interface = sample();
    interface.peers.clear();
    let status = GatewayStatus {
        fabric: "llm-training".into(),
        name: name.into(),
        draining: false,
        store: true,
        forward: "user".into(),
        forward_reason: "requested".into(),
        counters: Default::default(),
        leases: Default::default(),
        gateways: Vec::new(),
        sites: Vec::new(),
        dns: None,
        credentials: Vec::new(),
        direct_offers: 7,
        interface,
    };
    Report {
        status,
        rx_bytes: 0,
        tx_bytes: 0,
        groups: Vec::new(),
        peers,
        denied: Vec::new(),
        denied_recorded: true,
        events: Vec::new(),
    }
}

fn view(name: &str, report: Option<Report>) -> GatewayView {
    GatewayView { name: name.into(), age: report.as_ref().map(|_| 2.0), problem: None, report }
}

/// gw-a has all leases; only the gateway of a pod knows how it is reached.
#[test]
fn each_pod_is_shown_as_its_gateway_sees_it() {
    let own = report("gw-a", vec![pod(1, "gw-a", "udp"), pod(2, "gw-b", "udp"), pod(3, "gw-c", "udp")]);
    // pod-1 has left gw-b, which does not know that yet, and pod-4 has a lease in another store.
    let other = report("gw-b", vec![pod(2, "gw-b", "tls"), pod(1, "gw-b", "tls"), pod(4, "gw-b", "tls")]);
    let fabric = Fabric::new(own, vec![view("gw-b", Some(other)), view("gw-c", None)]);
    let shown: Vec<_> = fabric
        .pods
        .iter()
        .map(|pod| (pod.host.as_str(), pod.gateway.as_deref().unwrap(), pod.carrier.as_deref(), pod.rtt))
        .collect();
    assert_eq!(
        shown,
        [
            ("pod-1", "gw-a", Some("udp"), Some(0.01)),
            ("pod-2", "gw-b", Some("tls"), Some(0.01)),
            ("pod-3", "gw-c", None, None),
            ("pod-4", "gw-b", Some("tls"), Some(0.01)),
        ]
    );
    let names: Vec<&str> = fabric.gateways.iter().map(|view| view.name.as_str()).collect();
    assert_eq!((fabric.gateway.as_str(), &names[..]), ("gw-a", &["gw-a", "gw-b", "gw-c"][..]));
}

/// Gateways with stores of their own, whose leases name no gateway: a pod has moved from gw-a to gw-b.
#[test]
fn a_pod_that_moved_between_stores_is_where_it_answered_last() {
    let at = |gateway: Option<&str>, age: f64| PeerEntry {
        gateway: gateway.map(str::to_owned),
        last_handshake_age: Some(age),
        ..pod(1, "", "udp")
    };
    for old in [at(Some("gw-a"), 170.0), at(None, 900.0)] {
        let other = report("gw-b", vec![at(Some("gw-b"), 2.0)]);
        let fabric = Fabric::new(report("gw-a", vec![old]), vec![view("gw-b", Some(other))]);
        let shown: Vec<_> = fabric.pods.iter().map(|pod| (pod.gateway.as_deref(), pod.rx_bytes)).collect();
        assert_eq!(shown, [(Some("gw-b"), 1)]);
    }
}
