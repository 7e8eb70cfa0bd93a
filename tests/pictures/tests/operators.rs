//! The gateway's page for operators, from the gateway's own server, with 1,000 pods in real Chromium.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use serde_json::json;
use warren_pictures::devtools::DevTools;
use warren_tunnel::gateway::model::{
    DeniedFlow, Event, GatewayStatus, GroupRates, PeerEntry, Report, TransferEntry,
};
use warren_tunnel::gateway::page::{Credential, Fabric, GatewayView, Page};
use warren_tunnel::runtime::metrics::{Answer, RequestHead, Server, Source};
use warren_tunnel::runtime::status::Status;
use warren_tunnel::runtime::supervise::Supervisor;

const PODS: u32 = 1000;
/// Names that pods may choose. Any markup in them must stay text.
const HOSTILE: [&str; 3] = [
    "<img src=x onerror=alert(1)>",
    "</td><script>alert(2)</script>",
    "\"><svg/onload=alert(3)> javascript:alert(4)",
];

/// A gateway's metrics server with the page, whose data are those of a fabric that only exists here.
struct Fixture {
    page: Page,
    polls: AtomicU32,
    supervisor: Supervisor,
}

impl Source for Fixture {
    fn status(&self) -> Option<Status> {
        None
    }

    fn alive(&self) -> bool {
        true
    }

    fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    fn other(&self, request: &RequestHead) -> Option<Answer> {
        self.page.answer(request, || {
            let poll = self.polls.fetch_add(1, Ordering::Relaxed);
            Some(serde_json::to_vec(&fabric(poll)).unwrap().into())
        })
    }
}

fn serve(credential: Option<Credential>) -> (Server, String) {
    let page = Page::new(credential);
    let fixture = Fixture { page, polls: AtomicU32::new(0), supervisor: Supervisor::default() };
    let server = Server::start("127.0.0.1:0".parse().unwrap(), Arc::new(fixture)).unwrap();
    let address = format!("http://{}/", server.address());
    (server, address)
}

/// The fabric at a poll: every 5 seconds, pod N has received N times 10 kB more.
fn fabric(poll: u32) -> Fabric {
    let peers = (0..PODS).map(|number| pod(number, poll)).collect();
    let away = "connection refused: the gateway is not running";
    let other = GatewayView { name: "gw-b".into(), age: None, problem: Some(away.into()), report: None };
    Fabric::new(report(poll, peers), vec![other])
}

fn pod(number: u32, poll: u32) -> PeerEntry {
    let group = ["inference", "trainers", "workers"][number as usize % 3];
    let host =
        HOSTILE.get(number as usize).map_or_else(|| format!("train-{number}"), |host| (*host).to_owned());
    PeerEntry {
        public_key: format!("key-of-pod-{number:04}"),
        host,
        group: group.into(),
        addresses: vec![IpAddr::from([10, 100, (number / 250) as u8, (number % 250) as u8 + 1])],
        token: "a token".into(),
        signer: None,
        source: None,
        state: if number == 7 { "evicted" } else { "live" }.into(),
        since: "2026-01-01T00:00:00Z".into(),
        until: "2099-01-01T00:00:00Z".into(),
        last_handshake_age: Some(10.0),
        endpoint: Some("192.0.2.7:51820".into()),
        carrier: Some(if number.is_multiple_of(10) { "tls" } else { "udp" }.into()),
        rx_bytes: u64::from(poll) * 1000,
        tx_bytes: u64::from(poll) * u64::from(number) * 10_000,
        flows: u64::from(number % 5),
        gateway: Some(if number == 8 { "gw-b" } else { "gw-a" }.into()),
        rtt: Some(f64::from((number * 37) % 200) / 1000.0),
        denied: if number == 900 { 12_345 } else { 0 },
        transfers: if number == 900 { transfers() } else { Vec::new() },
    }
}

/// A download with a limit, and an upload that stands still.
fn transfers() -> Vec<TransferEntry> {
    let value = json!([
        { "direction": "in", "files": 12, "of_files": 40, "bytes": 3_100_000_000_u64, "of_bytes": 12_000_000_000_u64,
          "rate": 10_000_000, "planned_rate": 20_000_000, "eta_seconds": 890 },
        { "direction": "out", "files": 0, "of_files": 1, "bytes": 0, "of_bytes": 999, "rate": 0 },
    ]);
    serde_json::from_value(value).unwrap()
}

