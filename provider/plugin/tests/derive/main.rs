//! The derive macros: schema, conversions and identity from one struct.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use ipnet::Ipv4Net;
use tf_provider_rs::model::{FromValue, Model, Object as _, ToValue};
use tf_provider_rs::schema::{Attribute, Shape};
use tf_provider_rs::{
    Attr, Choice, Diagnostics, Nesting, Object, Path, Provider, Resource, Secret, Type, Value, id, validators,
};

id! {
    /// ID of a network.
    pub struct NetworkId("net-");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Choice)]
enum Protocol {
    #[choice("tcp")]
    Tcp,
    #[choice("udp")]
    Udp,
}

#[derive(Clone, Debug, PartialEq, Choice)]
enum Status {
    #[choice("up")]
    Up,
    #[choice(other)]
    Other(String),
}

#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Named {
    /// Name of the {noun}.
    #[attr(required)]
    name: Attr<String>,
    /// Labels of the {noun}.
    #[attr(optional)]
    labels: Attr<BTreeMap<String, Attr<String>>>,
}

#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Rule {
    /// Port.
    #[attr(required)]
    port: Attr<u16>,
    /// Protocol.
    #[attr(default = Protocol::Tcp)]
    protocol: Attr<Protocol>,
}

fn even(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let _the_derive_accepts_a_path = (value, path, diagnostics);
}

/// Manages a subnet of a network.
/// The second line belongs to the first paragraph.
///
/// The second paragraph.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "test_subnet",
    version = 3,
    noun = "subnet",
    validate = validators::conflicts_with(["rule", "rules"]),
    deprecated = "Use test_network instead."
)]
struct Subnet<K: Clone + Default + Send + Sync + 'static> {
    #[attr(flatten)]
    named: Named,
    /// ID assigned by the cloud.
    #[attr(computed, keeps, identity)]
    id: Attr<NetworkId>,
    /// Region.
    #[attr(optional, computed, identity = "optional")]
    region: Attr<String>,
    /// IPv4 range. Changing this replaces the subnet.
    #[attr(required, replaces, validate = even)]
    cidr_block: Attr<Ipv4Net>,
    /// Rules by name.
    #[attr(optional)]
    rules: Attr<BTreeMap<String, Rule>>,
    /// One rule.
    #[attr(optional)]
    rule: Attr<Rule>,
    /// Ports.
    #[attr(default = BTreeSet::from([443]))]
    ports: Attr<BTreeSet<u16>>,
    /// Type.
    #[attr(default = "plain")]
    r#type: Attr<String>,
    /// Password.
    #[attr(optional, write_only, sensitive, name = "password_wo")]
    password: Attr<Secret>,
    /// Status.
    #[attr(computed)]
    status: Attr<Status>,
    /// A nested block.
    #[attr(block, max_items = 2)]
    route: Attr<Vec<Rule>>,
    /// Anything.
    #[attr(optional, semantic_equals = |_, _| false)]
    anything: Attr<Value>,
    #[attr(skip)]
    kind: PhantomData<K>,
}

/// A provider.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Config {
    /// Region.
    #[attr(optional)]
    region: Attr<String>,
}

type Plain = Subnet<()>;

fn attribute(name: &str) -> Attribute {
    Plain::attributes().into_iter().find(|attribute| attribute.name == name).unwrap()
}

