//! Checks of CIDR attributes: syntax, host bits and the limits of AWS.

use ipnet::IpNet;
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Value};
use warren_cidr::{Cloud, Finding, Severity, parse_cidr};

/// A check of one value.
type Check = fn(&Value, &Path, &mut Diagnostics);

/// An IPv4 range that a VPC can have.
pub(crate) const VPC_IPV4: Check = |value, path, diagnostics| {
    if let Some(net) = ipv4(value, path, diagnostics) {
        tell(Cloud::Aws.check_network(&net), path, diagnostics);
    }
};

/// An IPv4 range that a subnet can have.
pub(crate) const SUBNET_IPV4: Check = |value, path, diagnostics| {
    if let Some(net) = ipv4(value, path, diagnostics) {
        tell(Cloud::Aws.check_subnet(&net), path, diagnostics);
    }
};

/// An IPv6 range that a subnet can have.
pub(crate) const SUBNET_IPV6: Check = |value, path, diagnostics| {
    if let Some(net) = ipv6(value, path, diagnostics) {
        tell(Cloud::Aws.check_subnet(&net), path, diagnostics);
    }
};

/// Any IPv4 range.
pub(crate) const IPV4: Check = |value, path, diagnostics| {
    ipv4(value, path, diagnostics);
};

/// Any IPv6 range.
pub(crate) const IPV6: Check = |value, path, diagnostics| {
    ipv6(value, path, diagnostics);
};

/// Applies `check` to each known element of a set or list.
pub(crate) fn each(check: Check) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        for item in value.as_slice().into_iter().flatten() {
            if item.as_str().is_some() {
                check(item, path, diagnostics);
            }
        }
    }
}

/// The range of a known attribute; `None` when it is unknown, null or was refused by its validator.
pub(crate) fn known(attribute: &Attr<String>) -> Option<IpNet> {
    parse_cidr(attribute.known()?).ok()
}

/// Adds what the rules of the cloud found.
pub(crate) fn tell(findings: Vec<Finding>, path: &Path, diagnostics: &mut Diagnostics) {
    for finding in findings {
        let detail = sentence(&finding.message);
        let diagnostic = match finding.severity {
            Severity::Error => Diagnostic::error("Range not possible in AWS", detail),
            Severity::Warning => Diagnostic::warning("Range better avoided in AWS", detail),
        };
        diagnostics.push(diagnostic.at(path.clone()));
    }
}

fn ipv4(value: &Value, path: &Path, diagnostics: &mut Diagnostics) -> Option<IpNet> {
    family(value, path, diagnostics, true)
}

fn ipv6(value: &Value, path: &Path, diagnostics: &mut Diagnostics) -> Option<IpNet> {
    family(value, path, diagnostics, false)
}

fn family(value: &Value, path: &Path, diagnostics: &mut Diagnostics, want_v4: bool) -> Option<IpNet> {
    let text = value.as_str()?;
    match parse_cidr(text) {
        // AWS answers with the canonical form, which would then differ from the configuration for ever.
        Ok(net) if net.addr().is_ipv4() == want_v4 && net.to_string() != text => {
            diagnostics.error_at(
                path.clone(),
                "Range not in its short form",
                format!("AWS writes {text} as {net}; write it so too."),
            );
            None
        }
        Ok(net) if net.addr().is_ipv4() == want_v4 => Some(net),
        Ok(net) => {
            let (want, got) = if want_v4 { ("an IPv4", "IPv6") } else { ("an IPv6", "IPv4") };
            diagnostics.error_at(
                path.clone(),
                "Range of the wrong family",
                format!("{net} is {got}, but this attribute takes {want} range."),
            );
            None
        }
        Err(error) => {
            diagnostics.error_at(path.clone(), "Not a CIDR range", sentence(&error.to_string()));
            None
        }
    }
}

/// With a capital letter, and with a full stop unless it ends in a question.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let end = if text.ends_with('?') { "" } else { "." };
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).chain(end.chars()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_range_is_told() {
        let mut told = Vec::new();
        for (check, text) in [
            (VPC_IPV4, "10.0.0.0/16"),
            (VPC_IPV4, "10.0.0.1/16"),
            (VPC_IPV4, "10.0.0.0/8"),
            (VPC_IPV4, "172.17.0.0/16"),
            (VPC_IPV4, "fd00::/64"),
            (SUBNET_IPV4, "10.0.0.0/29"),
            (SUBNET_IPV6, "2001:db8::/62"),
            (IPV6, "2001:DB8:0::/32"),
            (IPV4, "ten"),
        ] {
            let mut diagnostics = Diagnostics::default();
            check(&Value::from(text), &Path::of("cidr_block"), &mut diagnostics);
            let lines: Vec<String> = diagnostics
                .0
                .iter()
                .map(|d| format!("  {:?} {}: {}", d.severity, d.summary, d.detail))
                .collect();
            told.push(format!("{text}\n{}", lines.join("\n")));
        }
        insta::assert_snapshot!(told.join("\n"));
    }
}
