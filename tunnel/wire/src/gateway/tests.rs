use super::*;

pub(super) const GOOD: &str = r#"
fabric = "llm-training"
name = "gw-a"

[listen]
tls = "0.0.0.0:443"

[keys]
private_key_file = "/etc/warren/gateway.key"
certificate_file = "/etc/warren/gateway.crt"
certificate_key_file = "/etc/warren/gateway-tls.key"
token_keys = ["k4.public.Hrnbu7wEfAP9cGBOAHHwmH4Wsot1ciXBHwBBXQ4gsaI"]

[pool]
prefixes = ["10.100.0.0/16", "fd00:1::/64"]
reserved = ["10.100.0.1"]

[lease]
ttl = "10m"
quarantine = "5m"

[store.embedded]
path = "/var/lib/warren/leases.redb"

[dns]
servers = ["10.0.0.2"]
domains = ["storage.googleapis.com."]

[peers]
mtu = 1380

[[gateways]]
name = "gw-a"
key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
udp = "gw-a.example.com:51820"
tls = "gw-a.example.com:443"
pins = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]

[groups.gpu]
rate_mbit = 2000
[[groups.gpu.allow]]
to = ["10.0.0.0/16", "10.1.0.0/16"]
ports = [443, "8000-8100"]
protocols = ["tcp"]
[[groups.gpu.allow]]
to = ["10.0.0.2/32"]

[groups.idle]

[site]
addresses = ["10.100.0.1", "fd00:2::1"]
[[site.peers]]
name = "gcp-hub"
key = "qRxnQ8jrCu21bfcs2OMAvyPRjqhPMVjbw3CvAD2aXwI="
endpoint = "gw.gcp.example.com:51820"
addresses = ["10.101.0.1"]
prefixes = ["10.4.0.0/16", "fd00:4::/48"]
group = "gpu"
[[site.peers]]
name = "on-prem"
key = "3vVfYQ6oQkNE9TJkRt3XQwlVLTjiZUP3K6wY1bZqpBQ="
addresses = ["10.102.0.1"]
group = "idle"

[limits]
request_timeout = "5s"
"#;

#[test]
fn a_whole_file_is_read() {
    let config = GatewayConfig::parse(GOOD).unwrap();
    assert_eq!(config.listen.udp, 51820);
    assert_eq!(config.peers.mtu, 1380);
    assert_eq!(config.lease.ttl.get(), Duration::from_secs(600));
    assert_eq!(config.limits.request_timeout.to_string(), "5s");
    let rule = &config.groups[&"gpu".parse().unwrap()].allow[0];
    assert_eq!(rule.ports.as_ref().unwrap()[1], "8000-8100".parse().unwrap());
    assert_eq!(rule.protocols, Some(vec![Protocol::Tcp]));
    assert_eq!(config.routes(&"gpu".parse().unwrap()), ["10.0.0.0/15".parse().unwrap()]);
    assert_eq!(config.routes(&"idle".parse().unwrap()), []);
    assert_eq!(config.site.peers[0].allowed_ips().len(), 3);
    assert_eq!(config.site.peers[1].endpoint, None);
    assert_eq!(config.dns.domains[0].to_string(), "storage.googleapis.com");
}

