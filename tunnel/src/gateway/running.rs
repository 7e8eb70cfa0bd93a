//! A running gateway: all its parts.

mod operate;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use warren_lease as lease;
use warren_proto::engine::{Engine, EngineConfig};
use warren_store::{Member as Alive, Presence, Store};
use warren_transport::tls::Listener;
use warren_wire::gateway::{GatewayConfig, Site};
use warren_wire::{PublicKey, UnixTime};

use super::access::Access;
use super::admin::server;
use super::answers::Answers;
use super::audit::Audit;
use super::forward::{self, Forward, Started, Surroundings};
use super::peers::{Keeper, Keeping, Roster};
use super::ports::{bind, listen, listen_limits, serve_metrics};
use super::settings::{self, Settings};
use super::sites::Sites;
use crate::enrolment::leases::LeaseService;
use crate::enrolment::server::Enrolment;
use crate::runtime::ListenAddress;
use crate::runtime::control::{self, Command, Facts, Handle, Parts, TlsPort};
use crate::runtime::datapath::Clock;
use crate::runtime::metrics;
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::random;
use crate::runtime::{lookups, traffic::Moving};

/// How often handshakes are told to the leases.
const SEEN: Duration = Duration::from_secs(5);
/// How often a gateway that is not yet known to be alive tries to be.
const ANNOUNCE: Duration = Duration::from_secs(2);
/// Time for streams to tell pods that they end.
const GRACE: Duration = Duration::from_millis(200);

/// A running gateway; dropping it ends it.
pub(super) struct Running {
    // In the order in which they end: nobody asks for what has gone.
    _admin: server::Server,
    _metrics: Option<metrics::Server>,
    inner: Arc<Inner>,
    thread: Option<control::Thread>,
    runtime: Option<Runtime>,
}

/// What carries packets on, and why that.
struct Forwarding {
    forward: Arc<dyn Forward>,
    reason: String,
}

/// What commands, metrics and reloads look at.
pub(super) struct Inner {
    path: PathBuf,
    config: Mutex<GatewayConfig>,
    key: PublicKey,
    /// The TLS port, which ends with the interface.
    listener: Weak<Listener>,
    interface: Handle,
    pub(super) leases: LeaseService,
    peers: Keeping,
    enrolment: Arc<ArcSwap<Enrolment>>,
    roster: Arc<Roster>,
    access: Arc<Access>,
    audit: Arc<Audit>,
    forwarding: Forwarding,
    sites: Sites,
    store: Arc<dyn Store>,
    presence: Mutex<Option<Presence>>,
    draining: AtomicBool,
    runtime: tokio::runtime::Handle,
}

