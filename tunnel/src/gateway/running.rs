//! A running gateway: all its parts.

mod operate;
mod requests;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use hyper::body::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use warren_lease as lease;
use warren_proto::engine::{Engine, EngineConfig};
use warren_store::{Member as LiveGateway, Presence, Store};
use warren_transport::tls::Listener;
use warren_transport::udp::Udp;
use warren_wire::gateway::{GatewayConfig, StoreConfig};
use warren_wire::token::VerifyingKey;
use warren_wire::{PublicKey, UnixTime};

use super::access::Access;
use super::admin::server;
use super::audit::Audit;
use super::credentials::{self, CredentialServer};
use super::direct::{self, DirectServer};
use super::enrolment_handler::EnrolmentHandler;
use super::events::Events;
use super::forward::{self, Forward, ForwardContext, Forwarder, Prepared};
use super::name_server::NameServer;
use super::page::{Others, Page};
use super::peers::PeerTable;
use super::ports::{self, listen, listen_limits, metrics_address, serve_metrics};
use super::reconciler::{PeerReconciler, ReconcilerHandle};
use super::settings::{self, Settings};
use super::sites::Sites;
use crate::enrolment::leases::LeaseService;
use crate::enrolment::server::{Enrolment, LastStamp, NoReport};
use crate::runtime::ListenAddress;
use crate::runtime::control::{self, Command, Facts, Handle, Parts, TlsPort};
use crate::runtime::datapath::Clock;
use crate::runtime::metrics;
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::random;
use crate::runtime::supervise::Supervisor;
use crate::runtime::{cipher, datapath_runner::DatapathRunner, lookups, queues};

/// Interval between renewals of leases from handshakes.
const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// Pods at other gateways do not reach one that has come here for about so long.
const ARRIVAL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between attempts to announce this gateway to the others.
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(2);
/// Time for streams to send their resets at shutdown.
const GRACE: Duration = Duration::from_millis(200);

/// A running gateway; dropping it ends it.
pub(super) struct Running {
    supervision: Supervision,
    // Dropped in this order: each part before the parts that it uses.
    _admin: server::Server,
    _metrics: Option<metrics::Server>,
    inner: Arc<Inner>,
    thread: Option<control::Thread>,
    runtime: Option<Runtime>,
}

/// What ends from here on has not died.
struct Supervision(Supervisor);

