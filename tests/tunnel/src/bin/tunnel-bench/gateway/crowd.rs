//! Many pods that join one gateway: each with a key, a TLS connection and a proof of its own, as the agent does it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use ring::rand::{SecureRandom as _, SystemRandom};
use warren_transport::tls::{Target, Trust, exchange};
use warren_tunnel::enrolment::client::{self, ClientError};
use warren_tunnel_tests::fabric::{self, Gateway};
use warren_tunnel_tests::{Fabric, Namespace};
use warren_wire::enrolment::{ChannelBinding, HostInfo, Kind};
use warren_wire::{PrivateKey, Token, token};

/// Where the gateway is.
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
/// One source address stands for all pods here: limits of a source would be all that is measured.
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/16"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.0/24"]
[limits]
requests_per_second = 1000000
requests_per_minute_and_source = 10000000
connections_per_second_and_source = 1000000
tunnels_per_source = 8192
"#;
/// For a connection, and again for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts of one pod, as an agent waits.
const PAUSE: Duration = Duration::from_millis(500);
/// Stacks of so many threads must be small.
const STACK: usize = 256 << 10;

/// A gateway and the host of its pods, with a wire between them.
pub(super) struct Lab {
    pub(super) fabric: Fabric,
    pods: Arc<Namespace>,
    gateway: Arc<Namespace>,
    token: Token,
}

/// One pod's way in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    /// From the wish to the answer, attempts that failed included.
    pub(super) time: Duration,
    pub(super) attempts: u32,
    pub(super) address: IpAddr,
}

impl Lab {
    pub(super) fn new() -> Result<Lab> {
        let (pods, gateway) = (Arc::new(Namespace::new()?), Arc::new(Namespace::new()?));
        pods.join(&gateway)?;
        pods.ip("addr add 10.200.0.1/24 dev wire")?;
        gateway.ip("addr add 10.200.0.2/24 dev wire")?;
        pods.run("sysctl", &["-qw", "net.ipv4.ip_local_port_range=10000 65000", "net.ipv4.tcp_tw_reuse=1"])?;
        let fabric = Fabric::new(&[GATEWAY], REST)?;
        let token = Token::parse(&fabric.token("gpu", &[])?)?;
        Ok(Lab { fabric, pods, gateway, token })
    }

    pub(super) fn start(&self) -> Result<Gateway> {
        self.fabric.start(0, &self.gateway)
    }

    /// All pods join, so many at a time, all beginning at one moment. In the order of their keys.
    pub(super) fn join(
        &self,
        keys: &Arc<Vec<PrivateKey>>,
        at_once: usize,
    ) -> Result<(Duration, Vec<Joined>)> {
        let claims = self.token.peek()?;
        let known = claims.gateways.as_slice().first().context("the token has no gateway")?.clone();
        let next = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Barrier::new(at_once + 1));
        let threads = (0..at_once)
            .map(|_| {
                let (keys, next, gate) = (Arc::clone(keys), Arc::clone(&next), Arc::clone(&gate));
                let (token, known) = (self.token.clone(), known.clone());
                self.pods.small_thread(STACK, move || {
                    gate.wait();
                    let mut joined = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(key) = keys.get(number) else { return Ok(joined) };
                        joined.push((number, one(&token, &known, key)?));
                    }
                })
            })
            .collect::<Result<Vec<_>>>()?;
        gate.wait();
        let begun = Instant::now();
        let mut joined = Vec::with_capacity(keys.len());
        for thread in threads {
            joined.extend(thread.join().map_err(|_| anyhow!("a pod panicked"))??);
        }
        let time = begun.elapsed();
        joined.sort_unstable_by_key(|(number, _)| *number);
        Ok((time, joined.into_iter().map(|(_, joined)| joined).collect()))
    }
}

/// Keys as pods make them.
pub(super) fn keys(count: usize) -> Result<Arc<Vec<PrivateKey>>> {
    let random = SystemRandom::new();
    let make = |_| {
        let mut bytes = [0; 32];
        random.fill(&mut bytes).map_err(|_| anyhow!("no randomness"))?;
        Ok(PrivateKey::from_random(bytes))
    };
    (0..count).map(make).collect::<Result<Vec<_>>>().map(Arc::new)
}

/// Every pod has an address, no two the same, and the gateway has as many leases.
pub(super) fn verify(joined: &[Joined], gateway: &Gateway) -> Result<()> {
    let addresses: BTreeSet<IpAddr> = joined.iter().map(|pod| pod.address).collect();
    ensure!(addresses.len() == joined.len(), "{} addresses for {} pods", addresses.len(), joined.len());
    let known = warren_tunnel_tests::fleet::live(gateway)?;
    let known: BTreeSet<IpAddr> =
        known.iter().map(|(_, address)| address.parse()).collect::<Result<_, _>>()?;
    ensure!(known == addresses, "the gateway has {} live leases, not those {}", known.len(), addresses.len());
    Ok(())
}

fn one(token: &Token, known: &token::Gateway, key: &PrivateKey) -> Result<Joined> {
    let begun = Instant::now();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let refused = match attempt(token, known, key) {
            Ok(address) => return Ok(Joined { time: begun.elapsed(), attempts, address }),
            Err(error) => error,
        };
        let again = match refused.downcast_ref::<ClientError>() {
            Some(ClientError::Refused(problem)) => {
                matches!(problem.kind, Kind::RateLimited | Kind::Busy | Kind::Store)
            }
            Some(ClientError::Connection(_)) | None => true,
            Some(_) => false,
        };
        if !again || begun.elapsed() > PATIENCE {
            return Err(refused.context(format!("not let in after {attempts} attempts")));
        }
        std::thread::sleep(PAUSE);
    }
}

fn attempt(token: &Token, known: &token::Gateway, key: &PrivateKey) -> Result<IpAddr> {
    let target = Target {
        host: GATEWAY.to_string(),
        port: fabric::TLS_PORT,
        server_name: None,
        trust: Trust::Pins(known.pins.clone()),
        proxy: None,
        fwmark: None,
    };
    let mut connection = exchange(&target, PATIENCE)?;
    let binding = ChannelBinding(connection.binding());
    let answer = client::enrol(&mut connection, &binding, known, token, key, HostInfo::default())?;
    answer.addresses.first().copied().context("an answer without an address")
}