fn report(poll: u32, peers: Vec<PeerEntry>) -> Report {
    let interface = json!({
        "interface": "gw-a", "version": "1.2.3", "backend": "user", "backend_reason": "requested", "public_key": null,
        "listen_port": 51820, "fwmark": null, "mtu": 1420, "addresses": [], "at": 1_800_000_000 + poll * 5,
        "up_since": 1_799_990_000, "planned_rate_mbit": 10_000, "offloads": [], "drops": {}, "peers": [],
    });
    let status = GatewayStatus {
        fabric: "llm-training".into(),
        name: "gw-a".into(),
        draining: false,
        store: true,
        forward: "user".into(),
        forward_reason: "requested".into(),
        counters: Default::default(),
        leases: Default::default(),
        gateways: vec!["gw-a".into()],
        sites: Vec::new(),
        dns: None,
        credentials: Vec::new(),
        direct_offers: 7,
        interface: serde_json::from_value(interface).unwrap(),
    };
    let group =
        |name: &str| GroupRates { name: name.into(), rate_mbit: Some(2000), peer_rate_mbit: Some(100) };
    let denied = (0..40)
        .map(|number| DeniedFlow {
            at: "2026-01-01T00:00:00Z".into(),
            public_key: format!("key-of-pod-{number:04}"),
            group: "trainers".into(),
            source: IpAddr::from([10, 100, 0, 1]),
            destination: "2001:db8:1234:5678:9abc:def0:1234:5678".parse().unwrap(),
            protocol: "tcp".into(),
            port: Some(22),
            reason: "no rule of the group allows the destination, protocol and port".into(),
            count: 3,
        })
        .collect();
    let what = format!("{} joined", HOSTILE[0]);
    Report {
        status,
        rx_bytes: 0,
        tx_bytes: u64::from(poll) * 5_000_000_000,
        groups: ["inference", "trainers", "workers"].map(group).into(),
        peers,
        denied,
        denied_recorded: true,
        events: vec![Event { at: "2026-01-01T00:00:00Z".into(), what }],
    }
}

/// What a screen shows.
#[derive(Debug, Deserialize)]
struct Screen {
    /// Widths of the content and of the screen.
    wide: [f64; 2],
    /// Pods that are shown.
    rows: usize,
    /// Elements that reach beyond the screen.
    beyond: Vec<String>,
    /// Controls that are too small for a finger.
    small: Vec<String>,
    /// The least contrast of a text with its background (WCAG 2).
    contrast: f64,
    /// Milliseconds of the first rendering, without layout.
    render: f64,
}

