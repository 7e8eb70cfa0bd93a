//! Reads of an attribute are stale for some time after it was changed ("Eventual consistency" in the EC2 API reference). The
//! emulator shows a change at once.

use std::collections::BTreeMap;

use super::Shared;
use super::request::Request;
use crate::query::Params;
use crate::xml::Element;

/// The values before their last changes.
#[derive(Debug, Default)]
pub(super) struct Attributes(BTreeMap<(String, &'static str), Before>);

#[derive(Debug)]
struct Before {
    value: String,
    /// How many reads still show it.
    left: u32,
}

/// An attribute that a request changes, with its value before.
pub(super) type Changed = (String, &'static str, String);

/// The parameter of a change, and the element of an answer.
const VPC: [(&str, &str); 2] =
    [("EnableDnsSupport.Value", "enableDnsSupport"), ("EnableDnsHostnames.Value", "enableDnsHostnames")];
const SUBNET: [(&str, &str); 2] = [
    ("MapPublicIpOnLaunch.Value", "mapPublicIpOnLaunch"),
    ("AssignIpv6AddressOnCreation.Value", "assignIpv6AddressOnCreation"),
];

/// What a request is about to change.
pub(super) async fn changed(shared: &Shared, request: &Request) -> Vec<Changed> {
    let (attributes, id) = match request.action.as_str() {
        "ModifyVpcAttribute" => (VPC, request.params.get("VpcId")),
        "ModifySubnetAttribute" => (SUBNET, request.params.get("SubnetId")),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (parameter, element) in attributes.into_iter().filter(|(parameter, _)| request.params.has(parameter))
    {
        let answer = if attributes == VPC {
            let params = [("VpcId", id), ("Attribute", element)];
            shared.emulator.ec2(&request.region, "DescribeVpcAttribute", &params).await
        } else {
            shared.emulator.ec2(&request.region, "DescribeSubnets", &[("SubnetId.1", id)]).await
        };
        let Ok(answer) = answer else { continue };
        let value = match attributes == VPC {
            true => answer.text_at(&format!("{element}/value")).to_owned(),
            false => answer
                .items("subnetSet")
                .next()
                .map(|item| item.text_at(element).to_owned())
                .unwrap_or_default(),
        };
        if value != request.params.get(parameter) {
            found.push((id.to_owned(), element, value));
        }
    }
    found
}

impl Attributes {
    /// Whether an answer may need the values before a change.
    pub(super) fn concerns(&self, action: &str) -> bool {
        !self.0.is_empty() && matches!(action, "DescribeVpcAttribute" | "DescribeSubnets")
    }

    /// Remembers what a successful call has changed, for so many reads.
    pub(super) fn begun(&mut self, changed: Vec<Changed>, reads: u32) {
        for (id, element, value) in changed.into_iter().filter(|_| reads > 0) {
            self.0.insert((id, element), Before { value, left: reads });
        }
    }

    /// Shows the values before, and counts it.
    pub(super) fn show(&mut self, action: &str, sent: &Params, answer: &mut Element) {
        match action {
            "DescribeVpcAttribute" => {
                for (_, element) in VPC {
                    if let Some(holder) = answer.child_mut(element)
                        && let Some(value) = self.step(sent.get("VpcId"), element)
                    {
                        holder.set_text("value", &value);
                    }
                }
            }
            "DescribeSubnets" => {
                for item in answer.child_mut("subnetSet").into_iter().flat_map(|set| &mut set.children) {
                    for (_, element) in SUBNET {
                        let id = item.text_at("subnetId").to_owned();
                        if let Some(value) = self.step(&id, element) {
                            item.set_text(element, &value);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn step(&mut self, id: &str, element: &'static str) -> Option<String> {
        let key = (id.to_owned(), element);
        let before = self.0.get_mut(&key)?;
        let value = before.value.clone();
        before.left -= 1;
        if before.left == 0 {
            self.0.remove(&key);
        }
        Some(value)
    }
}
