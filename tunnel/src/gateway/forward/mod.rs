//! Forwarding between peers and the network behind the gateway.
//!
//! ```text
//! tunnel -> source is the peer's own (engine) -> Forward: allow-list, rates, audit -> network
//! ```
//!
//! [`nat`] uses sockets of this process and needs no privileges; [`kernel`] uses the kernel. Pods get the same answers from
//! both, and both apply the rules of the members' groups.

mod choice;
mod kernel;
mod nat;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle as Runtime;
use warren_device::user::{self, Congestion, Net, Passes, UserConfig};
use warren_proto::plane::Plane;
use warren_wire::gateway::{self, GatewayConfig};

use super::access::Access;
use super::audit::Audit;
use super::peers::{Member, PeerTable};
use crate::runtime::Queues;
use crate::runtime::datapath::Device;
use crate::runtime::host::folders;
use crate::runtime::log;
use crate::runtime::problem::{Context as _, Result};
use crate::runtime::random;
use crate::runtime::supervise::Supervisor;
use choice::Chosen;
use kernel::Kernel;
use nat::{Nat, STREAMS};

pub(crate) use choice::preview;

/// Memory limit of all stream buffers towards pods, in bytes.
const MEMORY: usize = 256 << 20;

/// Forwards the traffic of members. It is notified of every member that is added, changed or removed.
pub(super) trait Forward: Send + Sync {
    /// Its name in status and metrics.
    fn name(&self) -> &'static str;
    /// Adds or changes a member.
    fn install(&self, member: &Arc<Member>);
    /// Sends a member to another gateway: its connections end, and new ones are not answered.
    fn send_away(&self, member: &Arc<Member>);
    /// Removes a member: its traffic no longer passes.
    fn remove(&self, member: &Arc<Member>);
    /// Applies pending changes of members now.
    fn flush(&self) {}
    /// Replaces the rules of groups and sites. Flows that are no longer allowed end.
    ///
    /// # Errors
    /// The rules cannot be applied; the old ones stay.
    fn rules(&self, _: &GatewayConfig) -> Result<()> {
        Ok(())
    }
    /// Counters since the start.
    fn counters(&self) -> ForwardCounters;
    /// Reverts changes that would outlive this process.
    fn end(&self) {}
}

/// A running forwarder, and the device that supplies its packets.
pub(super) struct Forwarder {
    pub(super) forward: Arc<dyn Forward>,
    pub(super) device: Device,
    /// Where this gateway's own addresses are.
    pub(super) inside: Inside,
    /// Why this mode was chosen.
    pub(super) reason: String,
}

/// The network that this gateway shares with its peers.
pub(super) enum Inside {
    /// The kernel's: the tunnel's interface has the addresses.
    Kernel,
    /// The netstack.
    User(Net),
}

/// What forwarders need from the gateway.
pub(super) struct ForwardContext {
    pub(super) runtime: Runtime,
    pub(super) supervisor: Supervisor,
    pub(super) plane: Arc<Plane>,
    pub(super) peer_table: Arc<PeerTable>,
    pub(super) access: Arc<Access>,
    pub(super) audit: Arc<Audit>,
}

/// A chosen forwarding mode.
pub(super) struct Prepared {
    chosen: Chosen,
    program: Option<PathBuf>,
    folder: PathBuf,
    queues: Queues,
}

impl Prepared {
    /// The program that this mode runs, if it does.
    pub(super) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }
}

/// Chooses the configured forwarding mode, or the best that is available, and reverts what a killed gateway left if this one
/// does not replace it.
///
/// # Errors
/// The configured mode is not available.
pub(super) fn prepare(config: &GatewayConfig, queues: Queues) -> Result<Prepared> {
    let folder = folders::runtime_folder()?;
    let chosen = choice::choose(config)?;
    let program = match &chosen {
        Chosen::Kernel { .. } => Some(kernel::program()?),
        Chosen::User(_) => {
            kernel::clean(&config.name, &folder)?;
            None
        }
    };
    Ok(Prepared { chosen, program, folder, queues })
}

/// Starts the chosen forwarding mode.
///
/// # Errors
/// It is not available after all, and required.
pub(super) fn start(
    config: &GatewayConfig,
    Prepared { chosen, folder, queues, .. }: Prepared,
    context: &ForwardContext,
) -> Result<Forwarder> {
    let reason = match chosen {
        Chosen::Kernel { reason, required } => match Kernel::start(config, &folder, context, queues) {
            Ok((forward, queues)) => {
                tracing::info!(interface = %forward.interface(), "forwarding in the kernel");
                return Ok(Forwarder {
                    forward,
                    device: Device::Tun(queues),
                    inside: Inside::Kernel,
                    reason,
                });
            }
            Err(problem) if required => return Err(problem),
            Err(problem) => {
                log::warn(&problem);
                format!("the kernel refused: {}", problem.what())
            }
        },
        Chosen::User(reason) => reason,
    };
    let (forward, device, net) = start_user(config, context)?;
    Ok(Forwarder { forward, device, inside: Inside::User(net), reason })
}

fn start_user(config: &GatewayConfig, context: &ForwardContext) -> Result<(Arc<dyn Forward>, Device, Net)> {
    let routed = Arc::clone(&context.plane);
    let (peer_table, access) = (Arc::clone(&context.peer_table), Arc::clone(&context.access));
    let (driver, net) = user::open(UserConfig {
        addresses: config.site.addresses.clone(),
        mtu: config.peers.mtu.into(),
        memory: MEMORY,
        // Each new stream looks it up, so a reload needs no more.
        congestion: Box::new(move |to| {
            match access.congestion(peer_table.of(to).as_ref().map(|member| &member.group)) {
                gateway::Congestion::Bbr => Congestion::Bbr,
                gateway::Congestion::Cubic => Congestion::Cubic,
            }
        }),
        seed: *random()?,
        routes: Box::new(move |to| routed.route(to).is_some()),
        forward: Some(STREAMS),
        pass: Some(passes(context)),
    })
    .while_doing(|| "netstack".into())?;
    let forward: Arc<dyn Forward> = Nat::start(context, &net, config.site.addresses.clone())?;
    Ok((forward, Device::User(Box::new(driver)), net))
}

/// Passes on segments of connections that pods began directly: this gateway knows nothing of these, and must not end them when
/// their direct path does.
fn passes(context: &ForwardContext) -> Passes {
    let (peer_table, access) = (Arc::clone(&context.peer_table), Arc::clone(&context.access));
    Box::new(move |source, destination| {
        let ends = peer_table.leased_at(source.ip()).zip(peer_table.leased_at(destination.ip()));
        ends.is_some_and(|(from, to)| {
            access.continues((&from.group, source.port()), (&to.group, destination.port()))
        })
    })
}

/// Counters of forwarding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardCounters {
    /// Current TCP connections.
    pub tcp_now: u64,
    /// Current TCP connections of the netstack, by congestion control.
    #[serde(default)]
    pub streams: BTreeMap<String, u64>,
    /// TCP connections since the start.
    pub tcp: u64,
    /// Current UDP flows.
    pub udp_now: u64,
    /// UDP flows since the start.
    pub udp: u64,
    /// Echo requests since the start.
    pub echo: u64,
    /// Bytes from peers.
    pub bytes_out: u64,
    /// Bytes to peers.
    pub bytes_in: u64,
    /// Connections and datagrams that no rule allows.
    pub denied: u64,
    /// Connections that failed or that the destination refused.
    pub failed: u64,
    /// Datagrams dropped: above a rate, too large, or too many flows.
    pub dropped: u64,
}
