//! Where a service listens.

use std::{net::SocketAddr, str::FromStr};

use super::problem::Problem;

/// The address of a service, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenAddress {
    /// The service is off.
    Off,
    /// The address to listen on.
    At(SocketAddr),
}

impl FromStr for ListenAddress {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| {
            Problem::new("expected an address with a port, or `off`")
                .hint("use, for example, 127.0.0.1:9586 or [::1]:9586")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_can_be_off() {
        assert_eq!("off".parse(), Ok(ListenAddress::Off));
        assert_eq!("[::1]:9".parse(), Ok(ListenAddress::At("[::1]:9".parse().unwrap())));
        insta::assert_snapshot!("localhost".parse::<ListenAddress>().unwrap_err());
    }
}
