//! Where a client wants to go.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// A host name: letters, digits, hyphens and underscores in labels of at most 63 bytes, at most 253 bytes in all, lower case,
/// without a dot at its end (RFC 1035 section 2.3.1, RFC 2181 section 11).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<str>);

impl Name {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `suffix` or a name below it. `example.com` is below `com`, `myexample.com` is not below `example.com`.
    pub fn is_below(&self, suffix: &Self) -> bool {
        self.0.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why something is no target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No name of a host.
    #[error("not a hostname: labels of letters, digits, - and _, 253 bytes at most")]
    Name,
    /// No port, or port 0.
    #[error("not a port: 1 to 65535")]
    Port,
}

impl FromStr for Name {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let right = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if text.len() <= 253 && text.split('.').all(right) {
            Ok(Self(text.to_ascii_lowercase().into()))
        } else {
            Err(TargetError::Name)
        }
    }
}

/// A host by address or name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address; never an IPv4 address in IPv6's clothes, so that rules for prefixes see one form.
    Address(IpAddr),
    /// A name that is still to be looked up.
    Name(Name),
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl FromStr for Host {
    type Err = TargetError;

    /// An address is one in whatever field it comes: clients of SOCKS send addresses as names too, URIs put brackets around.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        match bare.parse::<IpAddr>() {
            Ok(address) => Ok(address.into()),
            Err(_) => text.parse().map(Self::Name),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port; 0 only where a protocol says "none yet".
    pub port: u16,
}

impl Target {
    /// Both.
    pub fn new(host: Host, port: u16) -> Self {
        Self { host, port }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self::new(address.ip().into(), address.port())
    }
}

impl FromStr for Target {
    type Err = TargetError;

    /// `host:port`, an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (host, port) = text.rsplit_once(':').ok_or(TargetError::Port)?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(TargetError::Name);
        }
        // `u16::from_str` takes a sign.
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(TargetError::Port);
        }
        match port.parse() {
            Ok(0) | Err(_) => Err(TargetError::Port),
            Ok(port) => Ok(Self::new(host.parse()?, port)),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_printed() {
        for (text, printed) in [
            ("example.com:443", "example.com:443"),
            ("S3.Example.COM.:80", "s3.example.com:80"),
            ("10.0.0.1:9000", "10.0.0.1:9000"),
            ("[fd00::1]:53", "[fd00::1]:53"),
            ("[::ffff:10.0.0.1]:53", "10.0.0.1:53"),
            ("_srv.host-1:65535", "_srv.host-1:65535"),
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let long = format!("{}:80", "a.".repeat(127) + "a");
        let label = format!("{}:80", "a".repeat(64));
        for text in [
            "",
            ":",
            ":80",
            "a",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a:-1",
            "fd00::1:53",
            "[fd00::1:53",
            "a..b:1",
            ".a:1",
            "a b:1",
            "user@host:1",
            "-a:1",
            "a/b:1",
            "ä:1",
            "a\0b:1",
            &long,
            &label,
        ] {
            assert!(text.parse::<Target>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn suffixes_are_whole_labels() {
        let below =
            |name: &str, suffix: &str| name.parse::<Name>().unwrap().is_below(&suffix.parse().unwrap());
        assert!(below("a.corp.example", "corp.example"));
        assert!(below("corp.example", "Corp.Example."));
        assert!(!below("acorp.example", "corp.example"));
        assert!(!below("example", "corp.example"));
    }
}
