//! Policy files in YAML, JSON or TOML: assertions about reachability.

use crate::node::{Kind, Node};
use crate::{InputError, Source};
use warren_model::Site;
use warren_model::policy::{Assertion, Expect, Selector};
use warren_model::topology::Protocol;

const KEYS: &[&str] = &["allow_empty", "expect", "from", "name", "port", "promise", "protocol", "to"];

/// Reads a policy file.
///
/// # Errors
/// Every error in the text, in the order of the text.
pub fn read_policy(source: &Source<'_>) -> Result<Vec<Assertion>, Vec<InputError>> {
    let tree = crate::tree(source).map_err(|error| vec![error])?;
    let mut reader = Reader { file: source.name, errors: Vec::new() };
    reader.keys(&tree, "", &["assertions"]);
    let mut found = Vec::new();
    match tree.get("assertions").map(|node| (node, &node.kind)) {
        Some((_, Kind::List(items))) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                found.extend(reader.assertion(item, &format!("assertions[{index}]")));
            }
        }
        Some((node, _)) => reader.error(node, "assertions", "expected a list of assertions", Some(EXAMPLE)),
        None => reader.error(&tree, "", "the policy has no `assertions`", Some(EXAMPLE)),
    }
    if reader.errors.is_empty() { Ok(found) } else { Err(reader.errors) }
}

const EXAMPLE: &str = "for example, `assertions: [{name: no inbound internet, from: internet, to: \"*\", expect: unreachable}]`";

struct Reader<'a> {
    file: &'a str,
    errors: Vec<InputError>,
}

impl Reader<'_> {
    fn error(&mut self, node: &Node, path: &str, message: &str, hint: Option<&str>) {
        self.errors.push(InputError {
            file: self.file.to_owned(),
            at: Some(node.at),
            path: path.to_owned(),
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        });
    }

    /// Reports unknown keys: ignoring a misspelled key could weaken an assertion.
    fn keys(&mut self, node: &Node, path: &str, known: &[&str]) {
        for entry in crate::node::unknown_keys(node, known) {
            let hint = format!("the keys are {}", known.join(", "));
            self.error(&entry.value, path, &format!("unknown key {:?}", short(&entry.key)), Some(&hint));
        }
    }

    fn text<'n>(&mut self, node: &'n Node, key: &str, path: &str) -> Option<&'n str> {
        match node.get(key) {
            None => {
                self.error(node, path, &format!("`{key}` is missing"), None);
                None
            }
            Some(value) => {
                let text = value.text().filter(|text| !text.is_empty());
                if text.is_none() {
                    let message = format!("expected a string, found {}", value.what());
                    self.error(value, &format!("{path}.{key}"), &message, None);
                }
                text
            }
        }
    }

    fn assertion(&mut self, node: &Node, path: &str) -> Option<Assertion> {
        if node.entries().is_empty() {
            self.error(node, path, "expected an assertion", Some(EXAMPLE));
            return None;
        }
        let before = self.errors.len();
        self.keys(node, path, KEYS);
        let name = self.text(node, "name", path);
        let promise = node.get("promise").and_then(|_| self.text(node, "promise", path));
        let from = self.selectors(node, "from", path);
        let to = self.selectors(node, "to", path);
        let expect = match self.text(node, "expect", path) {
            Some("unreachable") => Some(Expect::Unreachable),
            Some("reachable") => Some(Expect::Reachable),
            Some("endpoint") => Some(Expect::Endpoint),
            Some(other) => {
                let hint = Some("use `unreachable`, `reachable` or `endpoint`");
                let message = format!("unknown expectation {:?}", short(other));
                self.error(node.get("expect")?, &format!("{path}.expect"), &message, hint);
                None
            }
            None => None,
        };
        if expect == Some(Expect::Endpoint)
            && !to.iter().all(|it| matches!(it, Selector::Service(_) | Selector::Name(_)))
        {
            let hint = Some("select a service, such as `to: service:s3`");
            self.error(
                node,
                &format!("{path}.to"),
                "`expect: endpoint` works with services and names only",
                hint,
            );
        }
        let protocol = self.protocol(node, path);
        let allow_empty = node.get("allow_empty").is_some_and(Node::is_true);
        if self.errors.len() > before {
            return None;
        }
        let site = Site { file: self.file.to_owned(), path: path.to_owned(), at: Some(node.at) };
        let (name, promise) = (name?.to_owned(), promise.map(str::to_owned));
        Some(Assertion { name, promise, site, from, to, expect: expect?, protocol, allow_empty })
    }

    fn selectors(&mut self, node: &Node, key: &str, path: &str) -> Vec<Selector> {
        let Some(value) = node.get(key) else {
            self.error(node, path, &format!("`{key}` is missing"), None);
            return Vec::new();
        };
        let items = if value.text().is_some() { std::slice::from_ref(value) } else { value.items() };
        let mut found = Vec::new();
        for item in items {
            match item.text().filter(|text| !text.is_empty()) {
                Some(text) => found.push(selector(text)),
                None => self.error(
                    item,
                    &format!("{path}.{key}"),
                    &format!("expected a string, found {}", item.what()),
                    None,
                ),
            }
        }
        if found.is_empty() {
            self.error(
                value,
                &format!("{path}.{key}"),
                "no selector",
                Some("name a network or subnet, or write \"*\" for all"),
            );
        }
        found
    }

    fn protocol(&mut self, node: &Node, path: &str) -> Protocol {
        let port = node.get("port").map(|value| match &value.kind {
            Kind::Number(text) => text.parse::<u16>().ok(),
            _ => None,
        });
        if port == Some(None) {
            self.error(node, &format!("{path}.port"), "expected a port number from 0 to 65535", None);
        }
        let (low, high) = port.flatten().map_or((0, u16::MAX), |port| (port, port));
        match node.get("protocol").map(Node::text) {
            None if port.is_some() => Protocol::Tcp(low, high),
            None | Some(Some("any")) => Protocol::Any,
            Some(Some("tcp")) => Protocol::Tcp(low, high),
            Some(Some("udp")) => Protocol::Udp(low, high),
            Some(_) => {
                self.error(
                    node,
                    &format!("{path}.protocol"),
                    "unknown protocol",
                    Some("use `tcp`, `udp` or `any`"),
                );
                Protocol::Any
            }
        }
    }
}

/// A value, truncated for messages.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

fn selector(text: &str) -> Selector {
    match text.split_once(':') {
        _ if text == "internet" => Selector::Internet,
        Some(("service", name)) => Selector::Service(name.to_owned()),
        Some(("name", name)) => Selector::Name(name.trim_end_matches('.').to_ascii_lowercase()),
        Some(("network", name)) => Selector::Network(name.to_owned()),
        Some(("subnet", name)) => Selector::Subnet(name.to_owned()),
        Some(("group", name)) => Selector::Group(name.to_owned()),
        Some(("host", name)) => Selector::Host(name.to_owned()),
        _ => Selector::Any(text.to_owned()),
    }
}
