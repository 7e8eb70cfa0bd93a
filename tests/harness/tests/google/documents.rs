//! Requests that are wrong by the discovery document, made from the document itself: for every method that the double
//! serves, each parameter and each field is spoilt in every way that its description allows.
//!
//! The document is read here as plain JSON, not by the double's own reader.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};
use warren_harness::google::{SERVED, discovery};
use warren_harness::{Google, GoogleConfig, Venv};

use crate::client::call;

/// The documents of the APIs that the double serves.
const APIS: [&str; 7] = [
    "compute",
    "artifactregistry",
    "accesscontextmanager",
    "secretmanager",
    "iam",
    "dns",
    "networkconnectivity",
];

/// How deep bodies are spoilt.
const DEPTH: usize = 2;

/// A method as the document has it.
struct Method {
    id: String,
    verb: String,
    template: String,
    parameters: Map<String, Value>,
    request: Option<String>,
}

struct Documents {
    schemas: BTreeMap<String, Value>,
    methods: Vec<Method>,
}

/// One wrong request.
struct Case {
    what: String,
    path: String,
    body: String,
    reason: &'static str,
}

fn documents() -> Documents {
    let folder = Venv::ensure().unwrap().discovery_documents().unwrap();
    let mut found = Documents { schemas: BTreeMap::new(), methods: Vec::new() };
    for name in APIS {
        let text = fs::read(folder.join(format!("{name}.v1.json"))).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        for (schema, value) in document["schemas"].as_object().unwrap() {
            found.schemas.insert(format!("{name}.{schema}"), value.clone());
        }
        collect(name, document["servicePath"].as_str().unwrap(), &document["resources"], &mut found.methods);
    }
    found
}

fn collect(api: &str, service: &str, resources: &Value, methods: &mut Vec<Method>) {
    for resource in resources.as_object().into_iter().flat_map(Map::values) {
        for method in resource["methods"].as_object().into_iter().flat_map(Map::values) {
            methods.push(Method {
                id: method["id"].as_str().unwrap().to_owned(),
                verb: method["httpMethod"].as_str().unwrap().to_owned(),
                template: format!("/{service}{}", method["path"].as_str().unwrap()),
                parameters: method["parameters"].as_object().cloned().unwrap_or_default(),
                request: method["request"]["$ref"].as_str().map(|schema| format!("{api}.{schema}")),
            });
        }
        collect(api, service, &resource["resources"], methods);
    }
}

impl Method {
    fn path(&self, spoilt: Option<(&str, &str)>) -> String {
        let mut path = self.template.clone();
        for (name, parameter) in &self.parameters {
            let whole = parameter["pattern"].as_str().unwrap_or_default();
            let value = match name.as_str() {
                _ if spoilt.is_some_and(|(other, _)| other == name) => spoilt.unwrap().1,
                "project" => "acme-ml",
                "region" => "us-central1",
                "zone" => "us-central1-a",
                _ if whole.contains("/operations/") => "projects/acme-ml/locations/us-central1/operations/x",
                _ if whole.contains("/repositories/") => {
                    "projects/acme-ml/locations/us-central1/repositories/x"
                }
                _ if whole.starts_with("^operations/") => {
                    "operations/accessPolicies/123/servicePerimeters/x/create/x"
                }
                _ if whole.contains("/versions/") => "projects/acme-ml/secrets/x/versions/1",
                _ if whole.contains("/secrets/") => "projects/acme-ml/secrets/x",
                _ if whole.contains("/serviceAccounts/") => "projects/acme-ml/serviceAccounts/x",
                _ if whole.contains("/servicePerimeters/") => "accessPolicies/123/servicePerimeters/x",
                _ if whole.starts_with("^accessPolicies/") => "accessPolicies/123",
                _ if whole.contains("/locations/") => "projects/acme-ml/locations/us-central1",
                _ if whole.starts_with("^projects/") => "projects/acme-ml",
                _ => "x",
            };
            path = path.replace(&format!("{{{name}}}"), value).replace(&format!("{{+{name}}}"), value);
        }
        path
    }
}