impl Drop for Supervision {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The forwarder, and why it was chosen.
struct Forwarding {
    forward: Arc<dyn Forward>,
    reason: String,
}

/// The state that commands, metrics and reloads share.
pub(super) struct Inner {
    path: PathBuf,
    config: Mutex<GatewayConfig>,
    key: PublicKey,
    /// The TLS port, which ends with the interface.
    listener: Weak<Listener>,
    interface: Handle,
    pub(super) leases: LeaseService,
    peers: ReconcilerHandle,
    enrolment: Arc<ArcSwap<Enrolment>>,
    peer_table: Arc<PeerTable>,
    access: Arc<Access>,
    audit: Arc<Audit>,
    forwarding: Forwarding,
    name_server: Option<NameServer>,
    credentials: Option<CredentialServer>,
    direct: Option<DirectServer>,
    sites: Sites,
    store: Arc<dyn Store>,
    presence: Mutex<Option<Presence>>,
    draining: AtomicBool,
    runtime: tokio::runtime::Handle,
    supervisor: Supervisor,
    events: Arc<Events>,
    operators: Operators,
}

/// What operators see of the fabric.
struct Operators {
    /// The address of the metrics, if they are served.
    at: Option<SocketAddr>,
    /// The page, if it is served there.
    page: ArcSwapOption<Page>,
    others: Others,
    /// The last data of the page, and when it was collected.
    last: Mutex<Option<(Instant, Bytes)>>,
}

impl Running {
    /// Starts everything that the supervisor then watches.
    pub(super) fn up(
        settings: Settings,
        metrics: Option<ListenAddress>,
        (mut udp, prepared): (Udp, Prepared),
        supervisor: &Supervisor,
    ) -> Result<Self> {
        let Settings { path, config, key, identity } = settings;
        let metrics_at = metrics_address(config.listen.metrics, metrics);
        let page = ports::page(&config, metrics_at)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("gateway")
            .enable_all()
            .build()
            .while_doing(|| "starting threads".into())?;
        let supervision = Supervision(supervisor.clone());
        supervisor.starting();
        let audit = Audit::open(config.audit.file.as_deref())?;
        supervisor.restarted_task(runtime.handle(), "audit log", {
            let audit = Arc::clone(&audit);
            move || Arc::clone(&audit).keep()
        });
        let access = Arc::new(Access::new(&config));
        let events_log = Arc::new(Events::default());
        let peer_table = Arc::new(PeerTable::default());

        let engine = Engine::new(
            EngineConfig {
                answer_strangers: true,
                cipher: cipher::suite(),
                ..EngineConfig::new(key.clone())
            },
            *random()?,
        );
        let context = ForwardContext {
            runtime: runtime.handle().clone(),
            supervisor: supervisor.clone(),
            plane: engine.plane(),
            peer_table: Arc::clone(&peer_table),
            access: Arc::clone(&access),
            audit: Arc::clone(&audit),
        };
        let Forwarder { forward, device, inside, reason } = forward::start(&config, prepared, &context)?;
        let forwarding = Forwarding { forward: Arc::clone(&forward), reason };
        queues::widen(&mut udp, &device);
        let udp = Arc::new(udp);
        let datapath = Box::new(DatapathRunner::start(
            engine.plane(),
            device,
            Arc::clone(&udp),
            config.peers.mtu.into(),
        )?);

        let (interface, commands) = Handle::new()?;
        let store = {
            let _context = runtime.enter();
            settings::store(&config)?
        };
        let (sender, events) = mpsc::unbounded_channel();
        let leases = runtime
            .block_on(async {
                let settings = lease_settings(&config, key.public());
                let store = Arc::clone(&store);
                let leases = LeaseService::start(settings, store, sender, runtime.handle(), supervisor)?;
                leases.set_trust(trust(&config)).await;
                Ok::<_, lease::PoolError>(leases)
            })
            .map_err(|error| {
                Problem::new(error.to_string()).hint("enlarge the pool, or reserve fewer of its addresses")
            })?;
        let enrolment = Arc::new(ArcSwap::from_pointee(Enrolment::new(
            &config,
            key.clone(),
            leases.clone(),
            last_stamp(&interface),
        )));
        let peers = {
            let reconciler = PeerReconciler {
                peer_table: Arc::clone(&peer_table),
                access: Arc::clone(&access),
                forward: Arc::clone(&forward),
                interface: interface.clone(),
                own: config.own_addresses(),
                events: Arc::clone(&events_log),
            };
            reconciler.start(events, runtime.handle(), supervisor)
        };
        let handler = EnrolmentHandler::new(runtime.handle().clone(), Arc::clone(&enrolment), peers.clone());
        let tls = listen(&config, identity, &datapath, handler)?;
        let listener = Arc::downgrade(&tls.listener);
        supervisor.probe("TLS port", {
            let listener = Weak::clone(&listener);
            move || listener.upgrade().is_some_and(|listener| listener.ended())
        });
        let lookups = lookups::start(interface.clone(), supervisor)?;
        let parts = Parts {
            engine,
            private_key: key.clone(),
            fwmark: None,
            facts: facts(&config, &forwarding, tls),
            datapath,
            commands,
            lookups: lookups.clone(),
            supervisor: supervisor.clone(),
        };
        let thread = control::start(parts, interface.clone())?;
        let sites = Sites {
            peer_table: Arc::clone(&peer_table),
            access: Arc::clone(&access),
            forward: Arc::clone(&forward),
            interface: interface.clone(),
            lookups,
        };
        sites.replace(None, &config)?;
        let name_server = NameServer::start(&config, &inside, runtime.handle(), &peer_table, &access)?;
        let credentials = {
            let context = credentials::Context {
                runtime: runtime.handle().clone(),
                key: key.clone(),
                peer_table: Arc::clone(&peer_table),
                leases: leases.clone(),
                audit: Arc::clone(&audit),
            };
            CredentialServer::start(&config, &inside, context)?
        };
        let direct = {
            let context = direct::Context {
                runtime: runtime.handle().clone(),
                key: key.clone(),
                peer_table: Arc::clone(&peer_table),
                access: Arc::clone(&access),
                interface: interface.clone(),
            };
            DirectServer::start(&config, &inside, context)?
        };
        let inner = Arc::new(Inner {
            path,
            config: Mutex::new(config),
            key: key.public(),
            listener,
            interface,
            leases,
            peers,
            enrolment,
            peer_table,
            access,
            audit,
            forwarding,
            name_server,
            credentials,
            direct,
            sites,
            store,
            presence: Mutex::new(None),
            draining: AtomicBool::new(false),
            runtime: runtime.handle().clone(),
            supervisor: supervisor.clone(),
            events: events_log,
            operators: Operators {
                at: metrics_at,
                page: ArcSwapOption::from_pointee(page),
                others: Others::new(key, runtime.handle().clone()),
                last: Mutex::new(None),
            },
        });
        inner.enrolment.load().set_report({
            let inner = Arc::downgrade(&inner);
            Box::new(move || inner.upgrade().ok_or(NoReport::Busy)?.report_for_others())
        });
        supervisor.restarted_task(runtime.handle(), "watch of handshakes", {
            let inner = Arc::clone(&inner);
            move || watch_handshakes(Arc::clone(&inner))
        });
        if matches!(inner.config.lock().store, StoreConfig::Etcd(_)) {
            supervisor.restarted_task(runtime.handle(), "watch of arrivals", {
                let inner = Arc::clone(&inner);
                move || watch_arrivals(Arc::clone(&inner))
            });
        }
        supervisor.restarted_task(runtime.handle(), "announcement", {
            let inner = Arc::clone(&inner);
            move || announce(Arc::clone(&inner))
        });
        let configured = inner.config.lock().listen.metrics;
        let metrics = serve_metrics(Arc::clone(&inner) as Arc<dyn metrics::Source>, configured, metrics)?;
        match &metrics {
            Some(server) if inner.operators.page.load().is_some() => {
                tracing::info!(address = %server.address(), "serving the page for operators");
            }
            None if inner.config.lock().page.enabled == Some(true) => {
                tracing::warn!("the page for operators is not served, because the metrics are not");
            }
            _ => {}
        }
        let admin = server::Server::start(&inner.name(), supervisor, {
            let inner = Arc::clone(&inner);
            move |request| requests::answer(request, &inner)
        })?;
        let config = inner.config.lock();
        tracing::info!(fabric = %config.fabric, gateway = %config.name, udp = config.listen.udp,
            forward = inner.forwarding.forward.name(), reason = inner.forwarding.reason, pool = ?config.pool.prefixes, key = %inner.key, "gateway is up");
        drop(config);
        supervisor.started();
        Ok(Self {
            supervision,
            _admin: admin,
            _metrics: metrics,
            inner,
            thread: Some(thread),
            runtime: Some(runtime),
        })
    }

