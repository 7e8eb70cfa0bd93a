//! The habits of the double.

use std::collections::BTreeMap;

/// How the double behaves. The default is as quick as Google can be, with every rule on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoogleConfig {
    /// The projects that exist.
    pub projects: Vec<String>,
    /// The numbers of the access policies that may be changed.
    pub access_policies: Vec<String>,
    /// The regions that exist, each with zones `-a`, `-b` and `-c`.
    pub regions: Vec<String>,
    /// How many looks at an operation show it unfinished. Looks at its object, and calls refused because of it, count
    /// too, so that an operation that nobody waits for ends as well. With 0 the first answer shows it done.
    pub polls: u32,
    /// Whether an object is shown while it is being made; if not it is not found until then, and its name is taken.
    pub show_unfinished: bool,
    /// Whether conflicts with other objects (overlaps, use by others, quotas) fail the operation instead of the call.
    /// Google does both.
    pub refuse_in_operation: bool,
    /// How many reads and changes of a new service account are refused: the first because it is not found, the others
    /// because it is not permitted.
    pub account_delay: u32,
    /// The largest page of a list, also where the caller asked for none or a larger one.
    pub page_size: Option<usize>,
    /// The Shared VPC hosts, by service project.
    pub shared_vpc_hosts: BTreeMap<String, String>,
    /// What Cloud Routers have learned from their BGP peers, by the name of the router from `projects/` on.
    pub learned_routes: BTreeMap<String, Vec<String>>,
    /// Internal ranges by name: `projects/p/locations/global/internalRanges/r`.
    pub internal_ranges: BTreeMap<String, InternalRange>,
    /// Limits by Google's name of the quota, such as `NETWORKS`; no limit where there is none.
    pub quotas: BTreeMap<String, u64>,
}

/// An internal range of Network Connectivity, which no subnetwork may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalRange {
    /// The network, from `projects/` on.
    pub network: String,
    /// The range.
    pub net: String,
}

impl Default for GoogleConfig {
    fn default() -> Self {
        Self {
            projects: vec!["acme-ml".to_owned()],
            access_policies: vec!["123".to_owned()],
            regions: ["us-central1", "us-east1", "us-west1", "europe-west1", "europe-west4", "asia-east1"]
                .map(str::to_owned)
                .to_vec(),
            polls: 0,
            show_unfinished: true,
            refuse_in_operation: false,
            account_delay: 0,
            page_size: None,
            shared_vpc_hosts: BTreeMap::new(),
            learned_routes: BTreeMap::new(),
            internal_ranges: BTreeMap::new(),
            quotas: BTreeMap::new(),
        }
    }
}

impl GoogleConfig {
    /// A cloud that is slow and late in every way at once, within what a good client must survive.
    pub fn realistic() -> Self {
        Self { polls: 2, refuse_in_operation: true, account_delay: 2, page_size: Some(5), ..Self::default() }
    }
}
