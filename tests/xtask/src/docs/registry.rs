//! The pages of the Terraform Registry: the provider, and each of its types.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::Value;
use warren_acceptance::registry::{self, Example, Page, PageKind};
use warren_harness::driver::{IdentityAttribute, Plugin};
use warren_harness::{Terraform, workspace_root};

use super::markdown::{first_sentence, plain, unwrap};
use super::output::Output;
use super::schema::{self, Sections};
use super::templates::Templates;

const SOURCE: &str = "registry.terraform.io/warren-net/warren";
const PROVIDER_EXAMPLE: &str = "examples/provider/provider.tf";

/// What a page consists of.
#[derive(Serialize)]
struct Values {
    name: String,
    short: String,
    kind: &'static str,
    folder: &'static str,
    subcategory: String,
    /// For search engines: without marks.
    description: String,
    summary: String,
    details: String,
    use_when: String,
    notes: String,
    authentication: String,
    examples: Vec<Code>,
    sections: Option<Sections>,
    signature: Option<Signature>,
    import_id: Option<String>,
    /// Whether the object is in a region, which an import ID can name.
    regional: bool,
    import_label: String,
    identity: Vec<(String, String)>,
    identity_attributes: Vec<Described>,
    permissions: Vec<String>,
    /// `aws`, `gcp`, `runpod`, or empty where no API is called.
    cloud: &'static str,
    index: Vec<Heading>,
}

/// An attribute of an identity.
#[derive(Serialize)]
struct Described {
    name: String,
    required: bool,
    text: String,
}

/// An example of a page.
#[derive(Serialize)]
struct Code {
    title: &'static str,
    text: String,
}

/// What a function takes and returns.
#[derive(Serialize)]
struct Signature {
    text: String,
    parameters: Vec<Parameter>,
    returns: String,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    ty: String,
    text: String,
    variadic: bool,
}

/// A subcategory in the list of all types.
#[derive(Serialize)]
struct Heading {
    title: String,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    kind: String,
    link: String,
    summary: String,
}

/// Adds all pages and returns what is missing or wrong.
pub(crate) fn pages(folder: &Path, output: &mut Output) -> Result<Vec<String>> {
    let schema = provider_schema(folder)?;
    let identities = identities(folder)?;
    let templates = Templates::new()?;
    let mut problems = Vec::new();
    let mut sources = Sources::read(&mut problems)?;
    let mut index: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for kind in PageKind::TYPES {
        output.own(Path::new("docs").join(kind.folder()));
        for (name, schema) in schema[schema_key(kind)].as_object().into_iter().flatten() {
            let name = match kind {
                PageKind::Function => format!("provider::warren::{name}"),
                _ => name.clone(),
            };
            let Some(source) = sources.take(kind, &name, &mut problems) else { continue };
            let values = values(
                &source,
                schema,
                identities.get(&name).map(Vec::as_slice).unwrap_or_default(),
                &mut problems,
            );
            let link = format!("{}/{}.md", kind.folder(), values.short);
            index.entry(values.subcategory.clone()).or_default().push(Entry {
                name: name.clone(),
                kind: kind.title().to_lowercase(),
                link: link.clone(),
                summary: values.summary.clone(),
            });
            let template = if kind == PageKind::Function { "function.md" } else { "type.md" };
            output.file(Path::new("docs").join(link), templates.render(template, &values)?);
        }
    }
    if let Some(source) = sources.provider(&mut problems) {
        let mut values = values(&source, &schema["provider"], &[], &mut problems);
        values.index = index.into_iter().map(|(title, entries)| Heading { title, entries }).collect();
        output.file("docs/index.md", templates.render("provider.md", &values)?);
    }
    problems.extend(sources.unused());
    Ok(problems)
}

fn schema_key(kind: PageKind) -> &'static str {
    match kind {
        PageKind::Provider => "provider",
        PageKind::Resource => "resource_schemas",
        PageKind::DataSource => "data_source_schemas",
        PageKind::EphemeralResource => "ephemeral_resource_schemas",
        PageKind::Function => "functions",
    }
}

