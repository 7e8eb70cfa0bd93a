//! A provider that misbehaves on request, which the tests use to verify the framework. For an example to learn from,
//! see `notes.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tf_provider_rs::ephemeral::{Opened, Renewed};
use tf_provider_rs::function::{Parameter, Signature};
use tf_provider_rs::resource::DeferReason;
use tf_provider_rs::{
    Attr, Change, Context, Diagnostic, Diagnostics, Ephemeral, Function, FunctionError, ImportRequest,
    MoveSource, Number, Object, Path, Planned, Progress, Provider, Registry, Resource, Type, Value,
    async_trait,
};

fn main() -> ExitCode {
    tf_provider_rs::run(Proving, "registry.terraform.io/example/proving", env!("CARGO_PKG_VERSION"))
}

struct Proving;

/// Misbehaves when asked to.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Config {
    /// Not used.
    #[attr(optional)]
    greeting: Attr<String>,
}

#[async_trait]
impl Provider for Proving {
    type Model = Config;

    fn registry(&self) -> Registry {
        Registry::new().resource(Thing).ephemeral(Token).function(Sum).function(Fall)
    }

    async fn configure(&self, _: &Context, _: &str, _: Config, _: &mut Diagnostics) {}
}

/// A thing.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "proving_thing", version = 2)]
struct ThingModel {
    /// ID of the thing.
    #[attr(computed, keeps)]
    id: Attr<String>,
    /// How it misbehaves.
    #[attr(required)]
    mode: Attr<String>,
    /// A number of any size.
    #[attr(optional, replaces)]
    number: Attr<Number>,
    /// A value of any type.
    #[attr(optional)]
    any: Attr<Value>,
    /// A set of strings.
    #[attr(optional)]
    names: Attr<BTreeSet<String>>,
    /// Rules in a list.
    #[attr(optional)]
    rules: Attr<Vec<Rule>>,
    /// Rules in a set.
    #[attr(optional)]
    peers: Attr<BTreeSet<Rule>>,
    /// Rules by name.
    #[attr(optional)]
    zones: Attr<BTreeMap<String, Rule>>,
    /// `started` or `done`.
    #[attr(computed)]
    outcome: Attr<String>,
    /// A long text.
    #[attr(optional)]
    blob: Attr<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
struct Rule {
    /// Port.
    #[attr(required)]
    port: Attr<u64>,
    /// Protocol.
    #[attr(default = "tcp")]
    protocol: Attr<String>,
    /// ID of the rule.
    #[attr(computed)]
    rule_id: Attr<String>,
}

/// `mode` selects the behaviour: `ok`, or `panic`, `error` or `wait` (until cancelled) in create and update, or with
/// a prefix such as `plan-panic`, `read-panic` and `delete-error`.
struct Thing;

impl Thing {
    async fn act(
        &self,
        ctx: &Context,
        mut thing: ThingModel,
        progress: &Progress,
    ) -> Result<ThingModel, Diagnostics> {
        thing.id = Attr::Known(thing.id.into_known().unwrap_or_else(|| "thing-1".to_owned()));
        thing.outcome = "started".into();
        progress.save(&thing);
        match thing.mode.value()?.as_str() {
            "panic" => panic!("asked to panic"),
            "error" => {
                return Err(Diagnostic::error("Asked to fail", "The mode is \"error\".")
                    .at(Path::of("zones").key("b").attribute("port"))
                    .into());
            }
            "wait" => {
                tokio::select! {
                    () = ctx.cancel.cancelled() => {
                        return Err(Diagnostic::error("Cancelled", "Asked to stop.").into());
                    }
                    () = tokio::time::sleep(Duration::from_secs(60)) => {}
                }
            }
            _ => {}
        }
        if let Attr::Known(rules) = &mut thing.rules {
            for (index, rule) in rules.iter_mut().enumerate() {
                rule.rule_id = format!("rule-{index}").into();
            }
        }
        if let Attr::Known(peers) = &mut thing.peers {
            // A set is in the order of its first field, the port.
            let numbered = std::mem::take(peers).into_iter().enumerate();
            *peers = numbered
                .map(|(index, peer)| Rule { rule_id: format!("peer-{index}").into(), ..peer })
                .collect();
        }
        if let Attr::Known(zones) = &mut thing.zones {
            for (name, zone) in zones {
                zone.rule_id = format!("zone-{name}").into();
            }
        }
        thing.outcome = "done".into();
        Ok(thing)
    }
}

#[async_trait]
impl Resource for Thing {
    type Model = ThingModel;

