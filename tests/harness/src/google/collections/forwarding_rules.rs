//! Forwarding rules, as far as Private Service Connect for Google APIs needs them.

use serde_json::json;

use super::super::error::Refusal;
use super::super::key::{Key, Place};
use super::super::world::{Body, World};
use super::{Change, Rules, default, labels, link, text};

/// The bundles of Google APIs.
const BUNDLES: [&str; 2] = ["all-apis", "vpc-sc"];

pub(crate) struct ForwardingRules;

impl Rules for ForwardingRules {
    fn kind(&self) -> &'static str {
        "compute#forwardingRule"
    }

    fn word(&self) -> &'static str {
        "forwarding_rule"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("FORWARDING_RULES", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        labels::none_at_insert(body)?;
        let target = text(body, "target").to_owned();
        if key.place != Place::Global || !BUNDLES.contains(&target.as_str()) {
            let why = "The double knows only global rules whose target is all-apis or vpc-sc.";
            return Err(Refusal::invalid("resource.target", &target, why));
        }
        let plain = key.name.len() <= 20
            && key.name.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
        if !plain {
            let why = "For Google APIs the name must be 1-20 lowercase letters and digits.";
            return Err(Refusal::invalid("resource.name", &key.name, why));
        }
        for field in [
            "IPProtocol",
            "portRange",
            "ports",
            "allPorts",
            "subnetwork",
            "backendService",
            "loadBalancingScheme",
        ] {
            if body.get(field).is_some_and(|value| value != "") {
                let why = "The field does not go with a target of Google APIs.";
                return Err(Refusal::invalid(&format!("resource.{field}"), text(body, field), why));
            }
        }
        body.remove("loadBalancingScheme");
        let Some(network) = link(world, key, body, "network", "networks")? else {
            return Err(Refusal::bad("required", "Required field 'resource.network' not specified"));
        };
        address(world, key, body, &network)?;
        let serial = world.next();
        body.insert("pscConnectionId".to_owned(), json!((6_000_000_000_000_000_000 + serial).to_string()));
        body.insert("pscConnectionStatus".to_owned(), json!("ACCEPTED"));
        default(body, "networkTier", "PREMIUM");
        default(
            body,
            "serviceDirectoryRegistrations",
            json!([{"namespace": format!("goog-psc-{}", network.name), "serviceDirectoryRegion": "us-central1"}]),
        );
        body.insert("fingerprint".to_owned(), json!(world.fingerprint()));
        body.insert("labelFingerprint".to_owned(), json!(world.fingerprint()));
        Ok(())
    }

    fn change(&self, _world: &mut World, _key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        if change.sent.contains_key("fingerprint") {
            change.fingerprint("Forwarding rule")?;
        }
        let changed: Vec<String> = change
            .new
            .keys()
            .chain(change.old.keys())
            .filter(|field| *field != "networkTier" && change.old.get(*field) != change.new.get(*field))
            .cloned()
            .collect();
        let fields: Vec<&str> = changed.iter().map(String::as_str).collect();
        change.keep(&fields)
    }

    /// Google keeps `noAutomateDnsZone` to itself: hashicorp/google marks it as ignored on read.
    fn present(&self, _world: &World, _key: &Key, body: &mut Body) {
        body.remove("noAutomateDnsZone");
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        (verb == "setLabels").then(|| labels::set(world, key, sent))
    }
}

/// The address must be a reserved one for Private Service Connect in the same network; its number is kept.
fn address(world: &World, key: &Key, body: &mut Body, network: &Key) -> Result<(), Refusal> {
    let field = "resource.IPAddress";
    let sent = text(body, "IPAddress").to_owned();
    if sent.is_empty() {
        return Err(Refusal::bad("required", format!("Required field '{field}' not specified")));
    }
    let by_number = || {
        world.of("addresses").find(|(other, body)| {
            other.project == key.project && other.place == Place::Global && text(body, "address") == sent
        })
    };
    let (address, reserved) = match by_number() {
        Some((found, body)) => (found.clone(), body),
        None if sent.contains('/') => world.linked(field, &sent, "addresses", &key.project)?,
        None => world.linked(field, &format!("global/addresses/{sent}"), "addresses", &key.project)?,
    };
    let fits =
        text(reserved, "purpose") == "PRIVATE_SERVICE_CONNECT" && text(reserved, "network") == network.link();
    if !fits {
        let why =
            "Must be a global internal address with the purpose PRIVATE_SERVICE_CONNECT in the same network.";
        return Err(Refusal::invalid(field, &sent, why));
    }
    let number = text(reserved, "address").to_owned();
    let taken = world.of("forwardingRules").find(|(other, rule)| {
        other.project == key.project
            && text(rule, "IPAddress") == number
            && text(rule, "network") == network.link()
    });
    if let Some((user, _)) = taken {
        return Err(Refusal::in_use("address", &address.path(), &user.path()));
    }
    body.insert("IPAddress".to_owned(), json!(number));
    Ok(())
}
