//! The habits of the emulated cloud.

/// How the emulated cloud behaves. The default is as quick and consistent as it can be, with every rejection on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyConfig {
    /// The region that the inventory looks at; clients must use the same.
    pub region: String,
    /// How many describes show a new NAT gateway, endpoint, peering, transit gateway or attachment as not ready yet.
    pub pending: u32,
    /// How many describes show a deleted one as `deleting`. What it holds stays in use for as long.
    pub deleting: u32,
    /// How long a new object is not found.
    pub consistency: Consistency,
    /// How many reads of an attribute show the value before its last change.
    pub stale_attributes: u32,
    /// The largest page of a describe, also where the caller asked for none or a larger one.
    pub page_size: Option<usize>,
    /// Whether what AWS refuses and the emulator accepts is refused.
    pub rules: bool,
}

/// Eventual consistency: how many calls do not know a new object yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consistency {
    /// Describes that answer `Invalid…NotFound`, or leave the object out of a list.
    pub reads: u32,
    /// Other calls naming the object that answer `Invalid…NotFound`.
    pub writes: u32,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            pending: 0,
            deleting: 0,
            consistency: Consistency::default(),
            stale_attributes: 0,
            page_size: None,
            rules: true,
        }
    }
}

impl ProxyConfig {
    /// A cloud that is slow and forgetful in every way at once, within what a good client must survive.
    pub fn realistic() -> Self {
        Self {
            pending: 2,
            deleting: 2,
            consistency: Consistency { reads: 1, writes: 1 },
            stale_attributes: 1,
            page_size: Some(5),
            ..Self::default()
        }
    }
}
