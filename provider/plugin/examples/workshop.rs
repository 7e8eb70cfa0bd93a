//! A provider with everything that few resources need: blocks, plan modifiers, semantic equality, list resources,
//! actions, `provider_meta`, deferred changes, generated configuration, and moves from another resource type. The tests use it; `notes.rs` is a simpler start.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use tf_provider_rs::list_resource::{ListRequest, ListResult, ListResults};
use tf_provider_rs::plan_modifiers::requires_replace_if;
use tf_provider_rs::validators::{between, conflicts_with, length_between, none_of};
use tf_provider_rs::{
    Action, Attr, Context, DeferReason, Diagnostic, Diagnostics, ImportRequest, InvokeProgress, ListResource,
    Model as _, MoveSource, Object, Path, Planned, Progress, Provider, Registry, Resource, Schema, Value,
    async_trait,
};

fn main() -> ExitCode {
    tf_provider_rs::run(Workshop, "registry.terraform.io/example/workshop", env!("CARGO_PKG_VERSION"))
}

struct Workshop;

/// A workshop.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Config {
    /// Address of the workshop.
    #[attr(optional)]
    address: Attr<String>,
}

/// Who uses the workshop.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Module {
    /// Team that maintains the module.
    #[attr(optional)]
    team: Attr<String>,
}

#[async_trait]
impl Provider for Workshop {
    type Model = Config;

    /// The schema of `provider_meta` blocks.
    fn meta_schema(&self) -> Option<Schema> {
        Some(Module::schema())
    }

    fn registry(&self) -> Registry {
        Registry::new().resource(Tool).list_resource(Tools).action(Sharpen)
    }

    async fn configure(&self, ctx: &Context, _: &str, config: Config, _: &mut Diagnostics) {
        if config.address.is_unknown() {
            ctx.defer(DeferReason::ProviderConfigUnknown);
        }
    }
}

/// A tool.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "workshop_tool", validate = conflicts_with(["made_in", "bought_in"]))]
struct ToolModel {
    /// Number of the tool.
    #[attr(computed, keeps)]
    id: Attr<String>,
    /// Name of the tool.
    #[attr(required, replaces, identity, validate = length_between(2, 20))]
    name: Attr<String>,
    /// Colour. Defaults to `grey`.
    #[attr(default = "grey", validate = none_of(["transparent"]))]
    colour: Attr<String>,
    /// Number of edges. Changing it to a smaller number replaces the tool.
    #[attr(
        optional,
        validate = between(1, 100),
        modify = requires_replace_if(|request, response| response.planned < *request.prior)
    )]
    edges: Attr<u64>,
    /// Serial number. Not case-sensitive.
    #[attr(optional, semantic_equals = |prior, new| caseless(prior) == caseless(new))]
    serial: Attr<String>,
    /// Year.
    #[attr(optional, deprecated = "Use `bought_in` instead.")]
    made_in: Attr<u64>,
    /// Year.
    #[attr(optional)]
    bought_in: Attr<u64>,
    /// Team of the module that created it.
    #[attr(computed, keeps)]
    team: Attr<String>,
    /// Drawers for its parts.
    #[attr(block, max_items = 2)]
    drawer: Attr<Vec<Drawer>>,
    /// Owner of the tool.
    #[attr(block)]
    owner: Attr<Owner>,
    /// Slots by position.
    #[attr(block)]
    slot: Attr<BTreeMap<String, Slot>>,
}

/// `drawer` blocks.
#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Drawer {
    /// Name of the drawer.
    #[attr(required)]
    name: Attr<String>,
    /// Depth. Defaults to 10.
    #[attr(default = 10)]
    depth: Attr<u64>,
    /// Number of the drawer.
    #[attr(computed)]
    number: Attr<String>,
    /// Cases in the drawer.
    #[attr(block)]
    case: Attr<BTreeSet<Case>>,
}

/// `case` blocks in a drawer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
struct Case {
    /// Width of the case.
    #[attr(required)]
    width: Attr<u64>,
}

/// The `owner` block.
#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Owner {
    /// Name of the owner.
    #[attr(required, replaces)]
    name: Attr<String>,
    /// Number of the owner.
    #[attr(optional)]
    phone: Attr<String>,
}

/// `slot` blocks.
#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Slot {
    /// What is in the slot.
    #[attr(optional)]
    content: Attr<String>,
}

/// `workshop_tool`.
struct Tool;

#[async_trait]
impl Resource for Tool {
    type Model = ToolModel;

    async fn plan(&self, ctx: &Context, change: &mut tf_provider_rs::Change<ToolModel>, _: &mut Diagnostics) {
        if change.config.colour.is_unknown() {
            ctx.defer(DeferReason::ResourceConfigUnknown);
        }
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<ToolModel>,
        _: &Progress,
    ) -> Result<ToolModel, Diagnostics> {
        let mut tool = plan.state;
        tool.id = format!("tool-{}", tool.name.value()?).into();
        tool.team = ctx.meta.read::<Module>()?.team;
        Ok(known(tool))
    }

    async fn read(&self, ctx: &Context, tool: ToolModel) -> Result<Option<ToolModel>, Diagnostics> {
        if tool.colour.known().is_some_and(|colour| colour == "absent") {
            ctx.defer(DeferReason::AbsentPrerequisite);
        }
        // The workshop writes serial numbers in capital letters.
        let serial = tool.serial.known().map(|serial| serial.to_uppercase());
        Ok(Some(ToolModel { serial: serial.into(), ..tool }))
    }

