//! Assertions about reachability in a network.

use crate::Site;
use crate::topology::Protocol;

/// What an assertion expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// No source reaches any destination.
    Unreachable,
    /// Every source reaches every destination.
    Reachable,
    /// Every source resolves the service's names to an endpoint and reaches it, not over the internet.
    Endpoint,
}

/// The places that an assertion covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Any host on the internet.
    Internet,
    /// A service: `s3`.
    Service(String),
    /// A host name, as the source resolves it.
    Name(String),
    /// Subnets of networks with this name. `*` matches any text.
    Network(String),
    /// Subnets with this name.
    Subnet(String),
    /// Instances with this name.
    Host(String),
    /// Peers of groups with this name; `FABRIC/GROUP` if there are several overlays.
    Group(String),
    /// Networks or subnets with this name.
    Any(String),
}

/// One assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// Its name, for reports.
    pub name: String,
    /// The sentence of the documentation that it states, if any.
    pub promise: Option<String>,
    /// Where it is defined.
    pub site: Site,
    /// Sources, which open connections.
    pub from: Vec<Selector>,
    /// Destinations.
    pub to: Vec<Selector>,
    /// The expectation.
    pub expect: Expect,
    /// Protocol and ports.
    pub protocol: Protocol,
    /// Whether a selector may match nothing.
    pub allow_empty: bool,
}

/// Whether a name matches a pattern, in which `*` matches any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether a text matches a pattern of an AWS policy, in which `*` matches any text and `?` one character.
pub fn like(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return text.is_empty() };
    let rest = pattern.trim_start_matches(first);
    if first == '*' {
        // Several in a row match what one does.
        let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        return starts.into_iter().any(|at| like(rest, &text[at..]));
    }
    let mut chars = text.chars();
    let same = chars.next().is_some_and(|it| first == '?' || first == it);
    same && like(&pattern[first.len_utf8()..], chars.as_str())
}

/// Whether a host name is a domain or in it.
pub fn within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')) || domain.is_empty()
}
