//! Random policies of endpoints and of buckets. The buckets are made beside Terraform, as a team does that has them already;
//! plan and state show them as hashicorp/aws does.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::random::Random;
use crate::servers::put_policy;

/// The objects that are asked for: a policy may be about some of them.
pub(super) const OBJECTS: [&str; 2] = ["/object", "/part/0"];

/// A bucket, and its policy with references to resources in place of IDs.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    name: String,
    policy: Option<String>,
}

/// What policies of a topology may name.
pub(super) struct Policies {
    random: Random,
    /// The prefix of the names of its buckets.
    name: String,
    /// References to the VPCs.
    vpcs: Vec<String>,
    /// References to the endpoints.
    endpoints: Vec<String>,
    ranges: Vec<String>,
}

const ACTIONS: [&str; 7] =
    ["s3:GetObject", "s3:GetObject", "s3:Get*", "s3:*", "*", "S3:GetObject*", "s3:PutObject"];

impl Policies {
    /// `seed` decides about the policies alone, so that a topology is the same with and without them.
    pub(super) fn new(seed: u64, name: &str) -> Policies {
        let random = Random::new(seed ^ 0x5333_706f_6c69_6379);
        Policies {
            random,
            name: name.to_owned(),
            vpcs: Vec::new(),
            endpoints: Vec::new(),
            ranges: Vec::new(),
        }
    }

    pub(super) fn vpc(&mut self, name: &str, range: &str) {
        self.vpcs.push(format!("${{warren_aws_vpc.{name}.id}}"));
        self.ranges.push(range.to_owned());
    }

    pub(super) fn subnet(&mut self, range: &str) {
        self.ranges.push(range.to_owned());
    }

    /// The attribute `policy` of an endpoint for S3, if it gets one. It cannot name endpoints.
    pub(super) fn of_endpoint(&mut self, endpoint: &str) -> String {
        let statements: Vec<Value> = if self.random.chance(55) {
            let resources = [
                "*".to_owned(),
                format!("arn:aws:s3:::{}-*", self.name),
                format!("arn:aws:s3:::{}-data/*", self.name),
                format!("arn:aws:s3:::{}-data/part/*", self.name),
                format!("arn:aws:s3:::{}-logs/*", self.name),
                format!("arn:aws:s3:::{}-???a/*", self.name),
            ];
            let count = 1 + self.random.below(3);
            (0..count).map(|_| self.statement(&resources, 80, 35, false)).collect()
        } else {
            Vec::new()
        };
        self.endpoints.push(format!("${{warren_aws_vpc_endpoint.{endpoint}.id}}"));
        if statements.is_empty() {
            return String::new();
        }
        format!("  policy = jsonencode({})\n", document(&statements))
    }

    /// The buckets, when all endpoints are known.
    pub(super) fn buckets(&mut self) -> Vec<Bucket> {
        let mut buckets = Vec::new();
        for (label, chance) in [("data", 90), ("logs", 45)] {
            let name = format!("{}-{label}", self.name);
            let resources = [
                format!("arn:aws:s3:::{name}/*"),
                format!("arn:aws:s3:::{name}/*"),
                format!("arn:aws:s3:::{name}/part/*"),
            ];
            let policy = self.random.chance(chance).then(|| {
                let count = 1 + self.random.below(2);
                let statements = (0..count).map(|_| self.statement(&resources, 25, 90, true));
                document(&statements.collect::<Vec<_>>()).to_string()
            });
            buckets.push(Bucket { name, policy });
        }
        buckets
    }

    fn statement(
        &mut self,
        resources: &[String],
        allows: usize,
        conditions: usize,
        endpoints: bool,
    ) -> Value {
        let effect = if self.random.chance(allows) { "Allow" } else { "Deny" };
        let action = ACTIONS[self.random.below(ACTIONS.len())];
        let actions = if self.random.chance(12) { "NotAction" } else { "Action" };
        let resource = self.random.pick(resources).cloned().unwrap_or_default();
        let named = if self.random.chance(15) { "NotResource" } else { "Resource" };
        let mut statement = json!({ "Effect": effect, "Principal": "*", actions: action, named: [resource] });
        if self.random.chance(conditions) {
            let mut all = serde_json::Map::new();
            for _ in 0..=self.random.below(2) {
                let (operator, key, values) = self.condition(endpoints);
                all.insert(operator.to_owned(), json!({ key: values }));
            }
            statement["Condition"] = all.into();
        }
        statement
    }

