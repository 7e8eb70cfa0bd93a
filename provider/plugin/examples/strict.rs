//! A provider whose attributes are required, replaced, sensitive and deprecated at every depth, which the tests use to
//! verify the framework. For an example to learn from, see `notes.rs`.
//!
//! Objects are files: `DIRECTORY/REGION/NAME`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::{
    Attr, Attribute, Context, DataSource, Diagnostic, Diagnostics, Ephemeral, IdentitySchema, Nesting, Path,
    Planned, Progress, Provider, Registry, Resource, Schema, Secret, Value, async_trait, model,
};

fn main() -> ExitCode {
    tf_provider_rs::run(Strict::default(), "registry.terraform.io/example/strict", env!("CARGO_PKG_VERSION"))
}

/// The configured directory and region.
type Place = Arc<Mutex<(PathBuf, String)>>;

#[derive(Default)]
struct Strict {
    place: Place,
}

model! {
    struct Config {
        directory: Attr<String>,
        region: Attr<String>,
    }
}

#[async_trait]
impl Provider for Strict {
    type Model = Config;

    fn schema(&self) -> Schema {
        Schema::new("Files in regions.")
            .attributes([Attribute::string("directory").required(), Attribute::string("region").optional()])
    }

    fn registry(&self) -> Registry {
        let site = || Site { place: Arc::clone(&self.place) };
        let registry = Registry::new().resource(site()).data_source(Lookup).ephemeral(Key);
        match std::env::var("STRICT_TWICE").as_deref() {
            Ok("resource") => registry.resource(site()),
            Ok("data source") => registry.data_source(Lookup),
            Ok("ephemeral resource") => registry.ephemeral(Key),
            _ => registry,
        }
    }

    async fn configure(&self, _: &Context, _: &str, config: Config, diagnostics: &mut Diagnostics) {
        let Some(directory) = config.directory.known() else {
            return diagnostics.error_at(Path::of("directory"), "Configured", "Without a directory.");
        };
        let region = config.region.into_known().unwrap_or_else(|| "here".to_owned());
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = (PathBuf::from(directory), region);
    }
}

model! {
    struct SiteModel {
        name: Attr<String>,
        list: Attr<Vec<Port>>,
        set: Attr<Vec<Port>>,
        map: Attr<BTreeMap<String, Port>>,
        one: Attr<Port>,
        deep: Attr<BTreeMap<String, Deep>>,
        key: Attr<Secret>,
        key_wo: Attr<Secret>,
        pause_ms: Attr<u64>,
        id: Attr<String>,
    }

    struct Port {
        number: Attr<u64>,
        host: Attr<String>,
        note: Attr<String>,
    }

    struct Deep {
        ports: Attr<Vec<Port>>,
    }
}

fn port() -> [Attribute; 3] {
    [
        Attribute::number("number").required(),
        Attribute::string("host").optional().replaces(),
        Attribute::string("note").optional(),
    ]
}

/// `strict_site`.
struct Site {
    place: Place,
}

impl Site {
    fn file(&self, name: &str) -> PathBuf {
        let (directory, region) = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        directory.join(region).join(name)
    }

    /// Refuses an object of another region.
    fn here(&self, ctx: &Context) -> Result<(), Diagnostics> {
        let (_, ours) = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match ctx.identity.as_ref().and_then(|identity| identity.get("region")).and_then(Value::as_str) {
            Some(region) if region != ours => {
                let detail = format!("The state says {region}, and the provider is configured for {ours}.");
                Err(Diagnostic::error("Another region", detail).into())
            }
            _ => Ok(()),
        }
    }

    async fn write(&self, ctx: &Context, mut site: SiteModel) -> Result<SiteModel, Diagnostics> {
        let Some(name) = site.name.known() else {
            return Err(Diagnostic::error("The provider was called", "Without a name.").into());
        };
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))
            .and_then(|()| std::fs::write(&path, "x"))
            .map_err(|error| Diagnostics::from(Diagnostic::error("Cannot write", error.to_string())))?;
        let pause = Duration::from_millis(site.pause_ms.known().copied().unwrap_or_default());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = ctx.cancel.cancelled() => return Err(Diagnostic::error("Cancelled", "By the client.").into()),
        }
        // As a careless provider, or a library that logs what it sends.
        tracing::info!(name, key = ?site.key.known().map(|key| &key.0), "wrote a site");
        site.id = format!("site-{name}").into();
        Ok(site)
    }
}