    /// Reloads the configuration file.
    pub(super) fn reload(&self) -> Result<String> {
        self.inner.reload()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.supervision.0.end();
        // Other gateways take over at once.
        self.inner.presence.lock().take();
        if let Some(runtime) = self.runtime.take() {
            // Streams are dropped, which resets them; the data path then sends the resets.
            runtime.shutdown_timeout(GRACE);
        }
        std::thread::sleep(Duration::from_millis(20));
        self.inner.forwarding.forward.end();
        self.thread.take();
        self.inner.audit.write();
    }
}

impl Inner {
    /// Reloads the configuration file and applies what can change at run time.
    ///
    /// # Errors
    /// The file is not valid; nothing changes.
    pub(super) fn reload(&self) -> Result<String> {
        let after = settings::config(&self.path)?;
        let mut before = self.config.lock();
        let fixed = [
            ("fabric", before.fabric != after.fabric),
            ("name", before.name != after.name),
            ("[listen]", before.listen != after.listen),
            ("[pool]", before.pool != after.pool),
            ("[lease]", before.lease != after.lease),
            ("leases_per_source", before.limits.leases_per_source != after.limits.leases_per_source),
            ("[store]", before.store != after.store),
            ("[audit]", before.audit != after.audit),
            ("forwarding", before.forwarding != after.forwarding),
            ("sandbox", before.sandbox != after.sandbox),
            ("[site] addresses", before.site.addresses != after.site.addresses),
            (
                "whether pods have DNS ([[dns.zones]] or a rule about a group)",
                before.dns_addresses().is_empty() != after.dns_addresses().is_empty(),
            ),
            (
                "whether pods get credentials (a grant of any group)",
                before.credential_addresses().is_empty() != after.credential_addresses().is_empty(),
            ),
            (
                "key files",
                before.keys.private_key_file != after.keys.private_key_file
                    || before.keys.certificate_file != after.keys.certificate_file
                    || before.keys.certificate_key_file != after.keys.certificate_key_file,
            ),
        ];
        let fixed: Vec<&str> =
            fixed.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
        if !fixed.is_empty() {
            return Err(Problem::new(format!("{} cannot change while the gateway runs", fixed.join(", ")))
                .hint("drain this gateway, and restart it; pods continue with the other gateways"));
        }
        let page = ports::page(&after, self.operators.at)?;
        let granted = match &self.credentials {
            Some(_) if before.credentials != after.credentials || before.groups != after.groups => {
                Some(credentials::rules(&after)?)
            }
            _ => None,
        };
        self.audit.reopen()?;
        let mut changes = Vec::new();
        if before.groups != after.groups || before.site != after.site || before.dns != after.dns {
            self.forwarding.forward.rules(&after)?;
        }
        self.sites.replace(Some(&before), &after)?;
        if before.site != after.site {
            changes.push("sites");
        }
        if let (Some(credentials), Some(rules)) = (&self.credentials, granted) {
            credentials.apply(rules);
            changes.push("credentials");
        }
        if before.groups != after.groups {
            changes.push("groups");
        }
        if before.congestion != after.congestion {
            changes.push("congestion control");
        }
        if !changes.is_empty() || before.limits != after.limits {
            // Flows check their rules and their route again.
            self.access.replace(&after);
            self.peer_table.update_rate_limits(&self.access);
        }
        if let Some(name_server) = &self.name_server
            && (before.dns != after.dns || before.site != after.site)
        {
            name_server.reload(&after);
        }
        if before.keys != after.keys {
            changes.push("token keys");
        }
        if before.gateways != after.gateways || before.dns != after.dns || before.peers != after.peers {
            changes.push("the peers' configuration");
        }
        if before.limits != after.limits {
            if let Some(listener) = self.listener.upgrade() {
                listener.set_limits(listen_limits(&after.limits));
            }
            changes.push("limits");
        }
        if before.planned_rate_mbit != after.planned_rate_mbit {
            self.interface.send(Command::PlannedRate(after.planned_rate_mbit));
            changes.push("planned rate");
        }
        if before.keys != after.keys || before.groups != after.groups {
            let (leases, trust) = (self.leases.clone(), trust(&after));
            self.wait(async move { leases.set_trust(trust).await })?;
        }
        if before.page != after.page {
            changes.push("page");
        }
        // The password may have changed in its file.
        self.operators.page.store(page.map(Arc::new));
        self.enrolment.store(Arc::new(self.enrolment.load().with_config(&after)));
        *before = after;
        let changes = if changes.is_empty() { "no changes".to_owned() } else { changes.join(", ") };
        self.events.add(format!("reloaded: {changes}"));
        Ok(changes)
    }

