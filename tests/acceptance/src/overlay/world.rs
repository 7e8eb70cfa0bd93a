//! The network of an apply on this machine, as a data plane: what the emulated clouds hold, and pods elsewhere.
//!
//! ```text
//! pod 198.51.100.7 -- internet -+- VPCs: gateway's instance, machines, endpoints -- the emulated S3, ECR, a registry
//!                               +- Google's networks: gateway's instance, machines -- Google APIs: an emulated Storage
//! ```
//!
//! Addresses and names are those that the clouds gave to what Terraform created.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Result, ensure};
use warren_dataplane::aws::{self, Network, Options};
use warren_dataplane::google::{Plane, Ports};
use warren_dataplane::lab::{Internet, Lab, Names, Node};
use warren_dataplane::servers::{Authority, Registry, Site, Storage};
use warren_harness::{Emulator, Google};

/// Where pods are: in a network of their own, with a public address.
pub const POD: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// A running data plane with servers behind its endpoints.
#[derive(Debug)]
pub struct World {
    /// The nodes' lab.
    pub lab: Lab,
    /// What is between the clouds and the pods.
    pub internet: Internet,
    /// The VPCs.
    pub aws: Network,
    /// The networks of Google Cloud.
    pub google: Plane,
    /// The host of pods.
    pub pods: Node,
    /// Whom clients trust.
    pub authority: Authority,
    /// The registry behind ECR's names.
    pub registry: Registry,
    /// Google Storage.
    pub storage: Storage,
}

impl World {
    /// Builds the data plane of what these clouds hold now.
    ///
    /// # Errors
    /// The kernel allows no namespaces, or an object cannot be read.
    pub fn build(emulator: &Emulator, google: &Google) -> Result<World> {
        let lab = Lab::new()?;
        let mut internet = Internet::new(&lab, &[443])?;
        let options = Options { instances_answer: false, services_answer: false, ..Options::default() };
        let account = aws::Account::read(&emulator.endpoint(), "us-east-1")?;
        let network = Network::build(&lab, &mut internet, &account, &options)?;
        let ports = Ports { hosts: &[443], instances: &[], apis: &[] };
        let mut objects = google.objects();
        objects.extend(google.record_sets());
        let plane = Plane::build(&lab, &mut internet, &objects, ports)?;

        let pods = lab.node("pods")?;
        internet.attach(&lab, &pods, "eth0", &[ipnet::IpNet::from(IpAddr::V4(POD))])?;
        pods.ip(&format!("address add {POD}/32 dev eth0"))?;
        let public: Arc<dyn Names> = Arc::new(internet.names().clone());
        lab.serve_names(internet.node(), &[internet.address()], &public)?;
        pods.set_resolvers(&[internet.address()])?;

        let (registry, storage, authority) = (Registry::start(&lab)?, Storage::start()?, Authority::new()?);
        let world = World { lab, internet, aws: network, google: plane, pods, authority, registry, storage };
        world.serve(emulator.endpoint().trim_start_matches("http://").parse()?)?;
        Ok(world)
    }

    /// Real servers behind the services' names, wherever requests to them arrive.
    fn serve(&self, emulated_aws: SocketAddr) -> Result<()> {
        let all = [
            ("s3", Site::new(&["s3.us-east-1.amazonaws.com", "*.s3.us-east-1.amazonaws.com"], emulated_aws)),
            ("ecr.api", Site::new(&["api.ecr.us-east-1.amazonaws.com"], emulated_aws)),
            ("ecr.dkr", Site::new(&["*.dkr.ecr.us-east-1.amazonaws.com"], self.registry.address())),
        ];
        for server in self.aws.servers() {
            let here = all.iter().filter(|(name, _)| {
                server.service_name.is_empty() || server.service_name.ends_with(&format!(".{name}"))
            });
            let sites: Vec<Site> = here.map(|(_, site)| site.clone().behind(self.aws.gate(server))).collect();
            if !sites.is_empty() {
                self.lab.serve_tls(&server.node, &[server.address.into()], &self.authority, &sites)?;
            }
        }
        let google = Site::new(&["storage.googleapis.com"], self.storage.address());
        self.lab.serve_tls(self.google.apis(), &[Ipv4Addr::UNSPECIFIED.into()], &self.authority, &[google])
    }

    /// The addresses of a name for a host.
    ///
    /// # Errors
    /// It has none.
    pub fn resolved(&self, host: &Node, name: &str) -> Result<BTreeSet<IpAddr>> {
        let found = self.lab.lookup(host, name);
        ensure!(!found.addresses.is_empty(), "{name} has no address on {}", host.name());
        Ok(found.addresses)
    }
}
