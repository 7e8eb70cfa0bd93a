//! What the pages of the Terraform Registry are made from, next to the schema: page files and examples.
//!
//! A page file is `page.toml`, or `page_<name>.toml`, in the folder of the type that it describes. The examples of a type are in
//! `examples/resources/<type>/` and the like. They omit the blocks `terraform` and `provider`: [`Example::with_provider`] adds
//! those for the reader, and the test that applies them adds its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use hcl_edit::structure::Body;
use serde::Deserialize;
use warren_harness::workspace_root;

/// What a page describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// The provider itself.
    Provider,
    /// A managed resource.
    Resource,
    /// A data source.
    DataSource,
    /// An ephemeral resource.
    EphemeralResource,
    /// A function.
    Function,
}

impl PageKind {
    /// Those that have examples in a folder of each type's own.
    pub const TYPES: [PageKind; 4] =
        [PageKind::Resource, PageKind::DataSource, PageKind::EphemeralResource, PageKind::Function];

    /// The folder of its pages in `docs/` and of its examples in `examples/`.
    pub fn folder(self) -> &'static str {
        match self {
            PageKind::Provider => "provider",
            PageKind::Resource => "resources",
            PageKind::DataSource => "data-sources",
            PageKind::EphemeralResource => "ephemeral-resources",
            PageKind::Function => "functions",
        }
    }

    /// As a title has it.
    pub fn title(self) -> &'static str {
        match self {
            PageKind::Provider => "Provider",
            PageKind::Resource => "Resource",
            PageKind::DataSource => "Data Source",
            PageKind::EphemeralResource => "Ephemeral Resource",
            PageKind::Function => "Function",
        }
    }

    /// The kind of a block of Terraform's language.
    fn of_block(block: &str) -> Option<PageKind> {
        match block {
            "resource" => Some(PageKind::Resource),
            "data" => Some(PageKind::DataSource),
            "ephemeral" => Some(PageKind::EphemeralResource),
            _ => None,
        }
    }
}

/// A page file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The type, such as `warren_aws_vpc`; functions as `provider::warren::cidr_merge`.
    pub name: String,
    /// What it describes.
    pub kind: PageKind,
    /// The heading of the registry's navigation that it is listed under.
    #[serde(default)]
    pub subcategory: String,
    /// When to use it, and what to use otherwise.
    pub use_when: String,
    /// Further text, such as caveats.
    #[serde(default)]
    pub notes: String,
    /// How to authenticate; of the provider.
    #[serde(default)]
    pub authentication: String,
    /// An example of an ID for `terraform import`; absent where the type cannot be imported.
    pub import_id: Option<String>,
    /// An example of the identity for an `import` block.
    #[serde(default)]
    pub identity: BTreeMap<String, toml::Value>,
    /// The permissions that its operations need.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// The page file, relative to the workspace.
    #[serde(skip)]
    pub file: PathBuf,
}

impl Page {
    /// The type without the provider's name: `aws_vpc`, `cidr_merge`.
    pub fn short(&self) -> &str {
        short(&self.name)
    }
}

/// A type without the provider's name.
pub fn short(name: &str) -> &str {
    name.strip_prefix("provider::warren::").or_else(|| name.strip_prefix("warren_")).unwrap_or(name)
}

/// All page files, in the order of their paths.
///
/// # Errors
/// A file cannot be read, or is no page; all such files are named.
pub fn pages() -> Result<Vec<Page>> {
    let root = workspace_root();
    let mut files = Vec::new();
    walk(&root.join("provider"), &mut files)?;
    let mut pages = Vec::new();
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name != "page.toml" && !(name.starts_with("page_") && name.ends_with(".toml")) {
            continue;
        }
        let file = path.strip_prefix(&root)?.to_owned();
        match toml::from_str::<Page>(&std::fs::read_to_string(&path)?) {
            Ok(page) => pages.push(Page { file, ..page }),
            Err(error) => wrong.push(format!("{}: {error}", file.display())),
        }
    }
    ensure!(wrong.is_empty(), "page files that cannot be read:\n{}", wrong.join("\n"));
    Ok(pages)
}

/// An example of a type.
#[derive(Clone, Debug)]
pub struct Example {
    /// What the type is.
    pub kind: PageKind,
    /// The type, named as in [`Page::name`].
    pub of: String,
    /// The name of the file: `minimal`, `complete`.
    pub name: String,
    /// The file, relative to the workspace.
    pub file: PathBuf,
    /// What the file contains.
    pub text: String,
    body: Body,
}

/// The clouds that a configuration has resources in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the provider's attributes")]
pub struct Clouds {
    pub aws: bool,
    pub gcp: bool,
    pub runpod: bool,
}

/// All examples of types, in the order of their paths.
///
/// # Errors
/// A file cannot be read or is not HCL.
pub fn examples() -> Result<Vec<Example>> {
    let root = workspace_root();
    let mut examples = Vec::new();
    for kind in PageKind::TYPES {
        let mut files = Vec::new();
        walk(&root.join("examples").join(kind.folder()), &mut files)?;
        for path in files {
            if path.extension().is_none_or(|extension| extension != "tf") {
                continue;
            }
            let folder = path.parent().and_then(Path::file_name).context("an example has a folder")?;
            let folder = folder.to_string_lossy();
            let of = match kind {
                PageKind::Function => format!("provider::warren::{folder}"),
                _ => folder.into_owned(),
            };
            examples.push(Example::read(kind, &of, &path)?);
        }
    }
    Ok(examples)
}