    /// The name of this gateway.
    pub(super) fn name(&self) -> String {
        self.config.lock().name.to_string()
    }

    /// Runs a task on the gateway's runtime and blocks until it ends.
    ///
    /// # Errors
    /// The gateway is ending.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // The caller may have gone.
            _ = done.send(task.await);
        });
        result.recv().map_err(|_| Problem::new("the gateway is stopping"))
    }
}

/// Asks the interface for the time in a peer's last handshake stamp.
fn last_stamp(interface: &Handle) -> LastStamp {
    let interface = interface.clone();
    Arc::new(move |key| {
        let stamp = interface.request(|answer| Command::LastStamp(key, answer)).ok().flatten();
        stamp.map(UnixTime::from_epoch)
    })
}

/// What leases need to be renewed.
fn trust(config: &GatewayConfig) -> lease::Trust {
    let keys = config.keys.token_keys.iter().chain(&config.keys.retired_token_keys);
    lease::Trust {
        signers: keys.map(VerifyingKey::id).collect(),
        groups: config.groups.keys().cloned().collect(),
    }
}

fn lease_settings(config: &GatewayConfig, gateway: PublicKey) -> lease::Settings {
    let shared = matches!(config.store, StoreConfig::Etcd(_));
    lease::Settings {
        prefixes: config.pool.prefixes.clone(),
        reserved: config.reserved(),
        ttl: config.lease.ttl.get(),
        quarantine: config.lease.quarantine.get(),
        max: config.lease.max.get(),
        per_source: config.limits.leases_per_source,
        shared: shared.then(|| lease::Shared { gateway, grace: config.lease.store_grace() }),
    }
}