#[test]
fn mistakes_are_told_with_place_and_hint() {
    let mut out = String::new();
    for (from, to) in [
        ("name = \"gw-a\"\n\n", "\n"),
        ("fabric = \"llm-training\"", "fabric = \"LLM training\""),
        ("fabric = ", "fabrik = "),
        ("prefixes = [\"10", "prefix = [\"10"),
        ("prefixes = [\"10.100.0.0/16\"", "prefixes = [\"10.100.0.1/16\""),
        ("prefixes = [\"10.100.0.0/16\"", "prefixes = [\"10.100.0.0/16\", \"10.100.7.0/24\""),
        ("prefixes = [\"10.100.0.0/16\"", "prefixes = [\"10.100.0.0\""),
        ("prefixes = [\"10.100.0.0/16\", \"fd00:1::/64\"]", "prefixes = []"),
        ("prefixes = [\"10.100.0.0/16\"", "prefixes = [\"0.0.0.0/0\""),
        ("prefixes = [\"10.100.0.0/16\"", "prefixes = [\"127.0.0.0/8\""),
        ("[groups.gpu]\n", "[[groups.near.allow]]\nto = [\"10.100.7.0/24\"]\n[groups.gpu]\n"),
        ("[groups.gpu]\n", "[[groups.near.allow]]\nto = [\"group:far\"]\n[groups.gpu]\n"),
        ("[groups.gpu]\n", "[[groups.near.allow]]\nto = [\"group:idle\"]\n[groups.gpu]\n"),
        ("[groups.gpu]\n", "[[groups.near.allow]]\nto = [\"group: x\"]\n[groups.gpu]\n"),
        ("[groups.gpu]\n", "[[groups.near.allow]]\nto = [\"10.0.0.0/33\"]\n[groups.gpu]\n"),
        ("[groups.idle]", "[[groups.near.grants]]\nobjects = \"s3://acme-data/llm/\"\naccess = \"read\"\n"),
        ("[groups.idle]", "[[groups.near.grants]]\nobjects = \"gs://acme-data/llm/\"\naccess = \"read\"\n"),
        ("[groups.idle]", "[[groups.near.grants]]\nobjects = \"s3://acme-data/llm\"\naccess = \"read\"\n"),
        ("[groups.idle]", "[[groups.near.grants]]\nobjects = \"s3://acme-data/llm/\"\naccess = \"write\"\n"),
        ("[groups.idle]", "[[groups.gpu.grants]]\nobjects = \"s3://acme-data/llm/\"\naccess = \"read\"\n"),
        ("[groups.idle]", "[credentials.aws]\nrole_arn = \"warren-pods\"\nregion = \"us-east-1\"\n"),
        (
            "[groups.idle]",
            "[credentials.aws]\nrole_arn = \"arn:aws:iam::123456789012:role/pods\"\nregion = \"us-east-1\"\nduration = \"10m\"\n",
        ),
        ("[store.embedded]", "[store.etcd]\nendpoints = [\"http://etcd:2379\"]\n[store.embedded]"),
        ("reserved = [\"10.100.0.1\"]", "reserved = [\"10.99.0.1\"]"),
        ("ttl = \"10m\"", "ttl = \"10 minutes\""),
        ("ttl = \"10m\"", "ttl = \"30s\""),
        ("ttl = \"10m\"", "ttl = 600"),
        ("quarantine = \"5m\"", "quarantine = \"8d\""),
        ("quarantine = \"5m\"", "store_grace = \"5s\""),
        ("quarantine = \"5m\"", "store_grace = \"201s\""),
        ("quarantine = \"5m\"", "max = \"9m\""),
        ("quarantine = \"5m\"", "max = \"401d\""),
        ("[store.embedded]\npath", "[store.etcd]\nendpoints = [\"etcd-1:2379\"]\nprefix"),
        ("[store.embedded]", "[store.redis]"),
        ("mtu = 1380", "mtu = 500"),
        ("mtu = 1380", "mtu = 100000"),
        ("mtu = 1380", "keepalive_seconds = 0"),
        ("name = \"gw-a\"\nkey", "name = \"gw-b\"\nkey"),
        ("pins = [", "pins = [\"short\", "),
        ("ports = [443, ", "ports = [0, "),
        ("\"8000-8100\"", "\"8100-8000\""),
        ("protocols = [\"tcp\"]", "protocols = [\"sctp\"]"),
        ("rate_mbit = 2000", "rate_mbit = 0"),
        ("request_timeout = \"5s\"", "connections = 0"),
        ("name = \"gw-a\"\n\n", "name = \"gw-a\"\ncongestion = \"reno\"\n\n"),
        ("rate_mbit = 2000", "congestion = \"BBR\""),
        ("name = \"gw-a\"\n\n", "name = \"gw-a\"\nplanned_rate_mbit = 0\n\n"),
        ("token_keys = [\"k4.public.", "token_keys = [\"k4.secret."),
        ("token_keys = [\"k4.public.Hrnbu7wEfAP9cGBOAHHwmH4Wsot1ciXBHwBBXQ4gsaI\"]", "token_keys = []"),
        (
            "private_key_file = \"/etc/warren/gateway.key\"",
            "private_key = \"qOV1PxhHpRWQrXlTI0I4QKMKVJ2TWMRwGQ3qRtT7XXw=\"",
        ),
        ("addresses = [\"10.100.0.1\"", "addresses = [\"10.100.0.2\""),
        ("name = \"on-prem\"", "name = \"gcp-hub\""),
        ("addresses = [\"10.102.0.1\"]", "addresses = []"),
        ("prefixes = [\"10.4.0.0/16\"", "prefixes = [\"10.4.0.1/16\""),
        ("prefixes = [\"10.4.0.0/16\"", "prefixes = [\"10.96.0.0/11\""),
        ("\"10.100.0.1\", \"fd00:2::1\"", "\"10.100.0.1\""),
        ("addresses = [\"10.102.0.1\"]", "addresses = [\"10.4.0.1\"]"),
        ("addresses = [\"10.102.0.1\"]", "addresses = [\"10.100.0.1\"]"),
        ("group = \"idle\"", "group = \"nobody\""),
        ("[dns]", "[dns"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = GatewayConfig::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(!error.to_string().contains("qOV1"), "{error}");
        out += &format!("# {}\n{error}\n\n", to.replace('\n', " "));
    }
    insta::assert_snapshot!(out);
}

/// A group's congestion control is used for its peers; else the gateway's, which is BBR unless set.
#[test]
fn a_group_overrides_the_congestion_control_of_its_gateway() {
    let (gpu, idle): (Name, Name) = ("gpu".parse().unwrap(), "idle".parse().unwrap());
    let chosen = |of_gateway: &str, of_group: &str| {
        let text = GOOD
            .replacen("name = \"gw-a\"\n", &format!("name = \"gw-a\"\n{of_gateway}\n"), 1)
            .replacen("rate_mbit = 2000", of_group, 1);
        let config = GatewayConfig::parse(&text).unwrap();
        [Some(&gpu), Some(&idle), None].map(|group| config.congestion_of(group))
    };
    let (bbr, cubic) = ("congestion = \"bbr\"", "congestion = \"cubic\"");
    assert_eq!(chosen("", ""), [Congestion::Bbr; 3]);
    assert_eq!(chosen(cubic, ""), [Congestion::Cubic; 3]);
    assert_eq!(chosen("", cubic), [Congestion::Cubic, Congestion::Bbr, Congestion::Bbr]);
    assert_eq!(chosen(cubic, bbr), [Congestion::Bbr, Congestion::Cubic, Congestion::Cubic]);
}

/// The file with two zones in place of `[dns]`.
fn with_zones() -> String {
    GOOD.replace("servers = [\"10.0.0.2\"]\ndomains = [\"storage.googleapis.com.\"]\n", "").replace(
        "[dns]\n",
        "[[dns.zones]]\ndomains = [\"s3.us-east-1.amazonaws.com\", \"Example.COM.\"]\nresolvers = [\"172.16.0.2\"]\n\n\
         [[dns.zones]]\ndomains = [\"googleapis.com\"]\nresolvers = [\"10.101.0.1\", \"169.254.169.254\"]\n",
    )
}

#[test]
fn the_first_address_of_the_pool_answers_for_zones() {
    let config = GatewayConfig::parse(&with_zones()).unwrap();
    let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
    assert_eq!(config.dns_addresses(), addresses(&["10.100.0.1", "fd00:1::1"]));
    assert_eq!(config.name_server_addresses(), addresses(&["10.100.0.1", "fd00:1::1", "fd00:2::1"]));
    assert_eq!(config.reserved(), addresses(&["10.100.0.1", "10.100.0.1", "fd00:1::1"]));
    let routes = config.routes(&"idle".parse().unwrap());
    assert_eq!(routes, ["10.100.0.1/32".parse().unwrap(), "fd00:1::1/128".parse().unwrap()]);
    let zones = config.dns_zones();
    assert_eq!(zones[0].domains[1].as_str(), "example.com");
    assert_eq!(zones[1].servers, config.dns_addresses());
    assert_eq!(config.dns.of_peers(), crate::enrolment::Dns::default());
    let without = GatewayConfig::parse(GOOD).unwrap();
    assert!(without.dns_addresses().is_empty() && without.dns_zones().is_empty());
    assert_eq!(without.reserved(), addresses(&["10.100.0.1"]));

    for (prefixes, expected) in
        [("10.9.0.4/31", "10.9.0.4"), ("10.9.0.4/32", "10.9.0.4"), ("10.9.0.4/30", "10.9.0.5")]
    {
        let pool = Pool { prefixes: vec![prefixes.parse().unwrap()], reserved: Vec::new() };
        assert_eq!(pool.first_addresses(), addresses(&[expected]));
    }
}

/// A rule about a group gives both groups the pool as a route, and all pods their names.
#[test]
fn groups_that_reach_each_other_have_routes_and_names() {
    let rule =
        "[[groups.gpu.allow]]\nto = [\"group:idle\"]\nports = [29500]\n\n[groups.other]\n\n[groups.idle]";
    let (file, _) = GOOD.split_once("[site]").unwrap();
    let config = GatewayConfig::parse(&file.replace("[groups.idle]", rule)).unwrap();
    let group = |name: &str| name.parse().unwrap();
    assert_eq!(config.groups[&group("gpu")].allow[2].to_groups, [group("idle")]);
    let pool: Vec<IpNet> = ["10.100.0.0/16", "fd00:1::/64"].map(|net| net.parse().unwrap()).to_vec();
    assert_eq!(config.routes(&group("idle")), pool);
    assert!(pool.iter().all(|net| config.routes(&group("gpu")).contains(net)));
    let own: Vec<IpAddr> = ["10.100.0.1", "fd00:1::1"].map(|own| own.parse().unwrap()).to_vec();
    assert_eq!(config.routes(&group("other")), own.iter().map(|own| IpNet::from(*own)).collect::<Vec<_>>());
    assert_eq!(config.dns_addresses(), own);
    assert_eq!(config.dns_zones()[0].domains[0].as_str(), PEER_DOMAIN);
    let name = |host: &str| peer_name(host, &group("gpu"));
    assert_eq!(name("Train_0.acme.example").as_deref(), Some("train-0.gpu.warren.internal"));
    assert_eq!(name("-.x"), None);
}

#[test]
fn mistakes_in_zones_are_told_with_the_line_of_the_zone() {
    let good = with_zones();
    let mut out = String::new();
    for (from, to) in [
        ("domains = [\"googleapis.com\"]", "domains = []"),
        ("domains = [\"googleapis.com\"]", "domains = [\"googleapis.com\", \"EXAMPLE.com\"]"),
        ("domains = [\"googleapis.com\"]", "domains = [\".\"]"),
        ("domains = [\"googleapis.com\"]", "domains = [\"gpu.warren.internal\"]"),
        ("domains = [\"googleapis.com\"]", "domain = [\"googleapis.com\"]"),
        ("resolvers = [\"10.101.0.1\", \"169.254.169.254\"]", "resolvers = []"),
        ("resolvers = [\"10.101.0.1\"", "resolvers = [\"fe80::1\""),
        ("resolvers = [\"10.101.0.1\"", "resolvers = [\"0.0.0.0\""),
        ("resolvers = [\"10.101.0.1\"", "resolvers = [\"10.100.0.1\""),
        ("resolvers = [\"10.101.0.1\"", "resolvers = [\"fd00:2::1\""),
        ("resolvers = [\"10.101.0.1\"", "resolvers = [\"10.100.7.7\""),
        ("resolvers = [\"10.101.0.1\"", "resolvers = [\"dns.example.com\""),
        ("[[dns.zones]]\n", "[dns]\nservers = [\"10.0.0.2\"]\n[[dns.zones]]\n"),
        ("addresses = [\"10.102.0.1\"]", "addresses = [\"fd00:1::1\"]"),
        ("request_timeout = \"5s\"", "dns_queries_per_second_and_peer = 0"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = GatewayConfig::parse(&good.replacen(from, to, 1)).unwrap_err();
        out += &format!("# {}\n{error}\n\n", to.replace('\n', " "));
    }
    insta::assert_snapshot!(out);
}

#[test]
fn the_page_is_served_to_this_machine_or_with_a_password() {
    let page = |text: &str| toml::from_str::<Page>(text).unwrap();
    let at = |address: &str| address.parse::<SocketAddr>().unwrap();
    let password = "password_file = \"p\"";
    for (text, address, served) in [
        ("", "127.0.0.1:9586", true),
        ("", "[::1]:9586", true),
        ("", "0.0.0.0:9586", false),
        ("", "10.0.0.5:9586", false),
        ("enabled = true", "127.0.0.1:9586", true),
        ("enabled = false", "127.0.0.1:9586", false),
        (password, "10.0.0.5:9586", true),
        ("enabled = false\npassword_file = \"p\"", "10.0.0.5:9586", false),
    ] {
        assert_eq!(page(text).is_served_at(at(address)), Ok(served), "{text:?} at {address}");
    }
    for address in ["0.0.0.0:9586", "[::]:9586", "10.0.0.5:9586", "[::ffff:127.0.0.1]:9586"] {
        page("enabled = true").is_served_at(at(address)).unwrap_err();
        let file = GOOD.replace(
            "443\"\n\n[keys]",
            &format!("443\"\nmetrics = \"{address}\"\n[page]\nenabled = true\n\n[keys]"),
        );
        let error = GatewayConfig::parse(&file).unwrap_err();
        assert_eq!(error.line, 9, "{error:?}");
        assert!(error.what.contains("without a password") && error.what.contains(address), "{error:?}");
        assert!(error.hint.contains("password_file"), "{error:?}");
        GatewayConfig::parse(&file.replace("enabled = true", password)).unwrap();
        GatewayConfig::parse(&file.replace("enabled = true", "")).unwrap();
    }
}

#[test]
fn durations_round_trip() {
    for text in ["0s", "90s", "10m", "24h", "7d"] {
        let period: Period = text.parse().unwrap();
        assert_eq!(period.to_string().parse(), Ok(period));
    }
    for bad in ["", "s", "10", "-1s", "1.5h", "+3s", "99999999999999999999d", "9223372036854775807d"] {
        assert_eq!(bad.parse::<Period>(), Err(PeriodError), "{bad}");
    }
}

/// The example with groups of pods, whose direct rule is changed.
fn direct(before: &str, after: &str) -> Result<GatewayConfig, ParseError> {
    let rules = "[groups.trainers]\n[[groups.trainers.allow]]\nto = [\"group:trainers\", \"group:workers\"]\n\
                 ports = [22, \"29500-29600\"]\nprotocols = [\"tcp\", \"icmp\"]\ndirect = true\n[groups.workers]\n\n[groups.idle]";
    GatewayConfig::parse(&GOOD.replace("[groups.idle]", &rules.replace(before, after)))
}

#[test]
fn direct_rules_open_ports_and_name_the_service() {
    let config = direct("", "").unwrap();
    let [trainers, workers, gpu]: [Name; 3] =
        ["trainers", "workers", "gpu"].map(|name| name.parse().unwrap());
    let opening = |protocol, first, last| Opening { protocol, first, last };
    let all = [(Protocol::Tcp, 22, 22), (Protocol::Tcp, 29500, 29600), (Protocol::Icmp, 0, 0)]
        .map(|(p, a, b)| opening(p, a, b));
    assert_eq!(config.openings(&trainers, &workers), all);
    assert_eq!(config.openings(&trainers, &trainers), all);
    assert!(config.openings(&workers, &trainers).is_empty());
    let service = config.direct_service(&workers).unwrap();
    assert_eq!(service.servers, ["10.100.0.1:9581".parse().unwrap(), "[fd00:1::1]:9581".parse().unwrap()]);
    assert_eq!(service.peers, config.pool.prefixes);
    assert_eq!(config.direct_service(&gpu), None);
    assert!(all[1].permits(Protocol::Tcp, 29600) && !all[1].permits(Protocol::Udp, 29600));
    let without = direct("direct = true\n", "").unwrap();
    assert!(!without.has_direct_rules() && without.direct_service(&trainers).is_none());
    // Without ports, all of them.
    let every = direct("ports = [22, \"29500-29600\"]\n", "").unwrap();
    assert_eq!(every.openings(&trainers, &workers)[0], opening(Protocol::Tcp, 0, 65535));
}

#[test]
fn what_a_gateway_cannot_enforce_is_not_direct() {
    let refused = |before, after| direct(before, after).unwrap_err();
    insta::assert_snapshot!("direct_range", refused("\"group:workers\"]", "\"10.0.0.0/16\"]"));
    insta::assert_snapshot!(
        "direct_rate",
        refused("[groups.workers]\n", "[groups.workers]\npeer_rate_mbit = 20\n")
    );
}
