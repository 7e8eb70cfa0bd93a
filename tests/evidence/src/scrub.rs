//! Messages of real accounts without what tells whose they are.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What is replaced, and by what. The order counts: what holds an ID is replaced before the ID.
const RULES: &[(&str, &str)] = &[
    // The encoded message names the principal and its policies.
    (r"(Encoded authorization failure message: )\S+", "${1}(removed)"),
    (r"\bya29\.[\w.-]+", "(removed)"),
    (r"\beyJ[\w-]+\.[\w.-]+", "(removed)"),
    (r"\brpa_\w+", "(removed)"),
    (r"(?s)-----BEGIN .*?PRIVATE KEY-----.*?-----END .*?PRIVATE KEY-----", "(removed)"),
    (r"\b(AKIA|ASIA|AROA|AIDA|AGPA|AIPA|ANPA)[A-Z0-9]{12,}\b", "${1}EXAMPLE"),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", ZERO_UUID),
    (r"\bassumed-role/[\w+=,.@-]+/[\w+=,.@-]+", "assumed-role/role/session"),
    (r":(user|role)/[\w+=,.@/-]+", ":${1}/name"),
    (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "someone@example.com"),
    (r"\b(projects|folders|organizations)/[\w.:-]+", "${1}/acme-ml"),
    (r"\b([a-z]+(?:-[a-z]+)*)-(?:[0-9a-f]{17}|[0-9a-f]{8})\b", "${1}-0123456789abcdef0"),
    (r"\b\d{9,}\b", "111122223333"),
    (r"\b[A-Za-z0-9/+]{40,}={0,2}", "(removed)"),
];

const ZERO_UUID: &str = "00000000-0000-4000-8000-00000000000a";

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    RULES.iter().filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, *with))).collect()
});

static ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{0,4}){2,7}").ok()
});

/// The text without account IDs, keys, tokens, names of principals and projects, and public addresses.
pub fn scrub(text: &str) -> String {
    let text = COMPILED
        .iter()
        .fold(text.to_owned(), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned());
    let address = |found: &Captures<'_>| match found[0].parse() {
        Ok(IpAddr::V4(address)) if is_public(address) => "192.0.2.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.segments()[0] >> 13 == 1 => "2001:db8::1".to_owned(),
        _ => found[0].to_owned(),
    };
    match ADDRESS.as_ref() {
        Some(pattern) => pattern.replace_all(&text, address).into_owned(),
        None => text,
    }
}

fn is_public(address: Ipv4Addr) -> bool {
    let shared = address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_documentation()
        || shared)
}

#[cfg(test)]
mod tests {
    use super::{COMPILED, RULES, scrub};

    #[test]
    fn every_rule_is_a_regular_expression() {
        assert_eq!(COMPILED.len(), RULES.len());
    }

    #[test]
    fn what_tells_whose_it_is_goes_and_the_rest_stays() {
        let texts = [
            "The vpc 'vpc-0f528a336d9bb8bea' has dependencies and cannot be deleted.",
            "User: arn:aws:sts::405223848550:assumed-role/jenkins-prod/i-01260e96be8c8250c is not authorized to perform: ec2:DescribeVpcs",
            "User: arn:aws:iam::405223848550:user/teams/anna is not authorized",
            "denied. Encoded authorization failure message: 0l-KPWQJ8q5z3YatP3Ybgb5lf0dibDhN6KaE3jQ5Bu4",
            "key AKIA3SRGCRTRMP7F7R4X and token ya29.a0AfB_byC-1 and eyJhbGciOi.eyJzdWIi.c2ln and rpa_4KX9",
            "Required 'compute.networks.get' permission for 'projects/prod-42/global/networks/hub'",
            "for consumer 'project_number:764086051850' of anna.b@corp.example.org",
            "Service account gateway@prod-42.iam.gserviceaccount.com does not exist.",
            "The CIDR '10.0.1.0/24' conflicts; peer 52.95.110.1, 2600:1f18::7, fd00:ec2::254, 100.64.0.1",
            "request id: deb888c7-6d26-4e16-b6dd-476a8dee9f2e at 12:34:56",
            "secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEYwJalr=",
            "Quota 'NETWORKS' exceeded.  Limit: 5.0 globally.",
        ];
        let told: Vec<String> = texts.iter().map(|text| scrub(text)).collect();
        insta::assert_snapshot!(told.join("\n"));
        for text in &told {
            assert_eq!(scrub(text), *text, "a second pass changes it");
        }
        for secret in [
            "405223848550",
            "anna",
            "jenkins",
            "prod-42",
            "3SRGC",
            "52.95",
            "2600:",
            "KPWQ",
            "deb888",
            "bPxRf",
        ] {
            assert!(!told.join("\n").contains(secret), "{secret}");
        }
    }
}
