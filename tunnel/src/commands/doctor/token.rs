//! Whether the gateways of an enrolment token can be reached, over TLS and over UDP. The token is not used up.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use warren_transport::tls::exchange;
use warren_wire::config::{Endpoint, TlsEndpoint};
use warren_wire::token::{Claims, Gateway};
use warren_wire::{Token, UnixTime};

use super::Finding;
use crate::agent::Carriers;
use crate::runtime::net;
use crate::runtime::problem::{Problem, Result};

/// Timeout for a TLS connection.
const TLS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an ICMP error may take, three times.
const UDP_TIMEOUT: Duration = Duration::from_millis(500);
/// Number of gateways that are tried.
const MAX_TRIED: usize = 8;

/// Checks a token and its gateways.
///
/// # Errors
/// The token cannot be read.
pub(super) fn examine(token: &Token, now: UnixTime) -> Result<Vec<Finding>> {
    let claims = token.peek().map_err(|error| Problem::new(format!("enrolment token: {error}")))?;
    let mut findings = vec![validity(&claims, now)];
    for gateway in claims.gateways.as_slice().iter().take(MAX_TRIED) {
        findings.push(tls(gateway));
        findings.extend(gateway.udp.as_ref().map(|endpoint| udp(&gateway.name.to_string(), endpoint)));
    }
    Ok(findings)
}

fn validity(claims: &Claims, now: UnixTime) -> Finding {
    const CHECK: &str = "token";
    let until = claims.validity.expires();
    if until <= now {
        return Finding::missing(
            CHECK,
            format!("expired at {until}"),
            "request a new token, or check this machine's clock",
        );
    }
    Finding::ok(CHECK, format!("for group {} of fabric {}, until {until}", claims.group, claims.fabric))
}

/// Gateways prove that they have the key of the pin in the token.
fn tls(gateway: &Gateway) -> Finding {
    const CHECK: &str = "gateway over TLS";
    let endpoint = &gateway.tls;
    let target = TlsEndpoint { endpoint: endpoint.clone(), pins: Some(gateway.pins.clone()), name: None };
    match exchange(&Carriers::of_environment().target(&target, None), TLS_TIMEOUT) {
        Ok(_) => Finding::ok(
            CHECK,
            format!("{} ({endpoint}) answers with the certificate of the token", gateway.name),
        ),
        Err(error) => {
            Finding::missing(CHECK, format!("{} ({endpoint}): {error}", gateway.name), error.hint())
        }
    }
}

/// A gateway does not answer strangers over UDP, so only errors are certain.
fn udp(name: &str, endpoint: &Endpoint) -> Finding {
    const CHECK: &str = "gateway over UDP";
    const HINT: &str =
        "if the network blocks UDP, the agent uses TLS; otherwise have the gateway's UDP port opened";
    match net::resolve(endpoint, None).map(probe) {
        Ok(Ok(())) => Finding::ok(
            CHECK,
            format!(
                "{name} ({endpoint}): nothing refuses it; whether it passes shows when an agent is up, since gateways answer only peers"
            ),
        ),
        Ok(Err(error)) => Finding::limited(CHECK, format!("{name} ({endpoint}): {error}"), HINT),
        Err(problem) => Finding::limited(CHECK, format!("{name} ({endpoint}): {}", problem.what()), HINT),
    }
}

fn probe(to: SocketAddr) -> io::Result<()> {
    let any: SocketAddr = if to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(UDP_TIMEOUT))?;
    socket.connect(to)?;
    for _ in 0..3 {
        // The length and type of a handshake, which filters may look at. Without a valid MAC the gateway drops it.
        let mut message = [0; 148];
        message[0] = 1;
        socket.send(&message)?;
        match socket.recv(&mut [0; 64]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            answered => return answered.map(drop),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Outcome;

    #[test]
    fn a_closed_udp_port_is_seen_and_silence_is_not_a_fault() {
        let open = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at: Endpoint = open.local_addr().unwrap().to_string().parse().unwrap();
        assert_eq!(udp("gw-a", &at).outcome, Outcome::Ok);
        drop(open);
        let finding = udp("gw-a", &at);
        assert_eq!(finding.outcome, Outcome::Limited, "{finding:?}");
    }
}
