//! The lines of a ledger.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tf_provider_rs::Path;
use warren_cidr::Family;

use crate::{Key, LiveRange, Parent, PlannedRange, PlannedResource, Role};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record {
    /// A resource was planned.
    Planned { fabric: String, owner: String, resource: Resource },
    /// The destruction of a resource was planned.
    Gone { fabric: String, owner: String, key: Key, id: Option<String> },
    /// A process has read these live ranges.
    Live { fabric: String, ranges: Vec<LiveRange>, networks: BTreeSet<String> },
    /// Terraform validates the configuration before it plans: the records before this one belong to an earlier plan
    /// of the same process, as in `terraform test`.
    Validated {},
}

/// A planned resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Resource {
    key: Key,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    ranges: Vec<Range>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<Family>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pools: Vec<Vec<IpNet>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Range {
    net: IpNet,
    path: String,
    #[serde(flatten)]
    role: Use,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "role")]
enum Use {
    Reserve,
    Occupy,
    Excluded,
    Part { kind: Cow<'static, str>, id: Option<String>, cidrs: Vec<IpNet> },
}

impl From<&PlannedResource> for Resource {
    fn from(planned: &PlannedResource) -> Resource {
        let range = |range: &PlannedRange| Range {
            net: range.net,
            path: range.path.to_string(),
            role: match &range.role {
                Role::Reserve => Use::Reserve,
                Role::Occupy => Use::Occupy,
                Role::Excluded => Use::Excluded,
                Role::Part(Parent { kind, id, cidrs }) => {
                    Use::Part { kind: kind.clone(), id: id.clone(), cidrs: cidrs.clone() }
                }
            },
        };
        Resource {
            key: planned.key.clone(),
            id: planned.id.clone(),
            ranges: planned.ranges.iter().map(range).collect(),
            unknown: planned.unknown.clone(),
            pools: planned.pools.clone(),
        }
    }
}

impl From<Resource> for PlannedResource {
    fn from(resource: Resource) -> PlannedResource {
        let range = |range: Range| PlannedRange {
            net: range.net.trunc(),
            path: Path::of(&range.path),
            role: match range.role {
                Use::Reserve => Role::Reserve,
                Use::Occupy => Role::Occupy,
                Use::Excluded => Role::Excluded,
                Use::Part { kind, id, cidrs } => Role::Part(Parent { kind, id, cidrs }),
            },
        };
        PlannedResource {
            key: resource.key,
            id: resource.id,
            ranges: resource.ranges.into_iter().map(range).collect(),
            unknown: resource.unknown,
            pools: resource.pools,
        }
    }
}
