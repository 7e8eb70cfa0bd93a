//! Warren's AWS resources, which have the attribute names of hashicorp/aws.

use super::resource::{Attribute, Resource};
use super::{Context, Reader, hashicorp_aws};

pub(super) const READERS: &[(&str, Reader)] = &[
    ("warren_aws_vpc", vpc),
    ("warren_aws_subnet", hashicorp_aws::subnet),
    ("warren_aws_vpc_peering", hashicorp_aws::peering),
];

/// Like `aws_vpc`, with the secondary ranges as a list of strings.
fn vpc(context: &mut Context<'_>, resource: &Resource<'_>) {
    hashicorp_aws::vpc(context, resource);
    let (mut blocks, mut complete) = (Vec::new(), true);
    match resource.values.attribute("secondary_cidr_blocks") {
        Attribute::Known(node) => {
            for (index, item) in node.items().iter().enumerate() {
                let site = context.site(resource, &format!("secondary_cidr_blocks[{index}]"), Some(item.at));
                // An unknown item is null in the list.
                match item.text().map(|text| context.parse(text, site)) {
                    Some(Ok(block)) => blocks.extend(block),
                    Some(Err(())) => complete = false,
                    None => {
                        context.model.unknown += 1;
                        complete = false;
                    }
                }
            }
        }
        Attribute::Absent => {}
        Attribute::Unknown => {
            context.model.unknown += 1;
            complete = false;
        }
        Attribute::Sensitive => {
            context.model.sensitive += 1;
            complete = false;
        }
    }
    if let Some(network) = context.model.networks.last_mut() {
        network.blocks.extend(blocks);
        network.complete &= complete;
    }
}
