//! Settings of VPC endpoints that the emulator accepts and forgets: address type, DNS options, private DNS switched later.

use std::collections::BTreeMap;

use crate::query::Params;
use crate::xml::Element;

/// The parameters that calls have set, by endpoint.
#[derive(Debug, Default)]
pub(super) struct Options(BTreeMap<String, BTreeMap<&'static str, String>>);

/// Each parameter, and its element in an endpoint.
const SETTINGS: &[(&str, &str, Option<&str>)] = &[
    ("IpAddressType", "ipAddressType", None),
    ("DnsOptions.DnsRecordIpType", "dnsRecordIpType", Some("dnsOptions")),
    (
        "DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint",
        "privateDnsOnlyForInboundResolverEndpoint",
        Some("dnsOptions"),
    ),
    ("PrivateDnsEnabled", "privateDnsEnabled", None),
];

impl Options {
    /// Remembers the settings of a successful call, and shows them in its answer.
    pub(super) fn show(&mut self, action: &str, sent: &Params, answer: &mut Element) {
        match action {
            "CreateVpcEndpoint" => {
                if let Some(endpoint) = answer.child_mut("vpcEndpoint") {
                    self.keep(endpoint.text_at("vpcEndpointId").to_owned(), sent);
                    self.fill(endpoint);
                }
            }
            "ModifyVpcEndpoint" => self.keep(sent.get("VpcEndpointId").to_owned(), sent),
            "DescribeVpcEndpoints" => {
                for endpoint in
                    answer.child_mut("vpcEndpointSet").into_iter().flat_map(|set| &mut set.children)
                {
                    self.fill(endpoint);
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, id: String, sent: &Params) {
        let settings = self.0.entry(id).or_default();
        for (param, ..) in SETTINGS {
            if sent.has(param) {
                settings.insert(param, sent.get(param).to_owned());
            }
        }
    }

    fn fill(&self, endpoint: &mut Element) {
        endpoint.set_text("ipAddressType", "ipv4");
        let Some(settings) = self.0.get(endpoint.text_at("vpcEndpointId")) else { return };
        for (param, element, holder) in SETTINGS {
            let Some(value) = settings.get(param) else { continue };
            let mut at = &mut *endpoint;
            if let Some(holder) = holder {
                if at.child(holder).is_none() {
                    at.children.push(Element::new(holder));
                }
                let Some(found) = at.child_mut(holder) else { continue };
                at = found;
            }
            at.set_text(element, value);
        }
    }
}