    async fn plan(&self, _: &Context, change: &mut Change<ThingModel>, _: &mut Diagnostics) {
        let mode = change.config.mode.as_deref();
        assert!(mode != Some("plan-panic"), "asked to panic in plan");
        if mode == Some("defer") {
            change.deferred = Some(DeferReason::AbsentPrerequisite);
        }
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<ThingModel>,
        progress: &Progress,
    ) -> Result<ThingModel, Diagnostics> {
        self.act(ctx, plan.state, progress).await
    }

    async fn read(&self, _: &Context, thing: ThingModel) -> Result<Option<ThingModel>, Diagnostics> {
        match thing.mode.value()?.as_str() {
            "read-panic" => panic!("asked to panic in read"),
            "gone" => Ok(None),
            _ => Ok(Some(thing)),
        }
    }

    async fn update(
        &self,
        ctx: &Context,
        _: ThingModel,
        plan: Planned<ThingModel>,
        progress: &Progress,
    ) -> Result<ThingModel, Diagnostics> {
        self.act(ctx, plan.state, progress).await
    }

    async fn delete(&self, _: &Context, thing: ThingModel) -> Result<(), Diagnostics> {
        match thing.mode.value()?.as_str() {
            "delete-panic" => panic!("asked to panic in delete"),
            "delete-error" => Err(Diagnostic::error("Asked to fail", "The thing stays.").into()),
            _ => Ok(()),
        }
    }

    async fn import(&self, _: &Context, request: ImportRequest) -> Result<ThingModel, Diagnostics> {
        let id = request.id_or("id")?;
        Ok(ThingModel { id: id.into(), mode: "ok".into(), ..ThingModel::default() })
    }

    async fn move_from(&self, _: &Context, source: MoveSource) -> Result<Option<ThingModel>, Diagnostics> {
        let name = source.state["name"].as_str();
        let known = source.type_name == "other_thing" && source.schema_version == 3;
        Ok(name.filter(|_| known).map(|name| ThingModel {
            id: name.into(),
            mode: "ok".into(),
            ..ThingModel::default()
        }))
    }

    async fn upgrade(&self, version: i64, mut state: Json) -> Result<Json, Diagnostics> {
        // Version 1 called the mode a kind.
        if let (1, Some(state)) = (version, state.as_object_mut()) {
            let kind = state.remove("kind").unwrap_or(json!("ok"));
            state.insert("mode".to_owned(), kind);
        }
        Ok(state)
    }
}

/// A token.
#[derive(Clone, Debug, Default, PartialEq, Ephemeral)]
#[ephemeral(name = "proving_token")]
struct TokenModel {
    /// What the token is made of.
    #[attr(required)]
    seed: Attr<String>,
    /// The token.
    #[attr(computed, sensitive)]
    token: Attr<String>,
}

struct Token;

#[async_trait]
impl Ephemeral for Token {
    type Model = TokenModel;

    async fn open(&self, _: &Context, mut token: TokenModel) -> Result<Opened<TokenModel>, Diagnostics> {
        let seed = token.seed.value()?.clone();
        token.token = format!("token-of-{seed}").into();
        let private = Some(seed.into_bytes());
        Ok(Opened { result: token, renew_in: Some(Duration::from_secs(60)), private })
    }

    async fn renew(&self, _: &Context, private: Option<Vec<u8>>) -> Result<Renewed, Diagnostics> {
        let mut private = private.unwrap_or_default();
        private.extend(b"+");
        Ok(Renewed { renew_in: Some(Duration::from_secs(60)), private: Some(private) })
    }

    async fn close(&self, _: &Context, private: Option<Vec<u8>>) -> Result<(), Diagnostics> {
        match private.as_deref() {
            Some(b"stuck+") => Err(Diagnostic::error("Cannot close", "The token is stuck.").into()),
            _ => Ok(()),
        }
    }
}

/// Adds whole numbers and rejects other numbers.
struct Sum;

impl Function for Sum {
    fn signature(&self) -> Signature {
        Signature::new("sum", "Sum of whole numbers", Type::Number)
            .parameter(Parameter::new("first", Type::Number, "A whole number."))
            .variadic(Parameter::new("others", Type::Number, "More of them."))
            .deprecated("Use `+` instead.")
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        let mut sum = 0;
        for (position, argument) in arguments.iter().enumerate() {
            let Value::Number(number) = argument else { continue };
            sum += number.to_i64().ok_or_else(|| {
                FunctionError::argument(
                    i64::try_from(position).unwrap_or_default(),
                    format!("{number} is not a whole number of 64 bits"),
                )
            })?;
        }
        Ok(Value::from(sum))
    }
}

/// Panics.
struct Fall;

impl Function for Fall {
    fn signature(&self) -> Signature {
        Signature::new("fall", "Panics", Type::String)
    }

    fn call(&self, _: &[Value]) -> Result<Value, FunctionError> {
        panic!("asked to fall")
    }
}
