//! What a plan costs: list prices of what is billed by time, each with its source.
//!
//! An estimate. It has no traffic, requests, or storage of images, and no discounts. Clouds bill some of these by the
//! hour that has begun.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::sweep::{Swept, swept};

/// Hours of a month in price lists.
const MONTH: f64 = 730.0;

/// Something that is billed by time.
#[derive(Debug)]
struct Billed {
    /// The resource type that creates it.
    resource: &'static str,
    /// What it is.
    what: &'static str,
    /// How much of it a planned resource is.
    amount: fn(&Planned<'_>) -> f64,
    /// US dollars for one hour of one; `None` where no source was found.
    hourly: Option<f64>,
    /// Who publishes the price, and the date of the page.
    source: &'static str,
}

/// A resource that a plan creates.
struct Planned<'a> {
    values: &'a Value,
    /// Which values are known only after apply.
    unknown: &'a Value,
}

impl Planned<'_> {
    /// The number of elements of a list, also where they are not known yet.
    fn count(&self, attribute: &str) -> f64 {
        let elements = |value: &Value| value[attribute].as_array().map_or(0, Vec::len);
        let unknown = usize::from(self.unknown[attribute] == true);
        u32::try_from(elements(self.values).max(elements(self.unknown)).max(unknown)).map_or(0.0, f64::from)
    }

    fn is(&self, path: &str, value: &str) -> bool {
        self.values.pointer(path).and_then(Value::as_str) == Some(value)
    }

    /// Whether this GPU is the only one that a pod accepts, or the first.
    fn has_gpu(&self, id: &str) -> bool {
        self.is("/gpu/id", id) || self.is("/gpu/ids/0", id)
    }

    /// One if the condition holds.
    fn if_so(holds: bool) -> f64 {
        if holds { 1.0 } else { 0.0 }
    }
}

const RTX_4090: &str = "NVIDIA GeForce RTX 4090";

const IPV4: (Option<f64>, &str) = (
    Some(0.005),
    "https://community.aws/content/2c6cKl0W4KQZIO6dWnnDHs1tHSp/aws-to-charge-public-ipv4-addresses, 2024-05-21",
);

const BILLED: &[Billed] = &[
    Billed {
        resource: "warren_aws_nat_gateway",
        what: "NAT gateway",
        amount: |_| 1.0,
        hourly: Some(0.045),
        source: "https://aws.amazon.com/vpc/pricing/, 2026-09-20",
    },
    Billed {
        resource: "warren_aws_nat_gateway",
        what: "public IPv4 address",
        amount: |planned| {
            let own = planned.values["allocation_id"].is_null() && planned.unknown["allocation_id"] != true;
            Planned::if_so(own && !planned.is("/connectivity_type", "private"))
        },
        hourly: IPV4.0,
        source: IPV4.1,
    },
    Billed {
        resource: "warren_aws_elastic_ip",
        what: "public IPv4 address",
        amount: |_| 1.0,
        hourly: IPV4.0,
        source: IPV4.1,
    },
    Billed {
        resource: "warren_aws_vpc_endpoint",
        what: "interface endpoint in one availability zone",
        amount: |planned| planned.count("subnet_ids"),
        hourly: Some(0.01),
        source: "https://awsnegotiations.com/privatelink-cost-analysis.html, 2026-05",
    },
    Billed {
        resource: "warren_aws_transit_gateway_attachment",
        what: "attachment of a transit gateway",
        amount: |_| 1.0,
        hourly: Some(0.05),
        source: "https://cloud-horizons.com/blog/transit-gateway-the-tax-on-multi-vpc/, 2026-05-08",
    },
    Billed {
        resource: "warren_aws_route53_zone",
        what: "hosted zone ($0.50 a month)",
        amount: |_| 1.0,
        hourly: Some(0.5 / MONTH),
        source: "https://ns1.com/resources/aws-dns, undated",
    },
    Billed {
        resource: "warren_aws_resolver_endpoint",
        what: "Resolver endpoint address",
        amount: |planned| planned.count("ip_addresses"),
        hourly: None,
        source: "",
    },
    Billed { resource: "warren_aws_gateway", what: "instance", amount: |_| 1.0, hourly: None, source: "" },
    Billed {
        resource: "warren_gcp_router_nat",
        what: "external address of Cloud NAT",
        amount: |planned| planned.count("nat_ips").max(1.0),
        hourly: Some(0.005),
        source: "https://cloud.google.com/nat/pricing, undated; each VM that uses the NAT costs $0.0014 more",
    },
    Billed {
        resource: "warren_gcp_private_service_connect",
        what: "Private Service Connect endpoint",
        amount: |_| 1.0,
        hourly: None,
        source: "",
    },
    Billed {
        resource: "warren_gcp_dns_zone",
        what: "managed zone of Cloud DNS",
        amount: |_| 1.0,
        hourly: None,
        source: "",
    },
    Billed { resource: "warren_gcp_address", what: "address", amount: |_| 1.0, hourly: None, source: "" },
    Billed { resource: "warren_gcp_gateway", what: "instance", amount: |_| 1.0, hourly: None, source: "" },
    Billed {
        resource: "warren_runpod_pod",
        what: "pod with an RTX 4090",
        amount: |planned| Planned::if_so(planned.has_gpu(RTX_4090)),
        hourly: Some(0.60),
        source: "https://deploybase.ai/articles/runpod-gpu-pricing, 2026-03-10",
    },
    Billed {
        resource: "warren_runpod_pod",
        what: "pod with another GPU or none",
        amount: |planned| Planned::if_so(!planned.has_gpu(RTX_4090)),
        hourly: None,
        source: "",
    },
    Billed {
        resource: "warren_runpod_cluster",
        what: "cluster of pods",
        amount: |_| 1.0,
        hourly: None,
        source: "",
    },
    Billed {
        resource: "warren_runpod_network_volume",
        what: "GB of a network volume ($0.07 a month)",
        amount: |planned| planned.values["size"].as_f64().unwrap_or(1.0),
        hourly: Some(0.07 / MONTH),
        source: "https://docs.runpod.io/get-started/billing-information, undated",
    },
];