impl Documents {
    fn resolve<'a>(&'a self, api: &str, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(name) => &self.schemas[&format!("{api}.{name}")],
            None => schema,
        }
    }

    /// A body with nothing but what a method demands.
    fn smallest(&self, method: &Method) -> Value {
        let mut body = json!({});
        for (name, field) in self.fields(method) {
            if is_required(method, &name, &field) {
                body[name] = good(&field);
            }
        }
        body
    }

    fn fields(&self, method: &Method) -> Vec<(String, Value)> {
        let schema = method.request.as_ref().map(|name| &self.schemas[name]);
        let fields = schema.and_then(|schema| schema["properties"].as_object());
        fields.into_iter().flatten().map(|(name, field)| (name.clone(), field.clone())).collect()
    }
}

/// What the document marks and what the double's own list of exceptions says.
fn is_required(method: &Method, name: &str, field: &Value) -> bool {
    let schema = method.request.as_ref().unwrap().split_once('.').unwrap().1;
    let full = format!("{schema}.{name}");
    let listed = discovery::EXCEPTIONS.iter().find_map(|exception| match exception.waiver {
        discovery::Waiver::Required { method: id, field } if id == method.id && field == full => Some(true),
        discovery::Waiver::NotRequired { method: id, field } if id == method.id && field == full => {
            Some(false)
        }
        _ => None,
    });
    let marked =
        field["annotations"]["required"].as_array().into_iter().flatten().any(|id| *id == method.id.as_str());
    listed.unwrap_or(marked)
}

/// A value that fits a field.
fn good(field: &Value) -> Value {
    match field["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("string") if field["enum"].is_array() => field["enum"][0].clone(),
        Some("string") if field["format"] == "byte" => json!("AAAA"),
        Some("string") if field["format"] == "int64" || field["format"] == "uint64" => json!("1"),
        Some("string") => json!("x"),
        _ => json!({}),
    }
}

/// Values that do not fit a field.
fn bad(field: &Value) -> Vec<Value> {
    let mut values = match field["type"].as_str() {
        Some("integer") => vec![json!("many"), json!(1.5), json!(1_u64 << 40), json!({})],
        Some("number") => vec![json!("much"), json!([])],
        Some("boolean") => vec![json!("true"), json!(1)],
        Some("array") => vec![json!("x"), json!({"0": "x"})],
        Some("object") => vec![json!("x"), json!(["x"])],
        Some("string") => vec![json!({}), json!(true)],
        _ => Vec::new(),
    };
    match field["format"].as_str() {
        Some("uint32") => values.push(json!(-1)),
        Some("int64" | "uint64") => values.push(json!("1x")),
        Some("byte") => values.push(json!("%%")),
        Some("google-datetime" | "google-duration") => values.push(json!("yesterday")),
        _ => {}
    }
    if field["enum"].is_array() {
        values.extend([json!("NOT_A_VALUE"), json!(9999)]);
    }
    if field["pattern"].is_string() && field["type"] == "string" {
        values.push(json!("Not A Match!"));
    }
    values
}

fn is_output_only(field: &Value) -> bool {
    let prose = field["description"].as_str().unwrap_or_default().to_lowercase();
    field["readOnly"] == true || prose.starts_with("[output only]") || prose.starts_with("output only")
}

/// Fields that the list of exceptions lets through.
fn is_settable(method: &Method, schema: &str, name: &str) -> bool {
    let full = format!("{}.{name}", schema.split_once('.').unwrap().1);
    discovery::EXCEPTIONS.iter().any(|exception| match exception.waiver {
        discovery::Waiver::OutputOnlySent { verb } => method.id.ends_with(&format!(".{verb}")),
        discovery::Waiver::Settable { field } => field == full,
        _ => false,
    })
}

