//! Names of endpoints.

use std::net::{SocketAddr, ToSocketAddrs};

use warren_wire::config::{Endpoint, Host};

use crate::problem::{Problem, Result};

/// The address of an endpoint, by the system's own order of preference. `not` is avoided if there is another:
/// an address that does not answer is worth less than one that was not tried.
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
            Problem::new(format!("endpoint {name} cannot be resolved: {error}"))
                .hint("is DNS reachable without the tunnel? `warren-tunnel doctor` looks; it is tried again until it works")
        })?
        .collect();
    let other = found.iter().find(|address| Some(**address) != not);
    other.or(found.first()).copied().ok_or_else(|| Problem::new(format!("endpoint {name} has no address")))
}
