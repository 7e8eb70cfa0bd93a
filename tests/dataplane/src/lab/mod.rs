//! Hosts and routers made of network namespaces, and probes between them.
//!
//! ```no_run
//! use warren_dataplane::lab::{Lab, Link, Probe, Script};
//!
//! let lab = Lab::new()?;
//! let [client, router, server] = lab.nodes(["client", "router", "server"])?;
//! lab.link(&[Link::new(&client, "eth0", &router, "left"), Link::new(&router, "right", &server, "eth0")])?;
//! lab.configure(&[
//!     (&client, Script::new().ip("address add 10.0.0.2/24 dev eth0").ip("route add default via 10.0.0.1")),
//!     (&router, Script::new().ip("address add 10.0.0.1/24 dev left").ip("address add 10.0.1.1/24 dev right").forward()),
//!     (&server, Script::new().ip("address add 10.0.1.2/24 dev eth0").ip("route add default via 10.0.1.1")),
//! ])?;
//! lab.respond(&server, &["10.0.1.2".parse()?], &[443])?;
//! let outcomes = lab.probe(&[Probe::tcp(&client, "10.0.1.2:443".parse()?)]);
//! assert_eq!(outcomes[0].server(), Some("server"));
//! # anyhow::Ok(())
//! ```
//!
//! A namespace has no name: it lives as long as its [`Node`] or a process in it, so that nothing is left after the
//! program ends or is killed. Everything needs root, or the root of a user namespace (`unshare --user --map-root-user`).

mod dns;
mod internet;
mod listen;
mod node;
mod probe;
mod responder;
mod watch;

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime::{Handle, Runtime};

pub use dns::{Answer, Lookup, Names, Question, ask, ask_from};
pub use internet::{Internet, PublicNames};
pub use node::Node;
pub use probe::{Outcome, Probe, Target};
pub use responder::Gate;
pub use watch::{Packet, Watch};

/// How many nodes are configured at a time.
const WORKERS: usize = 4;

/// Nodes and the tasks of their servers. The tasks end when the value is dropped.
#[derive(Debug)]
pub struct Lab {
    runtime: Option<Runtime>,
    quiet: Duration,
}

/// A veth pair: an interface of one node, and one of another.
#[derive(Clone, Debug)]
pub struct Link {
    ends: [(Node, String); 2],
    mtu: u32,
}

/// What a node is configured with: lines of `ip -batch`, an nftables ruleset, and sysctls.
#[derive(Clone, Debug, Default)]
pub struct Script {
    ip: String,
    nft: String,
    sysctls: Vec<(String, String)>,
}

impl Lab {
    /// An empty lab.
    ///
    /// # Errors
    /// This process may not create namespaces.
    pub fn new() -> Result<Lab> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "the data plane creates network namespaces, which needs root\nHint: run the tests as root, in a container \
             with --privileged, or below `unshare --user --map-root-user --mount`"
        );
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("lab")
            .enable_all()
            .build()
            .context("cannot start the lab's runtime")?;
        Ok(Lab { runtime: Some(runtime), quiet: Duration::from_millis(1300) })
    }

    /// Changes how long probes wait after the last of them was answered. The default is 1.3 s, so that a lost SYN is sent
    /// once more.
    #[must_use]
    pub fn quiet(mut self, quiet: Duration) -> Lab {
        self.quiet = quiet;
        self
    }

    /// Creates one node.
    ///
    /// # Errors
    /// The kernel refuses a network namespace.
    pub fn node(&self, name: &str) -> Result<Node> {
        Node::new(name)
    }

    /// Creates several nodes.
    ///
    /// # Errors
    /// The kernel refuses a network namespace.
    pub fn nodes<const N: usize>(&self, names: [&str; N]) -> Result<[Node; N]> {
        let nodes = names.iter().map(|name| Node::new(name)).collect::<Result<Vec<_>>>()?;
        nodes.try_into().ok().context("as many nodes as names")
    }

    /// Creates links and brings both ends up.
    ///
    /// # Errors
    /// A node has an interface of that name already.
    pub fn link(&self, links: &[Link]) -> Result<()> {
        let Some(first) = links.first() else { return Ok(()) };
        let mut batch = String::new();
        for Link { ends: [(one, near), (other, far)], mtu } in links {
            let _ = writeln!(
                batch,
                "link add name {near} mtu {mtu} netns {} type veth peer name {far} mtu {mtu} netns {}",
                one.path(),
                other.path()
            );
        }
        first.ends[0].0.ip(&batch)?;
        let mut up: Vec<(&Node, Script)> = Vec::new();
        for (node, name) in links.iter().flat_map(|link| &link.ends) {
            let line = format!("link set {name} up");
            match up.iter_mut().find(|(known, _)| known.is(node)) {
                Some((_, script)) => *script = std::mem::take(script).ip(&line),
                None => up.push((node, Script::new().ip(&line))),
            }
        }
        self.configure(&up)
    }

    /// Runs the scripts of nodes, several at a time.
    ///
    /// # Errors
    /// `ip` or `nft` refuses a script; the error has the node, its words and the script.
    pub fn configure(&self, scripts: &[(&Node, Script)]) -> Result<()> {
        let next = AtomicUsize::new(0);
        let problems = Mutex::new(Vec::new());
        let work = || {
            while let Some((node, script)) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = node.configure(script)
                    && let Ok(mut problems) = problems.lock()
                {
                    problems.push(error.context(format!("node {}", node.name())));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..WORKERS.min(scripts.len()) {
                scope.spawn(work);
            }
        });
        match problems.into_inner() {
            Ok(mut problems) if !problems.is_empty() => Err(problems.swap_remove(0)),
            Ok(_) => Ok(()),
            Err(_) => bail!("a thread of the lab panicked"),
        }
    }

    /// Where the tasks of servers run.
    pub fn runtime(&self) -> &Handle {
        // It is there until the value is dropped.
        #[expect(clippy::expect_used, reason = "only `drop` takes it")]
        self.runtime.as_ref().expect("a runtime").handle()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop would block, which panics inside another runtime.
            runtime.shutdown_background();
        }
    }
}

impl Link {
    /// A link with an MTU of 1500 between an interface of one node and one of another.
    pub fn new(one: &Node, near: &str, other: &Node, far: &str) -> Link {
        Link { ends: [(one.clone(), near.to_owned()), (other.clone(), far.to_owned())], mtu: 1500 }
    }

    /// The same with another MTU.
    #[must_use]
    pub fn mtu(mut self, mtu: u32) -> Link {
        self.mtu = mtu;
        self
    }
}

impl Script {
    /// An empty script.
    pub fn new() -> Script {
        Script::default()
    }

    /// Adds a line for `ip -batch`, such as `route add default via 10.0.0.1`.
    #[must_use]
    pub fn ip(mut self, line: &str) -> Script {
        self.ip += line;
        self.ip += "\n";
        self
    }

    /// Adds text for `nft -f`.
    #[must_use]
    pub fn nft(mut self, text: &str) -> Script {
        self.nft += text;
        self.nft += "\n";
        self
    }

    /// Sets a key of `/proc/sys/net`, such as `ipv4/conf/all/rp_filter`, before all else.
    #[must_use]
    pub fn sysctl(mut self, key: &str, value: &str) -> Script {
        self.sysctls.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Makes the node a router for IPv4 and IPv6.
    #[must_use]
    pub fn forward(self) -> Script {
        self.sysctl("ipv4/ip_forward", "1").sysctl("ipv6/conf/all/forwarding", "1")
    }
}