impl Running {
    /// Starts everything. Calls `failed` when the data path has stopped on its own.
    pub(super) fn up(
        settings: Settings,
        metrics: Option<ListenAddress>,
        failed: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let Settings { path, config, key, identity } = settings;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("gateway")
            .enable_all()
            .build()
            .while_doing(|| "starting threads".into())?;
        let audit = Audit::open(config.audit.file.as_deref())?;
        runtime.spawn(Arc::clone(&audit).keep());
        let access = Arc::new(Access::new(&config));
        let roster = Arc::new(Roster::default());

        let udp = Arc::new(bind(config.listen.udp)?);
        let engine = Engine::new(EngineConfig::new(key.clone()), *random()?);
        let around = Surroundings {
            runtime: runtime.handle().clone(),
            plane: engine.plane(),
            roster: Arc::clone(&roster),
            access: Arc::clone(&access),
            audit: Arc::clone(&audit),
        };
        let Started { forward, device, reason } = forward::start(&config, &around)?;
        let forwarding = Forwarding { forward: Arc::clone(&forward), reason };
        let traffic =
            Box::new(Moving::start(engine.plane(), device, Arc::clone(&udp), config.peers.mtu.into())?);

        let (interface, commands) = Handle::new()?;
        let store = {
            let _context = runtime.enter();
            settings::store(&config)?
        };
        let (told, events) = mpsc::unbounded_channel();
        let leases = runtime
            .block_on(async { LeaseService::start(lease_settings(&config), Arc::clone(&store), told) })
            .map_err(|error| {
                Problem::new(error.to_string()).hint("enlarge the pool, or reserve fewer of its addresses")
            })?;
        let enrolment = Arc::new(ArcSwap::from_pointee(Enrolment::new(&config, key.clone(), leases.clone())));
        let peers = {
            let _context = runtime.enter();
            let keeper = Keeper {
                roster: Arc::clone(&roster),
                access: Arc::clone(&access),
                forward: Arc::clone(&forward),
                interface: interface.clone(),
            };
            keeper.start(events)
        };
        let answers = Answers::new(runtime.handle().clone(), Arc::clone(&enrolment), peers.clone());
        let tls = listen(&config, identity, &traffic, answers)?;
        let listener = Arc::downgrade(&tls.listener);
        let lookups = lookups::start(interface.clone())?;
        let parts = Parts {
            engine,
            private_key: key.clone(),
            fwmark: None,
            facts: facts(&config, &forwarding, tls),
            traffic,
            commands,
            lookups: lookups.clone(),
            on_failure: Box::new(failed),
        };
        let thread = control::start(parts, interface.clone())?;
        let sites = Sites {
            roster: Arc::clone(&roster),
            access: Arc::clone(&access),
            forward: Arc::clone(&forward),
            interface: interface.clone(),
            lookups,
        };
        sites.replace(&Site::default(), &config)?;
        let inner = Arc::new(Inner {
            path,
            config: Mutex::new(config),
            key: key.public(),
            listener,
            interface,
            leases,
            peers,
            enrolment,
            roster,
            access,
            audit,
            forwarding,
            sites,
            store,
            presence: Mutex::new(None),
            draining: AtomicBool::new(false),
            runtime: runtime.handle().clone(),
        });
        runtime.spawn(watch_handshakes(Arc::clone(&inner)));
        runtime.spawn(announce(Arc::clone(&inner)));
        let configured = inner.config.lock().listen.metrics;
        let metrics = serve_metrics(&inner, configured, metrics)?;
        let admin = server::Server::start(Arc::clone(&inner))?;
        let config = inner.config.lock();
        tracing::info!(fabric = %config.fabric, gateway = %config.name, udp = config.listen.udp,
            forward = inner.forwarding.forward.name(), reason = inner.forwarding.reason, pool = ?config.pool.prefixes, key = %inner.key, "gateway is up");
        drop(config);
        Ok(Self { _admin: admin, _metrics: metrics, inner, thread: Some(thread), runtime: Some(runtime) })
    }

    /// Reads the file again.
    pub(super) fn reload(&self) -> Result<String> {
        self.inner.reload()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Other gateways take over at once.
        self.inner.presence.lock().take();
        if let Some(runtime) = self.runtime.take() {
            // Streams are dropped, which resets them; the data path then sends what they had to say.
            runtime.shutdown_timeout(GRACE);
        }
        std::thread::sleep(Duration::from_millis(20));
        self.inner.forwarding.forward.end();
        self.thread.take();
        self.inner.audit.write();
    }
}