/// What a plan creates, and what that costs.
#[derive(Debug, Default)]
pub struct Estimate {
    /// The number of objects of each resource type.
    pub creates: BTreeMap<String, usize>,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    billed: &'static Billed,
    amount: f64,
}

impl Estimate {
    /// The estimate for a plan in Terraform's JSON form.
    pub fn of(plan: &Value) -> Estimate {
        let mut estimate = Estimate::default();
        for change in plan["resource_changes"].as_array().into_iter().flatten() {
            let create =
                change["change"]["actions"].as_array().is_some_and(|all| all.contains(&"create".into()));
            let Some(resource) = change["type"].as_str().filter(|_| create) else { continue };
            if swept(resource) == Some(Swept::Nothing) {
                continue;
            }
            *estimate.creates.entry(resource.to_owned()).or_default() += 1;
            let planned =
                Planned { values: &change["change"]["after"], unknown: &change["change"]["after_unknown"] };
            for billed in BILLED.iter().filter(|billed| billed.resource == resource) {
                estimate.add(billed, (billed.amount)(&planned));
            }
        }
        estimate
    }

    fn add(&mut self, billed: &'static Billed, amount: f64) {
        if amount == 0.0 {
            return;
        }
        match self.lines.iter_mut().find(|line| line.billed.what == billed.what) {
            Some(line) => line.amount += amount,
            None => self.lines.push(Line { billed, amount }),
        }
    }

    /// US dollars an hour for everything with a listed price.
    pub fn hourly(&self) -> f64 {
        self.lines.iter().filter_map(|line| Some(line.billed.hourly? * line.amount)).sum()
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects: usize = self.creates.values().sum();
        writeln!(f, "It creates {objects} objects:")?;
        for (resource, count) in &self.creates {
            writeln!(f, "  {count:>4} {resource}")?;
        }
        writeln!(f, "Of these, the cloud bills by time:")?;
        for Line { billed, amount } in &self.lines {
            match billed.hourly {
                Some(hourly) => {
                    writeln!(
                        f,
                        "  {amount:>4} {}: ${:.4} an hour ({})",
                        billed.what,
                        hourly * amount,
                        billed.source
                    )?;
                }
                None => writeln!(f, "  {amount:>4} {}: billed, price not listed", billed.what)?,
            }
        }
        let more = self.lines.iter().any(|line| line.billed.hourly.is_none());
        let more = if more { ", and what is not listed" } else { "" };
        write!(
            f,
            "Estimate: ${:.2} an hour{more}, without traffic and storage of images. A started hour can be billed as a whole.",
            self.hourly()
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(changes: &[(&str, Value, Value)]) -> Value {
        let changes: Vec<Value> = changes
            .iter()
            .map(|(kind, after, unknown)| {
                let change = json!({"actions": ["create"], "after": after, "after_unknown": unknown});
                json!({"type": kind, "change": change})
            })
            .collect();
        json!({"resource_changes": changes})
    }

    #[test]
    fn what_is_billed_is_counted_and_what_is_not_known_is_said() {
        let mut plan = plan(&[
            ("warren_address_plan", json!({}), json!({})),
            ("warren_aws_vpc", json!({}), json!({})),
            ("warren_aws_nat_gateway", json!({"connectivity_type": "public"}), json!({})),
            ("warren_aws_nat_gateway", json!({}), json!({"allocation_id": true})),
            (
                "warren_aws_vpc_endpoint",
                json!({"subnet_ids": [null, null]}),
                json!({"subnet_ids": [true, true]}),
            ),
            ("warren_aws_vpc_endpoint", json!({}), json!({"subnet_ids": true})),
            ("warren_aws_vpc_endpoint", json!({"subnet_ids": null}), json!({"route_table_ids": true})),
            ("warren_runpod_pod", json!({"gpu": {"ids": ["NVIDIA H100", RTX_4090]}}), json!({})),
            ("warren_runpod_network_volume", json!({"size": 730}), json!({})),
        ]);
        plan["resource_changes"].as_array_mut().unwrap().push(
            json!({"type": "warren_aws_elastic_ip", "change": {"actions": ["no-op"], "after": {}, "after_unknown": {}}}),
        );
        let estimate = Estimate::of(&plan);
        // Two NAT gateways, one address, three endpoints in one zone each, and 730 GB.
        let expected = 2.0 * 0.045 + 0.005 + 3.0 * 0.01 + 0.07;
        assert!((estimate.hourly() - expected).abs() < 1e-9, "{estimate}");
        assert!(
            estimate.to_string().contains("1 pod with another GPU or none: billed, price not listed"),
            "{estimate}"
        );
        assert_eq!(estimate.creates.values().sum::<usize>(), 8);
    }

    #[test]
    fn every_listed_price_has_a_source() {
        for billed in BILLED {
            assert_eq!(billed.hourly.is_some(), billed.source.starts_with("https://"), "{billed:?}");
        }
    }
}