#[async_trait]
impl Resource for Site {
    type Model = SiteModel;

    fn type_name(&self) -> &'static str {
        "strict_site"
    }

    fn schema(&self) -> Schema {
        Schema::new("A file.").attributes([
            Attribute::string("name").required().replaces(),
            Attribute::nested("list", Nesting::List, port()).optional(),
            Attribute::nested("set", Nesting::Set, port()).optional(),
            Attribute::nested("map", Nesting::Map, port()).optional(),
            Attribute::nested("one", Nesting::Single, port()).optional(),
            Attribute::nested(
                "deep",
                Nesting::Map,
                [Attribute::nested("ports", Nesting::List, port()).required()],
            )
            .optional(),
            Attribute::string("key").optional().sensitive(),
            Attribute::string("key_wo").optional().sensitive().write_only(),
            Attribute::number("pause_ms").optional(),
            Attribute::string("id").computed().keeps(),
        ])
    }

    fn identity(&self) -> Option<IdentitySchema> {
        Some(IdentitySchema::new().version(2).required("name", "Name.").optional("region", "Region."))
    }

    fn identity_of(&self, site: &SiteModel) -> Option<Value> {
        let (_, region) = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(Value::object([("name", site.name.known()?.as_str().into()), ("region", region.into())]))
    }

    /// Version 1 called the region a zone.
    async fn upgrade_identity(&self, version: i64, mut identity: Json) -> Result<Json, Diagnostics> {
        match identity.as_object_mut() {
            Some(values) if version == 1 => {
                let region = values.remove("zone").unwrap_or_default();
                values.insert("region".to_owned(), region);
                Ok(identity)
            }
            _ => Err(Diagnostic::error("Unknown version", version.to_string()).into()),
        }
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<SiteModel>,
        progress: &Progress,
    ) -> Result<SiteModel, Diagnostics> {
        progress.save(&plan.state);
        self.write(ctx, plan.state).await
    }

    async fn read(&self, ctx: &Context, site: SiteModel) -> Result<Option<SiteModel>, Diagnostics> {
        self.here(ctx)?;
        let exists = site.name.known().is_some_and(|name| self.file(name).exists());
        Ok(exists.then_some(site))
    }

    async fn update(
        &self,
        ctx: &Context,
        _: SiteModel,
        plan: Planned<SiteModel>,
        _: &Progress,
    ) -> Result<SiteModel, Diagnostics> {
        self.here(ctx)?;
        self.write(ctx, plan.state).await
    }

    async fn delete(&self, ctx: &Context, site: SiteModel) -> Result<(), Diagnostics> {
        self.here(ctx)?;
        if let Some(name) = site.name.known() {
            let _gone = std::fs::remove_file(self.file(name));
        }
        Ok(())
    }
}

model! {
    struct LookupModel {
        key: Attr<String>,
        found: Attr<Value>,
    }
}

/// `data "strict_lookup"`.
struct Lookup;

#[async_trait]
impl DataSource for Lookup {
    type Model = LookupModel;

    fn type_name(&self) -> &'static str {
        "strict_lookup"
    }

    fn schema(&self) -> Schema {
        Schema::new("Looks nothing up.")
            .attribute(Attribute::string("key").required())
            .attribute(Attribute::string("found").computed())
    }

    async fn read(&self, _: &Context, mut lookup: LookupModel) -> Result<LookupModel, Diagnostics> {
        lookup.found = Attr::Known("yes".into());
        Ok(lookup)
    }
}

model! {
    struct KeyModel {
        seed: Attr<String>,
        key: Attr<Secret>,
    }
}

/// `ephemeral "strict_key"`.
struct Key;

#[async_trait]
impl Ephemeral for Key {
    type Model = KeyModel;

    fn type_name(&self) -> &'static str {
        "strict_key"
    }

    fn schema(&self) -> Schema {
        Schema::new("A key.")
            .attribute(Attribute::string("seed").required())
            .attribute(Attribute::string("key").computed().sensitive())
    }

    async fn open(&self, _: &Context, mut key: KeyModel) -> Result<Opened<KeyModel>, Diagnostics> {
        key.key = Secret(format!("key-of-{}", key.seed.known().map_or("", String::as_str))).into();
        Ok(Opened { result: key, renew_in: None, private: None })
    }
}
