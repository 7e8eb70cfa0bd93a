//! Names of endpoints.

use std::net::{SocketAddr, ToSocketAddrs};

use warren_wire::config::{Endpoint, Host};

use crate::runtime::problem::{Problem, Result};

/// Resolves an endpoint, in the system's order of preference. `not` is avoided if there is another address, since it is known
/// not to answer.
///
/// # Errors
/// When the name does not resolve.
pub fn resolve(endpoint: &Endpoint, not: Option<SocketAddr>) -> Result<SocketAddr> {
    let name = match &endpoint.host {
        Host::Ip(ip) => return Ok(SocketAddr::new(*ip, endpoint.port)),
        Host::Name(name) => name,
    };
    let found: Vec<SocketAddr> = (name.as_str(), endpoint.port)
        .to_socket_addrs()
        .map_err(|error| {
            Problem::new(format!("cannot resolve endpoint {name}: {error}"))
                .hint("check the name, and that DNS works without the tunnel (`warren-tunnel doctor --config FILE`); the agent retries")
        })?
        .collect();
    let other = found.iter().find(|address| Some(**address) != not);
    other.or(found.first()).copied().ok_or_else(|| Problem::new(format!("endpoint {name} has no address")))
}