fn facts(config: &GatewayConfig, forwarding: &Forwarding, tls: TlsPort) -> Facts {
    Facts {
        interface: config.name.to_string(),
        backend: forwarding.forward.name(),
        backend_reason: forwarding.reason.clone(),
        mtu: config.peers.mtu.into(),
        addresses: Vec::new(),
        dns_zones: Vec::new(),
        up_since: Clock.now().wall.as_secs_f64(),
        planned_rate_mbit: config.planned_rate_mbit,
        device_offloads: Vec::new(),
        tls: Some(tls),
        services: None,
    }
}

/// Notes which peers have come from other gateways.
async fn watch_arrivals(inner: Arc<Inner>) {
    let mut tick = tokio::time::interval(ARRIVAL_INTERVAL);
    loop {
        tick.tick().await;
        let interface = inner.interface.clone();
        match tokio::task::spawn_blocking(move || interface.request(Command::Arrived)).await {
            Ok(Ok(peers)) if peers.is_empty() => {}
            Ok(Ok(peers)) => inner.leases.arrived(peers).await,
            Ok(Err(problem)) => crate::runtime::log::warn(&problem),
            Err(error) => tracing::error!(%error, "arrivals are not known"),
        }
    }
}

/// Renews leases of peers with recent handshakes.
async fn watch_handshakes(inner: Arc<Inner>) {
    let mut tick = tokio::time::interval(RENEW_INTERVAL);
    // When each last handshake was noticed: its own time is that of a clock that may have been set since.
    let mut noticed: HashMap<PublicKey, (Duration, Duration)> = HashMap::new();
    loop {
        tick.tick().await;
        let interface = inner.interface.clone();
        let handshakes = tokio::task::spawn_blocking(move || interface.request(Command::Handshakes)).await;
        match handshakes {
            Ok(Ok(seen)) => {
                let mono = Clock.mono();
                noticed = seen
                    .into_iter()
                    .map(|(key, at)| match noticed.get(&key) {
                        Some((known, noticed)) if *known == at => (key, (at, *noticed)),
                        _ => (key, (at, mono)),
                    })
                    .collect();
                inner.leases.seen(noticed.iter().map(|(key, (_, at))| (*key, *at)).collect()).await;
            }
            Ok(Err(problem)) => crate::runtime::log::warn(&problem),
            Err(error) => tracing::error!(%error, "handshakes are not known"),
        }
        inner.supervisor.check();
    }
}

/// Announces to the other gateways that this one is alive.
async fn announce(inner: Arc<Inner>) {
    let member = {
        let config = inner.config.lock();
        LiveGateway { name: config.name.clone(), value: env!("CARGO_PKG_VERSION").into() }
    };
    loop {
        match inner.store.announce(member.clone()).await {
            Ok(presence) => {
                *inner.presence.lock() = Some(presence);
                return;
            }
            Err(error) => tracing::debug!(%error, "cannot announce this gateway yet"),
        }
        tokio::time::sleep(ANNOUNCE_INTERVAL).await;
    }
}