/// The schema as Terraform prints it.
fn provider_schema(folder: &Path) -> Result<Value> {
    let terraform = Terraform::new("warren-net/warren", folder)?;
    terraform.write(
        "main.tf",
        "terraform {\n  required_providers {\n    warren = { source = \"warren-net/warren\" }\n  }\n}\n",
    )?;
    let mut schema = terraform.run(&["providers", "schema", "-json"])?.success()?.json()?;
    let provider = schema["provider_schemas"][SOURCE].take();
    ensure!(provider.is_object(), "Terraform prints no schema of the provider");
    Ok(provider)
}

/// The attributes of each resource's identity, from the provider itself: Terraform prints them from version 1.12 on.
fn identities(folder: &Path) -> Result<BTreeMap<String, Vec<IdentityAttribute>>> {
    let plugin = Plugin::launch(&folder.join("terraform-provider-warren"), &[])?;
    let resources = plugin.schema()?.resources.iter();
    Ok(resources.map(|(name, resource)| (name.clone(), resource.identity_attributes.clone())).collect())
}

/// A page file with the examples of its type.
struct Source {
    page: Page,
    examples: Vec<Example>,
}

/// The page files and examples that have not been used yet.
struct Sources {
    pages: BTreeMap<(PageKind, String), Page>,
    examples: BTreeMap<(PageKind, String), Vec<Example>>,
}

impl Sources {
    fn read(problems: &mut Vec<String>) -> Result<Sources> {
        let mut sources = Sources { pages: BTreeMap::new(), examples: BTreeMap::new() };
        for page in registry::pages()? {
            let file = page.file.display().to_string();
            if let Some(first) = sources.pages.insert((page.kind, page.name.clone()), page) {
                problems.push(format!("{file} describes the same type as {}", first.file.display()));
            }
        }
        for example in registry::examples()? {
            sources.examples.entry((example.kind, example.of.clone())).or_default().push(example);
        }
        Ok(sources)
    }

    /// What a type's page is made from. Names what is missing.
    fn take(&mut self, kind: PageKind, name: &str, problems: &mut Vec<String>) -> Option<Source> {
        let key = (kind, name.to_owned());
        let examples = self.examples.remove(&key).unwrap_or_default();
        let required: &[&str] = match kind {
            PageKind::Resource => &["minimal", "complete"],
            PageKind::Function => &["example"],
            _ => &["minimal"],
        };
        for required in required {
            if !examples.iter().any(|example| example.name == *required) {
                let (folder, short) = (kind.folder(), name.rsplit("::").next().unwrap_or(name));
                problems.push(format!("{name} has no example examples/{folder}/{short}/{required}.tf"));
            }
        }
        let page = self.pages.remove(&key);
        if page.is_none() {
            let kind = kind.title().to_lowercase().replace(' ', "-");
            problems
                .push(format!("{name} has no page.toml with `name = \"{name}\"` and `kind = \"{kind}\"`"));
        }
        Some(Source { page: page?, examples })
    }

    fn provider(&mut self, problems: &mut Vec<String>) -> Option<Source> {
        let page = self.pages.remove(&(PageKind::Provider, "warren".to_owned()));
        if page.is_none() {
            problems.push(
                "the provider has no page.toml with `name = \"warren\"` and `kind = \"provider\"`".to_owned(),
            );
        }
        page.map(|page| Source { page, examples: Vec::new() })
    }

    fn unused(&self) -> Vec<String> {
        let pages = self.pages.values().map(|page| (&page.file, &page.name));
        let examples = self.examples.values().flatten().map(|example| (&example.file, &example.of));
        let all = pages.chain(examples);
        all.map(|(file, name)| format!("{} is of {name}, which the provider does not offer", file.display()))
            .collect()
    }
}

