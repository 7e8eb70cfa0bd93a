//! A provider that misbehaves on request, which the tests use to verify the framework. For an example to learn from,
//! see `notes.rs`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tf_provider_rs::ephemeral::{Opened, Renewed};
use tf_provider_rs::function::{Parameter, Signature};
use tf_provider_rs::resource::DeferReason;
use tf_provider_rs::{
    Attr, Attribute, Change, Context, Diagnostic, Diagnostics, Ephemeral, Function, FunctionError,
    ImportRequest, MoveSource, Nesting, Number, Path, Planned, Progress, Provider, Registry, Resource,
    Schema, Type, Value, async_trait, model,
};

fn main() -> ExitCode {
    tf_provider_rs::run(Proving, "registry.terraform.io/example/proving", env!("CARGO_PKG_VERSION"))
}

struct Proving;

model! {
    struct Config {
        greeting: Attr<String>,
    }
}

#[async_trait]
impl Provider for Proving {
    type Model = Config;

    fn schema(&self) -> Schema {
        Schema::new("Misbehaves when asked to.")
            .attribute(Attribute::string("greeting").optional().describe("Not used."))
    }

    fn registry(&self) -> Registry {
        Registry::new().resource(Thing).ephemeral(Token).function(Sum).function(Fall)
    }

    async fn configure(&self, _: &Context, _: &str, _: Config, _: &mut Diagnostics) {}
}

model! {
    struct ThingModel {
        id: Attr<String>,
        mode: Attr<String>,
        number: Attr<Number>,
        any: Attr<Value>,
        names: Attr<std::collections::BTreeSet<String>>,
        rules: Attr<Vec<Rule>>,
        peers: Attr<Vec<Rule>>,
        zones: Attr<BTreeMap<String, Rule>>,
        outcome: Attr<String>,
        blob: Attr<String>,
    }

    struct Rule {
        port: Attr<u64>,
        protocol: Attr<String>,
        rule_id: Attr<String>,
    }
}

fn rule() -> [Attribute; 3] {
    [
        Attribute::number("port").required(),
        Attribute::string("protocol").default("tcp"),
        Attribute::string("rule_id").computed(),
    ]
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
        match thing.mode.text() {
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
        let count = |rules: &mut Vec<Rule>, prefix: &str| {
            for (index, rule) in rules.iter_mut().enumerate() {
                rule.rule_id = format!("{prefix}-{index}").into();
            }
        };
        if let Attr::Known(rules) = &mut thing.rules {
            count(rules, "rule");
        }
        if let Attr::Known(peers) = &mut thing.peers {
            peers.sort_by_key(|peer| peer.port.known().copied());
            count(peers, "peer");
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

    fn type_name(&self) -> &'static str {
        "proving_thing"
    }

    fn schema(&self) -> Schema {
        Schema::new("A thing.").version(2).attributes([
            Attribute::string("id").computed().keeps(),
            Attribute::string("mode").required(),
            Attribute::number("number").optional().replaces(),
            Attribute::of("any", Type::Dynamic).optional(),
            Attribute::of("names", Type::set(Type::String)).optional(),
            Attribute::nested("rules", Nesting::List, rule()).optional(),
            Attribute::nested("peers", Nesting::Set, rule()).optional(),
            Attribute::nested("zones", Nesting::Map, rule()).optional(),
            Attribute::string("outcome").computed(),
            Attribute::string("blob").optional(),
        ])
    }

    async fn plan(&self, _: &Context, change: &mut Change<ThingModel>, _: &mut Diagnostics) {
        assert!(change.config.mode.text() != "plan-panic", "asked to panic in plan");
        if change.config.mode.text() == "defer" {
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
        match thing.mode.text() {
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
        match thing.mode.text() {
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

model! {
    struct TokenModel {
        seed: Attr<String>,
        token: Attr<String>,
    }
}

struct Token;

#[async_trait]
impl Ephemeral for Token {
    type Model = TokenModel;

    fn type_name(&self) -> &'static str {
        "proving_token"
    }

    fn schema(&self) -> Schema {
        Schema::new("A token.")
            .attribute(Attribute::string("seed").required())
            .attribute(Attribute::string("token").computed().sensitive())
    }

    async fn open(&self, _: &Context, mut token: TokenModel) -> Result<Opened<TokenModel>, Diagnostics> {
        let seed = token.seed.text().to_owned();
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