fn cases(documents: &Documents, method: &Method) -> Vec<Case> {
    let smallest =
        if method.request.is_some() { documents.smallest(method).to_string() } else { String::new() };
    let plain = method.path(None);
    let mut cases = Vec::new();
    let mut add =
        |what: String, path: String, body: String, reason| cases.push(Case { what, path, body, reason });
    add("unknown parameter".to_owned(), format!("{plain}?notAParameter=1"), smallest.clone(), "badRequest");
    for (name, parameter) in &method.parameters {
        let spoilt = match (parameter["location"].as_str(), parameter["type"].as_str()) {
            // Parameters that span segments decide about the route: another one is not found.
            (Some("path"), _) if parameter["pattern"].is_string() && !method.template.contains("{+") => {
                let wrong = unlike(parameter["pattern"].as_str().unwrap());
                let path = method.path(Some((name, &wrong)));
                add(format!("path {name}"), path, smallest.clone(), "invalid");
                continue;
            }
            (Some("query"), Some("integer" | "boolean")) => "x",
            (Some("query"), _) if parameter["enum"].is_array() => "NOT_A_VALUE",
            (Some("query"), _) if parameter["minimum"].is_string() => "-1",
            (Some("query"), _) if parameter["format"] == "google-fieldmask" => "a b",
            _ => continue,
        };
        let path = format!("{plain}?{name}={}", spoilt.replace(' ', "+"));
        add(format!("query {name}={spoilt}"), path, smallest.clone(), "invalid");
    }
    match &method.request {
        None => add("a body where there is none".to_owned(), plain, r#"{"a":1}"#.to_owned(), "badRequest"),
        Some(schema) => {
            add("no body".to_owned(), plain.clone(), String::new(), "required");
            add("not JSON".to_owned(), plain.clone(), "{".to_owned(), "badRequest");
            for (name, field) in documents.fields(method) {
                if is_required(method, &name, &field) {
                    let mut body = documents.smallest(method);
                    body.as_object_mut().unwrap().remove(&name);
                    add(format!("without {name}"), plain.clone(), body.to_string(), "required");
                }
            }
            let mut bodies = Vec::new();
            spoil(documents, method, schema, DEPTH, &mut bodies);
            for (what, part, reason) in bodies {
                let mut body = documents.smallest(method);
                for (name, value) in part.as_object().unwrap() {
                    body[name] = value.clone();
                }
                add(what, plain.clone(), body.to_string(), reason);
            }
        }
    }
    cases
}

/// A name that does not fit a pattern. That of the deletion of a disk refuses only what is too long.
fn unlike(pattern: &str) -> String {
    let pattern = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
    let names = ["Not_Allowed".to_owned(), "x".repeat(67)];
    names.into_iter().find(|name| !pattern.is_match(name)).unwrap()
}

/// Objects of a schema that are wrong in one place each.
fn spoil(
    documents: &Documents,
    method: &Method,
    schema: &str,
    depth: usize,
    out: &mut Vec<(String, Value, &'static str)>,
) {
    let (api, _) = schema.split_once('.').unwrap();
    let properties = documents.schemas[schema]["properties"].as_object().cloned().unwrap_or_default();
    if properties.is_empty() {
        return;
    }
    out.push((format!("{schema}: unknown field"), json!({"notAField": 1}), "badRequest"));
    for (name, field) in &properties {
        if is_output_only(field) {
            if !is_settable(method, schema, name) {
                let value = good(documents.resolve(api, field));
                out.push((format!("{schema}.{name} is output only"), json!({name: value}), "invalid"));
            }
            continue;
        }
        let of_list = field["type"] == "array";
        let target = documents.resolve(api, field);
        for value in bad(target) {
            out.push((format!("{schema}.{name} = {value}"), json!({name: value}), "invalid"));
        }
        let item = documents.resolve(api, if of_list { &field["items"] } else { field });
        if of_list {
            for value in bad(item) {
                out.push((format!("{schema}.{name}[0] = {value}"), json!({name: [value]}), "invalid"));
            }
        }
        let inner = if of_list { &field["items"] } else { field };
        if let (Some(inner), true) = (inner["$ref"].as_str(), depth > 1) {
            let mut deeper = Vec::new();
            spoil(documents, method, &format!("{api}.{inner}"), depth - 1, &mut deeper);
            for (what, value, reason) in deeper {
                let value = if of_list { json!([value]) } else { value };
                out.push((format!("{schema}.{name}: {what}"), json!({name: value}), reason));
            }
        }
    }
}

#[test]
fn every_spoilt_request_is_refused_for_what_is_wrong_with_it() {
    let (documents, google) = (documents(), Google::start(GoogleConfig::default()).unwrap());
    let served: Vec<&Method> =
        documents.methods.iter().filter(|method| SERVED.contains(&method.id.as_str())).collect();
    assert_eq!(served.len(), SERVED.len(), "a served method is not in the documents");
    let (mut tried, mut wrong) = (BTreeMap::new(), Vec::new());
    for method in served {
        // Without the mistake the document has nothing to say, so what follows is refused for the mistake.
        let smallest = if method.request.is_some() { documents.smallest(method) } else { Value::Null };
        call(&google, &method.verb, &method.path(None), &smallest);
        assert_eq!(google.front().calls()[0].action, method.id);
        let said = google.front().violations();
        assert!(said.is_empty(), "{}: {smallest}: {said:?}", method.id);
        for case in cases(&documents, method) {
            let answer = crate::client::send(&google, &method.verb, &case.path, &case.body);
            let (status, answer) = answer.unwrap();
            let error = &answer["error"];
            let modern = !["compute.", "dns."].iter().any(|service| method.id.starts_with(service));
            let told = if modern {
                error["status"] == "INVALID_ARGUMENT"
            } else {
                error["errors"][0]["reason"] == case.reason
            };
            let recorded = !google.front().violations().is_empty();
            if status != 400 || !told || !recorded {
                wrong.push(format!("{}: {}: {} {answer}", method.id, case.what, status));
            }
            *tried.entry(case.reason).or_insert(0) += 1;
            google.reset();
        }
    }
    assert!(wrong.is_empty(), "{} of {tried:?}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    // The figures change with the document; they only show that the table is not empty.
    assert!(tried["required"] > 30 && tried["invalid"] > 1000 && tried["badRequest"] > 200, "{tried:?}");
}

#[test]
fn what_is_not_served_is_told_and_recorded() {
    let google = Google::start(GoogleConfig::default()).unwrap();
    let (status, _) = call(&google, "GET", "global/networks/x/getEffectiveFirewalls", &Value::Null).unwrap();
    assert_eq!(status, 501);
    let (status, _) = call(&google, "GET", "global/nothing", &Value::Null).unwrap();
    assert_eq!(status, 404);
    let said: Vec<String> = google.front().violations().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "call 1 compute.networks.getEffectiveFirewalls: the double does not serve this method",
            "call 2 GET /compute/v1/projects/acme-ml/global/nothing: no method of a discovery document has this path",
        ]
    );
}

#[test]
fn every_exception_is_about_something_in_the_documents() {
    let documents = documents();
    let field = |full: &str| {
        let (schema, name) = full.split_once('.').unwrap();
        APIS.iter().any(|api| {
            documents
                .schemas
                .get(&format!("{api}.{schema}"))
                .is_some_and(|schema| schema["properties"][name].is_object())
        })
    };
    for exception in discovery::EXCEPTIONS {
        assert!(exception.reason.len() > 10, "{exception:?}");
        match exception.waiver {
            discovery::Waiver::Required { method, field: full }
            | discovery::Waiver::NotRequired { method, field: full } => {
                let schema = full.split_once('.').unwrap().0;
                let method = documents.methods.iter().find(|known| known.id == method).unwrap();
                assert!(method.request.as_ref().unwrap().ends_with(schema) && field(full), "{exception:?}");
            }
            discovery::Waiver::Settable { field: full } | discovery::Waiver::Numbers { field: full, .. } => {
                assert!(field(full), "{exception:?}");
            }
            discovery::Waiver::PathRepeated { service } => assert!(APIS.contains(&service), "{exception:?}"),
            discovery::Waiver::Parameter { .. } | discovery::Waiver::OutputOnlySent { .. } => {}
        }
    }
}