fn values(
    source: &Source,
    schema: &Value,
    identity: &[IdentityAttribute],
    problems: &mut Vec<String>,
) -> Values {
    let page = &source.page;
    let file = page.file.display();
    let function = page.kind == PageKind::Function;
    let text = schema::text(if function { &schema["description"] } else { &schema["block"]["description"] });
    let (summary, details) = first_sentence(&text);
    if summary.is_empty() {
        problems.push(format!("{} has no description in the schema", page.name));
    }
    let known: Vec<&str> = identity.iter().map(|attribute| attribute.name.as_str()).collect();
    for key in page.identity.keys().filter(|key| !known.contains(&key.as_str())) {
        problems.push(format!("{file}: `{key}` is no attribute of the identity of {}: {known:?}", page.name));
    }
    for attribute in identity.iter().filter(|attribute| attribute.required && page.import_id.is_some()) {
        if !page.identity.contains_key(&attribute.name) {
            problems
                .push(format!("{file}: `import_id` needs `identity` with `{}` beside it", attribute.name));
        }
    }
    let cloud = match page.short().split('_').next() {
        Some("aws") => "aws",
        Some("gcp") => "gcp",
        Some("runpod") => "runpod",
        _ => "",
    };
    if !cloud.is_empty() && page.permissions.is_empty() && page.kind != PageKind::DataSource {
        problems.push(format!("{file}: `permissions` is empty"));
    }
    let described = identity.iter().map(|attribute| Described {
        name: attribute.name.clone(),
        required: attribute.required,
        text: unwrap(&attribute.description),
    });
    Values {
        name: page.name.clone(),
        short: page.short().to_owned(),
        kind: page.kind.title(),
        folder: page.kind.folder(),
        subcategory: page.subcategory.clone(),
        description: plain(summary),
        summary: summary.to_owned(),
        details: details.to_owned(),
        use_when: unwrap(&page.use_when),
        notes: unwrap(&page.notes),
        authentication: unwrap(&page.authentication),
        examples: codes(source, problems),
        sections: (!function).then(|| schema::sections(&schema["block"])),
        signature: function.then(|| signature(page.short(), schema)),
        import_id: page.import_id.clone(),
        regional: page.identity.contains_key("region"),
        import_label: source.examples.iter().find_map(Example::label).unwrap_or_else(|| "example".to_owned()),
        identity: page.identity.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        identity_attributes: described.collect(),
        permissions: page.permissions.clone(),
        cloud,
        index: Vec::new(),
    }
}

/// The examples as a page shows them: from the smallest to the largest.
fn codes(source: &Source, problems: &mut Vec<String>) -> Vec<Code> {
    if source.page.kind == PageKind::Provider {
        return match std::fs::read_to_string(workspace_root().join(PROVIDER_EXAMPLE)) {
            Ok(text) => vec![Code { title: "", text: text.trim_end().to_owned() }],
            Err(_) => {
                problems.push(format!("the provider has no example {PROVIDER_EXAMPLE}"));
                Vec::new()
            }
        };
    }
    let titles = [("example", ""), ("minimal", "Minimal"), ("complete", "Complete")];
    let codes = titles.into_iter().filter_map(|(name, title)| {
        let example = source.examples.iter().find(|example| example.name == name)?;
        Some(Code { title, text: example.with_provider() })
    });
    codes.collect()
}

fn signature(name: &str, function: &Value) -> Signature {
    let parameter = |value: &Value, variadic| Parameter {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        ty: schema::type_name(&value["type"]),
        text: schema::text(&value["description"]),
        variadic,
    };
    let fixed = function["parameters"].as_array().into_iter().flatten().map(|value| parameter(value, false));
    let variadic = function.get("variadic_parameter").map(|value| parameter(value, true));
    let parameters: Vec<Parameter> = fixed.chain(variadic).collect();
    let list: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let dots = if parameter.variadic { "..." } else { "" };
            format!("{} {}{dots}", parameter.name, parameter.ty.to_lowercase())
        })
        .collect();
    let returns = schema::type_name(&function["return_type"]);
    let text = format!("{name}({}) {}", list.join(", "), returns.to_lowercase());
    Signature { text, parameters, returns }
}