const MEASURE: &str = "(() => {
    const screen = document.documentElement.clientWidth;
    const seen = (item) => item.getBoundingClientRect().width > 1 && item.checkVisibility();
    const name = (item) => item.tagName + ' ' + item.textContent.slice(0, 40);
    const sample = [...document.querySelectorAll('body *')].filter((item, at) => at < 2000 || at % 50 === 0).filter(seen);
    const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = parts(colour).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (item) => {
        for (let at = item; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (parts(colour)[3] !== 0) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const contrast = (item) => {
        const [a, b] = [light(getComputedStyle(item).color), light(behind(item))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
    };
    const texts = sample.filter((item) => [...item.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
    return {
        wide: [document.documentElement.scrollWidth, screen],
        rows: [...document.querySelectorAll('#pods tr:not(.group):not([hidden]) > td:first-child')].length,
        beyond: sample.filter((item) => item.getBoundingClientRect().right > screen + 1).map(name),
        small: [...document.querySelectorAll('input, button')].filter((item) => item.getBoundingClientRect().height < 24).map(name),
        contrast: Math.min(...texts.map(contrast)),
        render: performance.getEntriesByName('render')[0].duration,
    };
})()";
const READY: &str =
    "document.querySelectorAll('#pods td').length > 0 && document.title.includes('llm-training')";

#[test]
fn a_thousand_pods_fit_every_screen_in_light_and_dark() {
    let (_server, address) = serve(None);
    let mut chromium = DevTools::start().unwrap();
    let mut backgrounds = Vec::new();
    for (width, height) in [(390, 844), (1280, 900)] {
        for scheme in ["light", "dark"] {
            chromium.screen(width, height, scheme).unwrap();
            chromium.open(&address, READY).unwrap();
            let screen: Screen = chromium.value(MEASURE).unwrap();
            println!(
                "{width} pixels, {scheme}: {:.0} ms to render, contrast {:.1}",
                screen.render, screen.contrast
            );
            assert_eq!(screen.rows, PODS as usize);
            assert!(screen.wide[0] <= screen.wide[1], "{width} {scheme}: {:?}", screen.wide);
            assert!(screen.beyond.is_empty() && screen.small.is_empty(), "{width} {scheme}: {screen:?}");
            assert!(screen.contrast >= 4.5, "{width} {scheme}: {screen:?}");
            backgrounds
                .push(chromium.value::<String>("getComputedStyle(document.body).backgroundColor").unwrap());
            if let Ok(folder) = std::env::var("WARREN_PICTURES") {
                let path = std::path::Path::new(&folder).join(format!("operators-{width}-{scheme}.b64"));
                std::fs::write(path, chromium.picture().unwrap()).unwrap();
            }
        }
    }
    assert_eq!((&backgrounds[0], &backgrounds[1]), (&backgrounds[2], &backgrounds[3]));
    assert_ne!(backgrounds[0], backgrounds[1], "dark is light");
    let elsewhere: Vec<String> = chromium
        .requests()
        .into_iter()
        .filter(|url| !url.starts_with(&address) && !url.starts_with("data:"))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(chromium.requests().iter().any(|url| url.ends_with("/page.json")));
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}

/// The names of the first pods of the table, and the control with the focus.
fn first(chromium: &mut DevTools) -> Vec<String> {
    let names = "[...document.querySelectorAll('#pods tr:not(.group):not([hidden]) > td:first-child')].slice(0, 3).map((cell) => cell.textContent)";
    chromium.value(names).unwrap()
}

fn focus(chromium: &mut DevTools) -> String {
    chromium.value("document.activeElement.id || document.activeElement.textContent").unwrap()
}

#[test]
fn keys_are_enough_and_names_stay_text() {
    let (_server, address) = serve(None);
    let mut chromium = DevTools::start().unwrap();
    chromium.screen(1280, 900, "light").unwrap();
    chromium.open(&address, READY).unwrap();

    // Names are what pods say, and nothing of them is markup.
    let names: Vec<String> = chromium
        .value("[...document.querySelectorAll('#pods td:first-child')].map((cell) => cell.textContent)")
        .unwrap();
    for host in HOSTILE {
        assert!(names.iter().any(|name| name == host), "{host}");
    }
    let markup = "document.querySelectorAll('img, main script, iframe, a, td svg[onload], [onerror], [onload]').length";
    assert_eq!(chromium.value::<u32>(markup).unwrap(), 0);
    assert!(
        chromium
            .value::<String>("document.getElementById('events').textContent")
            .unwrap()
            .contains(HOSTILE[0])
    );

    // Tab reaches the filter first, which filters while somebody types.
    chromium.press("Tab").unwrap();
    assert_eq!(focus(&mut chromium), "filter");
    let outline = "getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth";
    assert_eq!(chromium.value::<String>(outline).unwrap(), "solid3px");
    for key in ["t", "l", "s"] {
        chromium.press(key).unwrap();
    }
    chromium.wait("document.getElementById('count').textContent === '100 of 1,000 pods'").unwrap();
    chromium.value::<bool>("(document.getElementById('filter').value = '', document.getElementById('filter').dispatchEvent(new Event('input')))").unwrap();

    // Then the columns, which Enter sorts by.
    let sort = |column: &str| {
        format!(
            "[...document.querySelectorAll('#pods th')].find((head) => head.textContent === '{column}').getAttribute('aria-sort')"
        )
    };
    assert_eq!(chromium.value::<String>(&sort("Name")).unwrap(), "ascending");
    for column in ["Name", "Address", "Gateway", "Lease", "Carrier", "Latency"] {
        chromium.press("Tab").unwrap();
        assert_eq!(focus(&mut chromium), column);
    }
    chromium.press("Enter").unwrap();
    assert_eq!(chromium.value::<String>(&sort("Latency")).unwrap(), "descending");
    assert_eq!(chromium.value::<String>(&sort("Name")).unwrap(), "none");
    let slowest = first(&mut chromium);
    chromium.press("Enter").unwrap();
    assert_eq!(chromium.value::<String>(&sort("Latency")).unwrap(), "ascending");
    assert_ne!(first(&mut chromium), slowest);
    for _ in ["Rate", "Of plan", "Flows", "Denied"] {
        chromium.press("Tab").unwrap();
    }
    chromium.press("Enter").unwrap();
    assert_eq!(first(&mut chromium)[0], "train-900", "most denied flows");

    // The second poll knows rates. Pod 900 receives 9 MB in 5 s, of the 100 Mbit/s that its group has per pod.
    chromium.wait("document.querySelectorAll('#pods td svg path').length > 0 && document.body.textContent.includes('↓ 14 Mbit/s')").unwrap();
    let row: String = chromium
        .value("[...document.querySelectorAll('#pods tr')].find((row) => row.title === 'key-of-pod-0900').innerText")
        .unwrap();
    for text in [
        "train-900",
        "10.100.3.151",
        "gw-a",
        "TLS",
        "100.0 ms",
        "↓ 14 Mbit/s ↑ 1.6 kbit/s",
        "14 %",
        "12,345",
        "↓ 3.1 GB of 12 GB, 12 of 40 files, 80 Mbit/s of 160 Mbit/s, 15 min left",
        "↑ 0 B of 999 B, 0 of 1 files, 0 bit/s",
    ] {
        assert!(row.contains(text), "{text} in {row}");
    }
    // Its gateway does not answer, so nothing but the lease of this pod is known.
    let row: String = chromium
        .value("[...document.querySelectorAll('#pods tr')].find((row) => row.title === 'key-of-pod-0008').innerText")
        .unwrap();
    assert!(row.contains("gw-b") && !row.contains("UDP") && !row.contains("bit/s"), "{row}");
    let cards: String = chromium.value("document.getElementById('gateways').innerText").unwrap();
    for text in [
        "gw-a (this one)",
        "↓ 8.0 Gbit/s ↑ 0 bit/s of 10 Gbit/s",
        "ready",
        "gw-b",
        "the gateway is not running",
    ] {
        assert!(cards.contains(text), "{text} in {cards}");
    }
    chromium.wait("document.querySelectorAll('#gateways svg path').length === 2").unwrap();
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}
