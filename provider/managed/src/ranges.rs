//! Validators of CIDR attributes: syntax, host bits and the limits of their cloud.

use ipnet::IpNet;
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path, Value};
use warren_cidr::{Cloud, Family, Finding, Severity, parse_cidr};

/// Validates the range of a network.
pub fn network(cloud: Cloud, family: Family) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        if let Some(net) = range(value, path, diagnostics, cloud, family) {
            report(cloud, cloud.check_network(&net), path, diagnostics);
        }
    }
}

/// Validates the range of a subnet.
pub fn subnet(cloud: Cloud, family: Family) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        if let Some(net) = range(value, path, diagnostics, cloud, family) {
            report(cloud, cloud.check_subnet(&net), path, diagnostics);
        }
    }
}

/// Validates any range.
pub fn any(cloud: Cloud, family: Family) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        range(value, path, diagnostics, cloud, family);
    }
}

/// The range of an attribute with one address family.
pub fn net<N: Copy + Into<IpNet>>(attribute: &Attr<N>) -> Attr<IpNet> {
    match attribute {
        Attr::Null => Attr::Null,
        Attr::Unknown => Attr::Unknown,
        Attr::Known(net) => Attr::Known((*net).into()),
    }
}

/// Adds the findings of the rules of the cloud.
pub fn report(cloud: Cloud, findings: Vec<Finding>, path: &Path, diagnostics: &mut Diagnostics) {
    for finding in findings {
        let detail = sentence(&finding.message);
        let diagnostic = match finding.severity {
            Severity::Error => Diagnostic::error(format!("Range not allowed in {}", called(cloud)), detail),
            Severity::Warning => {
                Diagnostic::warning(format!("Range not recommended in {}", called(cloud)), detail)
            }
        };
        diagnostics.push(diagnostic.at(path.clone()));
    }
}

fn range(
    value: &Value,
    path: &Path,
    diagnostics: &mut Diagnostics,
    cloud: Cloud,
    family: Family,
) -> Option<IpNet> {
    let want_v4 = family == Family::V4;
    let text = value.as_str()?;
    match parse_cidr(text) {
        // The cloud returns the canonical form, which would differ from the configuration forever.
        Ok(net) if net.addr().is_ipv4() == want_v4 && net.to_string() != text => {
            diagnostics.error_at(
                path.clone(),
                "Range not in canonical form",
                format!("{} reports {text} as {net}. Write it as {net}.", called(cloud)),
            );
            None
        }
        Ok(net) if net.addr().is_ipv4() == want_v4 => Some(net),
        Ok(net) => {
            let (want, got) = if want_v4 { ("an IPv4", "IPv6") } else { ("an IPv6", "IPv4") };
            diagnostics.error_at(
                path.clone(),
                "Range of the wrong address family",
                format!("{net} is an {got} range, but this attribute requires {want} range."),
            );
            None
        }
        Err(error) => {
            diagnostics.error_at(path.clone(), "Invalid CIDR range", sentence(&error.to_string()));
            None
        }
    }
}

fn called(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::Aws => "AWS",
        Cloud::Gcp => "Google Cloud",
        Cloud::Overlay => "the overlay",
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
        type Check = Box<dyn Fn(&Value, &Path, &mut Diagnostics)>;
        let v4 = || -> Check { Box::new(network(Cloud::Aws, Family::V4)) };
        for (check, text) in [
            (v4(), "10.0.0.0/16"),
            (v4(), "10.0.0.1/16"),
            (v4(), "10.0.0.0/8"),
            (v4(), "172.17.0.0/16"),
            (v4(), "fd00::/64"),
            (Box::new(subnet(Cloud::Aws, Family::V4)), "10.0.0.0/29"),
            (Box::new(subnet(Cloud::Aws, Family::V6)), "2001:db8::/62"),
            (Box::new(any(Cloud::Aws, Family::V6)), "2001:DB8:0::/32"),
            (Box::new(any(Cloud::Aws, Family::V4)), "ten"),
            (Box::new(subnet(Cloud::Gcp, Family::V4)), "10.0.0.0/30"),
            (Box::new(subnet(Cloud::Gcp, Family::V4)), "169.254.0.0/20"),
            (Box::new(subnet(Cloud::Gcp, Family::V4)), "10.128.0.0/20"),
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