#[test]
fn doc_comments_and_types_are_the_schema() {
    let schema = Plain::schema();
    assert_eq!((Plain::TYPE_NAME, schema.version), ("test_subnet", 3));
    assert_eq!(
        schema.description,
        "Manages a subnet of a network. The second line belongs to the first paragraph.\n\nThe second paragraph."
    );
    let names: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
    let expected = [
        "name",
        "labels",
        "id",
        "region",
        "cidr_block",
        "rules",
        "rule",
        "ports",
        "type",
        "password_wo",
        "status",
        "route",
        "anything",
    ];
    assert_eq!(names, expected);
    assert_eq!(attribute("name").description, "Name of the subnet.");
    assert!(attribute("name").required && !attribute("name").computed);
    assert_eq!(attribute("cidr_block").validators.len(), 1);
    assert!(attribute("cidr_block").replace);
    let password = attribute("password_wo");
    assert!(password.write_only && password.sensitive && password.optional);
    assert_eq!(attribute("ports").ty(), Type::set(Type::Number));
    assert_eq!(attribute("ports").default, Some(Value::Set(vec![443.into()])));
    assert_eq!(attribute("type").default, Some("plain".into()));
    assert_eq!(attribute("anything").ty(), Type::Dynamic);
    assert!(attribute("anything").semantic.is_some());
    assert!(attribute("route").block.is_some());
    assert_eq!(
        (schema.validators.len(), schema.deprecated.as_deref()),
        (1, Some("Use test_network instead."))
    );
    let Shape::Nested(Nesting::Map, rule) = attribute("rules").shape else { panic!("a map of objects") };
    assert_eq!(rule[1].default, Some("tcp".into()));
    assert!(matches!(attribute("rule").shape, Shape::Nested(Nesting::Single, _)));
    assert_eq!(Config::schema().attributes.len(), 1);
}

fn subnet() -> Plain {
    Plain {
        named: Named { name: "data".into(), labels: Attr::Null },
        id: Attr::Known("net-1".parse().unwrap()),
        region: Attr::Unknown,
        cidr_block: Attr::Known("10.0.0.0/24".parse().unwrap()),
        rules: Attr::Known(BTreeMap::from([(
            "dns".to_owned(),
            Rule { port: Attr::Known(53), protocol: Attr::Known(Protocol::Udp) },
        )])),
        status: Attr::Known(Status::Other("sideways".into())),
        ..Plain::default()
    }
}

#[test]
fn a_value_becomes_the_struct_and_the_struct_the_value() {
    let value = subnet().to_value().conform(&Plain::schema().ty());
    assert_eq!(value.get("name"), Some(&"data".into()));
    assert_eq!(value.get("type"), Some(&Value::Null));
    assert_eq!(value.get("region"), Some(&Value::UNKNOWN));
    assert_eq!(value.get("rules").and_then(|r| r.get("dns")?.get("protocol")), Some(&"udp".into()));
    assert_eq!(Plain::from_value(&value, &Path::root()), Ok(subnet()));
    let subnet = subnet();
    let named: &Named = subnet.as_ref();
    assert_eq!(named.name, "data".into());
}

#[test]
fn values_that_are_not_allowed_are_named() {
    let wrong = |name: &str, value: Value| {
        let mut object = subnet().to_value().conform(&Plain::schema().ty());
        if let Value::Object(items) = &mut object {
            items.insert(name.to_owned(), value);
        }
        Plain::from_value(&object, &Path::root()).unwrap_err().to_string()
    };
    let rule = |port: Value, protocol: &str| {
        let rule = Value::object([("port", port), ("protocol", protocol.into())]);
        Value::Map([("https".to_owned(), rule)].into())
    };
    let told = [
        wrong("id", "subnet-1".into()),
        wrong("cidr_block", "ten".into()),
        wrong("rules", rule(70_000.into(), "tcp")),
        wrong("rules", rule(443.into(), "icmp")),
        wrong("rules", rule("443".into(), "tcp")),
        wrong("ports", Value::Set(vec![Value::Null])),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn an_identity_consists_of_the_attributes_that_say_so() {
    let identity = Plain::identity().unwrap();
    let names: Vec<(&str, bool)> =
        identity.attributes.iter().map(|a| (a.name.as_str(), a.required_for_import)).collect();
    assert_eq!(names, [("id", true), ("region", false)]);
    let value = subnet().identity_of().unwrap();
    assert_eq!(value.get("id"), Some(&"net-1".into()));
    assert_eq!(Config::identity(), None);
}

#[test]
fn an_identity_has_the_types_of_its_attributes() {
    /// Manages a port.
    #[derive(Clone, Debug, Default, PartialEq, Resource)]
    #[resource(name = "example_port")]
    struct Port {
        /// Number of the port.
        #[attr(required, identity)]
        number: Attr<u16>,
    }
    let identity = Port::identity().unwrap();
    assert_eq!(identity.ty(), Type::object([("number", Type::Number)]));
    let port = Port { number: 80.into() };
    assert_eq!(port.identity_of(), Some(Value::object([("number", 80.into())])));
}
