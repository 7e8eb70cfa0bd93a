//! Values of single settings.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

use super::error::{Problem, show};
use super::{Endpoint, Host, Table};
use crate::pin::Pins;
use crate::text::serde_as_text;

/// The least MTU that IPv4 wants every host to take.
const LEAST_MTU: u16 = 576;

pub(super) fn key<K>(
    name: &str,
    value: &str,
    read: fn(&str) -> Result<K, crate::KeyError>,
) -> Result<K, Problem> {
    let hint = match name {
        "PrivateKey" => "create one with `warren-tunnel genkey`",
        "PresharedKey" => "both ends have the same key, 44 characters of base64 that end with `=`",
        _ => "`warren-tunnel pubkey` derives it from the peer's private key",
    };
    read(value).map_err(|error| {
        let what = match error {
            crate::KeyError::Base64Length(length) => {
                format!("{name} has {length} characters, a key in base64 has 44")
            }
            _ => format!("{name} is not canonical base64"),
        };
        Problem::new(what, hint)
    })
}

pub(super) fn port(name: &str, value: &str) -> Result<u16, Problem> {
    value.parse().map_err(|_| {
        Problem::new(
            format!("{name} {} is not a port", show(value)),
            "write a number from 0 to 65535; 0 means any",
        )
    })
}

pub(super) fn fwmark(value: &str) -> Result<Option<u32>, Problem> {
    if value.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    number(value).map(|mark| (mark != 0).then_some(mark)).ok_or_else(|| {
        Problem::new(
            format!("FwMark {} is not a mark", show(value)),
            "write a number of 32 bits, decimal or like 0xca6c, or `off`",
        )
    })
}

pub(super) fn mtu(value: &str) -> Result<u16, Problem> {
    value.parse().ok().filter(|mtu| *mtu >= LEAST_MTU).ok_or_else(|| {
        Problem::new(
            format!("MTU {} is out of range", show(value)),
            "write a number from 576 to 65535; 1420 fits a path of 1500, IPv6 inside the tunnel needs at least 1280",
        )
    })
}

pub(super) fn table(value: &str) -> Result<Table, Problem> {
    if value.eq_ignore_ascii_case("auto") {
        return Ok(Table::Auto);
    }
    if value.eq_ignore_ascii_case("off") {
        return Ok(Table::Off);
    }
    number(value).filter(|table| *table != 0).map(Table::Number).ok_or_else(|| {
        Problem::new(
            format!("Table {} is not a valid routing table", show(value)),
            "write `auto`, `off` or the number of a table; names are in /etc/iproute2/rt_tables",
        )
    })
}

pub(super) fn keepalive(value: &str) -> Result<Option<u16>, Problem> {
    if value.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    value.parse().map(|seconds: u16| (seconds != 0).then_some(seconds)).map_err(|_| {
        Problem::new(
            format!("PersistentKeepalive {} is out of range", show(value)),
            "write seconds from 1 to 65535, usually 25, or `off`",
        )
    })
}

pub(super) fn boolean(name: &str, value: &str) -> Result<bool, Problem> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Problem::new(format!("{name} {} is not a boolean", show(value)), "write `true` or `false`")),
    }
}

pub(super) fn net(name: &str, value: &str) -> Result<IpNet, Problem> {
    if value.is_empty() {
        return Err(Problem::new(format!("{name} has an empty item"), "remove the comma or write a range"));
    }
    let problem = |hint: &str| Problem::new(format!("{name}: {} is not a range", show(value)), hint);
    let Some((address, length)) = value.split_once('/') else {
        return value
            .parse::<IpAddr>()
            .map(IpNet::from)
            .map_err(|_| problem("write an address and a prefix length, like 10.0.0.2/32 or fd00::2/128"));
    };
    let address: IpAddr = address
        .parse()
        .map_err(|_| problem("write an IPv4 or IPv6 address before the `/`, like 10.0.0.0/24"))?;
    let hint = if address.is_ipv4() {
        "an IPv4 prefix length is 0 to 32"
    } else {
        "an IPv6 prefix length is 0 to 128"
    };
    let digits = !length.is_empty() && length.bytes().all(|c| c.is_ascii_digit());
    let length = length.parse().ok().filter(|_| digits).ok_or_else(|| problem(hint))?;
    IpNet::new(address, length).map_err(|_| problem(hint))
}

pub(super) fn endpoint(value: &str) -> Result<Endpoint, Problem> {
    let problem = |what: &str, hint: &str| Problem::new(format!("Endpoint {} {what}", show(value)), hint);
    let Some((host, port)) = value.rsplit_once(':') else {
        return Err(problem(
            "has no port",
            "write host:port, like vpn.example.com:51820 or [2001:db8::1]:51820",
        ));
    };
    let host = if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(|| {
            problem("has no `]` before the port", "write an IPv6 endpoint like [2001:db8::1]:51820")
        })?;
        let (address, zone) =
            inner.split_once('%').map_or((inner, None), |(address, zone)| (address, Some(zone)));
        let address: Ipv6Addr = address.parse().map_err(|_| {
            problem("has no IPv6 address in its brackets", "write it like [2001:db8::1]:51820")
        })?;
        match zone {
            None => Host::Ip(IpAddr::V6(address)),
            Some(zone) if is_name(zone) => Host::Name(inner.to_owned()),
            Some(_) => return Err(problem("has an invalid zone", "write it like [fe80::1%eth0]:51820")),
        }
    } else if host.contains(':') {
        return Err(problem("is ambiguous", "put an IPv6 address in brackets, like [2001:db8::1]:51820"));
    } else if let Ok(address) = host.parse() {
        Host::Ip(address)
    } else if is_name(host) && !host.bytes().all(|c| c.is_ascii_digit() || c == b'.') {
        Host::Name(host.to_owned())
    } else {
        return Err(problem("has neither an address nor a name", "write it like vpn.example.com:51820"));
    };
    let digits = port.bytes().all(|c| c.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits && port != 0 => Ok(Endpoint { host, port }),
        _ => Err(problem("has an invalid port", "a port is a number from 1 to 65535")),
    }
}

/// A host name or search domain, not checked further than that it can be one.
pub(super) fn is_name(name: &str) -> bool {
    (1..=253).contains(&name.len())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.' | b'_'))
        && !name.starts_with(['.', '-'])
}

fn number(value: &str) -> Option<u32> {
    let (digits, radix) = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (value, 10),
    };
    // `from_str_radix` would take a sign.
    digits.bytes().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, radix).ok()).flatten()
}

pub(super) fn listen(name: &str, value: &str) -> Result<SocketAddr, Problem> {
    value.parse().map_err(|_| {
        Problem::new(
            format!("{name} {} is not an address and port", show(value)),
            "write it like 0.0.0.0:443, or [::]:443 for both families",
        )
    })
}

pub(super) fn pins(value: &str) -> Result<Pins, Problem> {
    value.parse().map_err(|_| {
        Problem::new(
            format!("TLSPin {} is not a pin", show(value)),
            "write `sha256//` and 44 characters of base64, as the gateway logs it when it starts",
        )
    })
}

pub(super) fn server_name(value: &str) -> Result<String, Problem> {
    if is_name(value) {
        return Ok(value.to_owned());
    }
    Err(Problem::new(format!("TLSName {} is not a name", show(value)), "write it like www.example.net"))
}
/// A text that is not `host:port`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct EndpointError {
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl std::str::FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        endpoint(text.trim()).map_err(|Problem { what, hint }| EndpointError { what, hint })
    }
}

serde_as_text!(Endpoint);