impl Inner {
    /// Reads the file again and takes what can change while running.
    ///
    /// # Errors
    /// The file is wrong; all stays as it is.
    pub(super) fn reload(&self) -> Result<String> {
        let after = settings::config(&self.path)?;
        let mut before = self.config.lock();
        let fixed = [
            ("fabric", before.fabric != after.fabric),
            ("name", before.name != after.name),
            ("[listen]", before.listen != after.listen),
            ("[pool]", before.pool != after.pool),
            ("[lease]", before.lease != after.lease),
            ("[store]", before.store != after.store),
            ("[audit]", before.audit != after.audit),
            ("forwarding", before.forwarding != after.forwarding),
            ("[site] addresses", before.site.addresses != after.site.addresses),
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
        self.audit.reopen()?;
        let mut said = Vec::new();
        if before.groups != after.groups || before.site != after.site {
            self.forwarding.forward.rules(&after)?;
        }
        if before.site != after.site {
            self.sites.replace(&before.site, &after)?;
            said.push("sites");
        }
        if before.groups != after.groups {
            said.push("groups");
        }
        if !said.is_empty() {
            // Flows look at their rules again, and at their way.
            self.access.replace(&after);
            self.roster.reshare(&self.access);
        }
        if before.keys != after.keys {
            said.push("token keys");
        }
        if before.gateways != after.gateways || before.dns != after.dns || before.peers != after.peers {
            said.push("the peers' configuration");
        }
        if before.limits != after.limits {
            if let Some(listener) = self.listener.upgrade() {
                listener.set_limits(listen_limits(&after.limits));
            }
            said.push("limits");
        }
        if before.planned_rate_mbit != after.planned_rate_mbit {
            self.interface.tell(Command::PlannedRate(after.planned_rate_mbit));
            said.push("planned rate");
        }
        self.enrolment.store(Arc::new(self.enrolment.load().anew(&after)));
        *before = after;
        Ok(if said.is_empty() { "no changes".to_owned() } else { said.join(", ") })
    }

    /// The name in the file.
    pub(super) fn name(&self) -> String {
        self.config.lock().name.to_string()
    }

    /// Runs a task on the gateway's runtime and waits for it, on whatever thread that is.
    ///
    /// # Errors
    /// The gateway is ending.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // Whoever waited may have gone.
            _ = done.send(task.await);
        });
        result.recv().map_err(|_| Problem::new("the gateway is stopping"))
    }
}

fn lease_settings(config: &GatewayConfig) -> lease::Settings {
    lease::Settings {
        prefixes: config.pool.prefixes.clone(),
        reserved: config.pool.reserved.clone(),
        ttl: config.lease.ttl.get(),
        quarantine: config.lease.quarantine.get(),
    }
}

fn facts(config: &GatewayConfig, forwarding: &Forwarding, tls: TlsPort) -> Facts {
    Facts {
        interface: config.name.to_string(),
        backend: forwarding.forward.name(),
        backend_reason: forwarding.reason.clone(),
        mtu: config.peers.mtu.into(),
        addresses: Vec::new(),
        up_since: Clock.now().wall.as_secs_f64(),
        planned_rate_mbit: config.planned_rate_mbit,
        device_offloads: Vec::new(),
        tls: Some(tls),
        services: None,
    }
}

/// Renews leases of peers with recent handshakes.
async fn watch_handshakes(inner: Arc<Inner>) {
    let mut tick = tokio::time::interval(SEEN);
    loop {
        tick.tick().await;
        let interface = inner.interface.clone();
        let asked = tokio::task::spawn_blocking(move || interface.ask(Command::Handshakes)).await;
        match asked {
            Ok(Ok(seen)) => {
                let seen = seen.into_iter().map(|(key, at)| (key, UnixTime::from_epoch(at))).collect();
                inner.leases.seen(seen).await;
            }
            Ok(Err(problem)) => crate::runtime::log::warn(&problem),
            Err(_) => return,
        }
    }
}

/// Announces to the other gateways that this one is alive.
async fn announce(inner: Arc<Inner>) {
    let member = {
        let config = inner.config.lock();
        Alive { name: config.name.clone(), value: env!("CARGO_PKG_VERSION").into() }
    };
    loop {
        match inner.store.announce(member.clone()).await {
            Ok(presence) => {
                *inner.presence.lock() = Some(presence);
                return;
            }
            Err(error) => tracing::debug!(%error, "cannot announce this gateway yet"),
        }
        tokio::time::sleep(ANNOUNCE).await;
    }
}