impl Example {
    /// The example of a type in a file.
    ///
    /// # Errors
    /// The file cannot be read or is not HCL.
    pub fn read(kind: PageKind, of: &str, path: &Path) -> Result<Example> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = path.strip_prefix(workspace_root()).unwrap_or(path).to_owned();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", file.display()))?;
        let body = text.parse::<Body>().with_context(|| format!("{} is not HCL", file.display()))?;
        Ok(Example { kind, of: of.to_owned(), name, file, text, body })
    }

    /// The types of the provider that it uses.
    pub fn types(&self) -> BTreeSet<(PageKind, String)> {
        let blocks = self.body.blocks().filter_map(|block| {
            let name = block.labels.first()?.as_str();
            name.starts_with("warren_")
                .then_some((PageKind::of_block(block.ident.as_str())?, name.to_owned()))
        });
        blocks.collect()
    }

    /// The clouds that it needs.
    pub fn clouds(&self) -> Clouds {
        let mut clouds = Clouds::default();
        for (_, name) in self.types() {
            clouds.aws |= name.starts_with("warren_aws_");
            clouds.gcp |= name.starts_with("warren_gcp_");
            clouds.runpod |= name.starts_with("warren_runpod_");
        }
        clouds
    }

    /// The label of the first block of its own type.
    pub fn label(&self) -> Option<String> {
        let mut own = self.body.blocks().filter(|block| {
            PageKind::of_block(block.ident.as_str()) == Some(self.kind)
                && block.labels.first().is_some_and(|label| label.as_str() == self.of)
        });
        Some(own.next()?.labels.get(1)?.as_str().to_owned())
    }

    /// The variables that have no default: secrets, as a rule.
    pub fn required_variables(&self) -> Vec<&str> {
        let variables = self.body.get_blocks("variable");
        variables
            .filter(|block| block.body.get_attribute("default").is_none())
            .filter_map(|block| Some(block.labels.first()?.as_str()))
            .collect()
    }

    /// A whole configuration: the example after the blocks that name and configure the provider.
    pub fn with_provider(&self) -> String {
        format!("{}\n{}", provider_blocks(self.clouds(), [None, None, None]), self.text.trim_end())
    }
}

/// The blocks `terraform` and `provider` for these clouds, each with an endpoint where that is not the cloud's own.
pub fn provider_blocks(clouds: Clouds, endpoints: [Option<&str>; 3]) -> String {
    let mut blocks = r#"terraform {
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

provider "warren" {
  fabric = "llm-training"
  owner  = "platform"
"#
    .to_owned();
    let all = [
        (clouds.aws, "aws   ", r#"region = "us-east-1""#),
        (clouds.gcp, "gcp   ", r#"project = "acme-ml", region = "us-central1""#),
        (clouds.runpod, "runpod", ""),
    ];
    for ((wanted, name, settings), endpoint) in all.into_iter().zip(endpoints) {
        if !wanted {
            continue;
        }
        let endpoint = endpoint.map(|url| format!("endpoint_url = \"{url}\""));
        let settings: Vec<&str> = [Some(settings), endpoint.as_deref()]
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .collect();
        let value = match settings.as_slice() {
            [] => "{}".to_owned(),
            some => format!("{{ {} }}", some.join(", ")),
        };
        let _ = writeln!(blocks, "  {name} = {value}");
    }
    blocks + "}\n"
}

/// The files of a folder and those below it, in order. A folder that does not exist has none.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_gets_the_provider_of_its_clouds() -> Result<()> {
        let text = "resource \"warren_aws_vpc\" \"a\" {}\nephemeral \"warren_gcp_signing_key\" \"b\" {}\n\
                    resource \"aws_vpc\" \"c\" {}\nvariable \"d\" {}\nvariable \"e\" {\n  default = 1\n}\n";
        let example = Example {
            kind: PageKind::EphemeralResource,
            of: "warren_gcp_signing_key".to_owned(),
            name: "minimal".to_owned(),
            file: PathBuf::new(),
            text: text.to_owned(),
            body: text.parse()?,
        };
        assert_eq!(example.clouds(), Clouds { aws: true, gcp: true, runpod: false });
        assert_eq!(example.types().len(), 2);
        assert_eq!(example.label().as_deref(), Some("b"));
        assert_eq!(example.required_variables(), ["d"]);
        let blocks = provider_blocks(example.clouds(), [Some("http://localhost:1"), None, None]);
        assert!(
            blocks.contains("  aws    = { region = \"us-east-1\", endpoint_url = \"http://localhost:1\" }\n")
        );
        assert!(blocks.contains("  gcp    = { project = \"acme-ml\", region = \"us-central1\" }\n"));
        assert!(!blocks.contains("runpod"));
        Ok(())
    }
}