    async fn update(
        &self,
        _: &Context,
        _: ToolModel,
        plan: Planned<ToolModel>,
        _: &Progress,
    ) -> Result<ToolModel, Diagnostics> {
        Ok(known(plan.state))
    }

    async fn delete(&self, _: &Context, _: ToolModel) -> Result<(), Diagnostics> {
        Ok(())
    }

    async fn import(&self, _: &Context, request: ImportRequest) -> Result<ToolModel, Diagnostics> {
        Ok(tool(&request.id_or("name")?))
    }

    /// Colours are a matter of taste: nobody wants them in generated configuration.
    async fn generate_config(&self, _: &Context, config: &mut ToolModel, _: &mut Diagnostics) {
        config.colour = Attr::Null;
    }

    /// Takes over `terraform_data`, whose input is the name.
    async fn move_from(&self, ctx: &Context, source: MoveSource) -> Result<Option<ToolModel>, Diagnostics> {
        let built_in = source.provider_address == "terraform.io/builtin/terraform";
        if !built_in || source.type_name != "terraform_data" {
            return Ok(None);
        }
        let by_identity = source.identity.as_ref().and_then(|identity| identity["name"].as_str());
        let by_input = source.state["input"]["value"].as_str().or(source.state["input"].as_str());
        let Some(name) = by_identity.or(by_input) else { return Ok(None) };
        ctx.private.set("moved", true.into());
        Ok(Some(tool(name)))
    }
}

/// What the workshop adds: numbers on the drawers, capital letters.
fn known(mut tool: ToolModel) -> ToolModel {
    if let Attr::Known(drawers) = &mut tool.drawer {
        for (index, drawer) in drawers.iter_mut().enumerate() {
            drawer.number = format!("no. {}", index + 1).into();
        }
    }
    if tool.team.is_unknown() {
        tool.team = Attr::Null;
    }
    tool.serial = tool.serial.known().map(|serial| serial.to_uppercase()).into();
    tool
}

fn caseless(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_lowercase()
}

fn identity(name: &str) -> Value {
    Value::object([("name", name.into())])
}

/// The tool `name`, as the workshop knows it.
fn tool(name: &str) -> ToolModel {
    ToolModel {
        id: format!("tool-{name}").into(),
        name: name.into(),
        colour: "grey".into(),
        ..ToolModel::default()
    }
}

/// Finds tools.
#[derive(Clone, Debug, Default, PartialEq, ListResource)]
#[list_resource(name = "workshop_tool")]
struct Filter {
    /// What the name begins with.
    #[attr(optional)]
    prefix: Attr<String>,
    /// `error`, `panic`, or `endless`.
    #[attr(optional)]
    fault: Attr<String>,
}

/// `list "workshop_tool"`.
struct Tools;

#[async_trait]
impl ListResource for Tools {
    type Config = Filter;
    type Model = ToolModel;

    async fn validate(&self, config: &Filter, diagnostics: &mut Diagnostics) {
        if config.prefix.known().is_some_and(String::is_empty) {
            diagnostics.error_at(Path::of("prefix"), "Empty prefix", "Remove it to list all tools.");
        }
    }

    async fn list(
        &self,
        _: &Context,
        request: ListRequest<Filter>,
        results: &mut ListResults<ToolModel>,
    ) -> Result<(), Diagnostics> {
        let prefix = request.config.prefix.into_known().unwrap_or_default();
        let fault = request.config.fault.into_known().unwrap_or_default();
        for name in ["chisel", "plane", "saw", "spokeshave"] {
            if !name.starts_with(&prefix) {
                continue;
            }
            let mut result = ListResult::new(identity(name), format!("The {name}"));
            if request.include_resource {
                result = result.resource(tool(name));
            }
            results.send(result).await?;
            match fault.as_str() {
                "error" => return Err(Diagnostic::error("Asked to fail", "After the first tool.").into()),
                "panic" => panic!("asked to panic in a list"),
                _ => {}
            }
        }
        if fault == "endless" {
            for number in 1_u64.. {
                let name = format!("tool-{number}");
                results.send(ListResult::new(identity(&name), name)).await?;
            }
        }
        Ok(())
    }
}

/// Sharpens a tool.
#[derive(Clone, Debug, Default, PartialEq, Action)]
#[action(name = "workshop_sharpen")]
struct SharpenModel {
    /// Name of the tool.
    #[attr(required)]
    tool: Attr<String>,
    /// Number of strokes.
    #[attr(optional)]
    strokes: Attr<u64>,
}

/// `action "workshop_sharpen"`.
struct Sharpen;

#[async_trait]
impl Action for Sharpen {
    type Model = SharpenModel;

    async fn plan(&self, ctx: &Context, config: &SharpenModel, diagnostics: &mut Diagnostics) {
        if config.tool.is_unknown() {
            ctx.defer(DeferReason::ResourceConfigUnknown);
        }
        if config.tool.known().is_some_and(|tool| tool == "hammer") {
            diagnostics.error_at(Path::of("tool"), "No edge", "A hammer cannot be sharpened.");
        }
    }

    async fn invoke(
        &self,
        ctx: &Context,
        config: SharpenModel,
        progress: &InvokeProgress,
    ) -> Result<(), Diagnostics> {
        let tool = config.tool.value()?;
        for stroke in 1..=config.strokes.into_known().unwrap_or(2) {
            progress.send(format!("stroke {stroke} on the {tool}")).await;
            tokio::select! {
                () = ctx.cancel.cancelled() => {
                    return Err(Diagnostic::error("Cancelled", "The tool is half sharp. Invoke again.").into());
                }
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
            assert!(tool != "glass", "asked to panic in an action");
        }
        Ok(())
    }
}