    fn condition(&mut self, endpoints: bool) -> (&'static str, &'static str, Value) {
        let texts = [
            "StringEquals",
            "StringNotEquals",
            "StringNotEquals",
            "StringEqualsIfExists",
            "StringNotEqualsIfExists",
            "StringLike",
            "ForAnyValue:StringEquals",
            "ForAllValues:StringEquals",
        ];
        let operator = texts[self.random.below(texts.len())];
        let kind = self.random.below(8);
        match kind {
            0..=2 if endpoints && !self.endpoints.is_empty() => {
                let some = self.some(&self.endpoints.clone(), "vpce-00000000000000000");
                (operator, "aws:SourceVpce", some)
            }
            0..=4 => {
                let some = self.some(&self.vpcs.clone(), "vpc-00000000000000000");
                (operator, "aws:SourceVpc", some)
            }
            5 => {
                let key = if self.random.chance(50) { "aws:SourceVpce" } else { "aws:SourceVpc" };
                ("Null", key, json!(if self.random.chance(50) { "true" } else { "false" }))
            }
            6 => {
                let operator = if self.random.chance(50) { "IpAddress" } else { "NotIpAddress" };
                let wide = ["10.0.0.0/8".to_owned(), "192.168.0.0/16".to_owned()];
                let all: Vec<String> = self.ranges.iter().cloned().chain(wide).collect();
                (operator, "aws:VpcSourceIp", json!([self.random.pick(&all)]))
            }
            _ if self.random.chance(60) => {
                let operator = if self.random.chance(50) { "IpAddress" } else { "NotIpAddress" };
                let range = if self.random.chance(50) { "10.0.0.0/8" } else { "0.0.0.0/0" };
                (operator, "aws:SourceIp", json!(range))
            }
            _ => ("Bool", "aws:SecureTransport", json!(self.random.chance(50).to_string())),
        }
    }

    /// Some references, or one to an object elsewhere.
    fn some(&mut self, of: &[String], elsewhere: &str) -> Value {
        let some: Vec<&String> = self.random.some(of, 45);
        if some.is_empty() { json!(elsewhere) } else { json!(some) }
    }
}

fn document(statements: &[Value]) -> Value {
    json!({ "Version": "2012-10-17", "Statement": statements })
}

impl Bucket {
    /// Its name for clients.
    pub(super) fn host(&self) -> String {
        format!("{}.s3.us-east-1.amazonaws.com", self.name)
    }

    /// Makes the bucket and its policy in the emulated cloud.
    pub(super) fn make(&self, endpoint: &str, ids: &Ids) -> Result<()> {
        let policy = self.policy.as_deref().map(|policy| ids.resolve(policy)).transpose()?;
        put_policy(endpoint, &self.name, policy.as_deref())
    }

    /// Adds it to a state, or to a plan, where an ID is known only after the apply.
    pub(super) fn show(&self, document: &mut Value, ids: &Ids) -> Result<()> {
        let planned = document.get("resource_changes").is_some();
        let mut add = |kind: &str, values: Value, unknown: Value| -> Result<()> {
            let label = self.name.as_str();
            let mut resource = json!({ "address": format!("{kind}.{label}"), "mode": "managed", "type": kind, "name": label });
            let list = if planned {
                resource["change"] = json!({ "actions": ["create"], "before": null, "after": values, "after_unknown": unknown });
                &mut document["resource_changes"]
            } else {
                resource["values"] = values;
                &mut document["values"]["root_module"]["resources"]
            };
            list.as_array_mut().context("a plan or a state has resources")?.push(resource);
            Ok(())
        };
        let own = json!({ "bucket": self.name });
        add("aws_s3_bucket", own.clone(), json!({ "id": true }))?;
        let Some(policy) = &self.policy else { return Ok(()) };
        if planned && policy.contains("${") {
            return add("aws_s3_bucket_policy", own, json!({ "policy": true }));
        }
        add("aws_s3_bucket_policy", json!({ "bucket": self.name, "policy": ids.resolve(policy)? }), json!({}))
    }
}

/// The IDs of resources after the apply, by their addresses.
pub(super) struct Ids(BTreeMap<String, String>);

impl Ids {
    pub(super) fn of(state: &Value) -> Ids {
        let resources = state["values"]["root_module"]["resources"].as_array();
        let id =
            |it: &Value| Some((it["address"].as_str()?.to_owned(), it["values"]["id"].as_str()?.to_owned()));
        Ids(resources.into_iter().flatten().filter_map(id).collect())
    }

    /// A text in which `${ADDRESS.id}` is replaced.
    fn resolve(&self, text: &str) -> Result<String> {
        let mut parts = text.split("${");
        let mut resolved = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (reference, rest) = part.split_once('}').context("a reference ends")?;
            let address = reference.trim_end_matches(".id");
            resolved += self.0.get(address).with_context(|| format!("no {address} in the state"))?;
            resolved += rest;
        }
        Ok(resolved)
    }
}
