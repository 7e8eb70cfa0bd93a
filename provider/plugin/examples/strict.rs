//! A provider whose attributes are required, replaced, sensitive and deprecated at every depth, which the tests use to
//! verify the framework. For an example to learn from, see `notes.rs`.
//!
//! Objects are files: `DIRECTORY/REGION/NAME`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::{
    Attr, Context, DataSource, Diagnostic, Diagnostics, Ephemeral, IdentitySchema, Object, Path, Planned,
    Progress, Provider, Registry, Resource, Secret, Value, async_trait,
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

/// Files in regions.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Config {
    /// Directory of the regions.
    #[attr(required)]
    directory: Attr<String>,
    /// Region. Defaults to `here`.
    #[attr(optional)]
    region: Attr<String>,
}

#[async_trait]
impl Provider for Strict {
    type Model = Config;

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

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "strict_site")]
struct SiteModel {
    /// Name of the file.
    #[attr(required, replaces)]
    name: Attr<String>,
    /// Ports in a list.
    #[attr(optional)]
    list: Attr<Vec<Port>>,
    /// Ports in a set.
    #[attr(optional)]
    set: Attr<BTreeSet<Port>>,
    /// Ports by name.
    #[attr(optional)]
    map: Attr<BTreeMap<String, Port>>,
    /// One port.
    #[attr(optional)]
    one: Attr<Port>,
    /// Lists of ports by name.
    #[attr(optional)]
    deep: Attr<BTreeMap<String, Deep>>,
    /// Key.
    #[attr(optional, sensitive)]
    key: Attr<Secret>,
    /// Key that is never stored.
    #[attr(optional, sensitive, write_only)]
    key_wo: Attr<Secret>,
    /// Duration of a write in milliseconds.
    #[attr(optional)]
    pause_ms: Attr<u64>,
    /// ID of the site.
    #[attr(computed, keeps)]
    id: Attr<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
struct Port {
    /// Number of the port.
    #[attr(required)]
    number: Attr<u64>,
    /// Host of the port.
    #[attr(optional, replaces)]
    host: Attr<String>,
    /// Note about the port.
    #[attr(optional)]
    note: Attr<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Deep {
    /// Ports in a list.
    #[attr(required)]
    ports: Attr<Vec<Port>>,
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

/// Looks nothing up.
#[derive(Clone, Debug, Default, PartialEq, DataSource)]
#[data_source(name = "strict_lookup")]
struct LookupModel {
    /// What to look up.
    #[attr(required)]
    key: Attr<String>,
    /// Always `yes`.
    #[attr(computed)]
    found: Attr<String>,
}

/// `data "strict_lookup"`.
struct Lookup;

#[async_trait]
impl DataSource for Lookup {
    type Model = LookupModel;

    async fn read(&self, _: &Context, mut lookup: LookupModel) -> Result<LookupModel, Diagnostics> {
        lookup.found = "yes".into();
        Ok(lookup)
    }
}

/// A key.
#[derive(Clone, Debug, Default, PartialEq, Ephemeral)]
#[ephemeral(name = "strict_key")]
struct KeyModel {
    /// What the key is made of.
    #[attr(required)]
    seed: Attr<String>,
    /// The key.
    #[attr(computed, sensitive)]
    key: Attr<Secret>,
}

/// `ephemeral "strict_key"`.
struct Key;

#[async_trait]
impl Ephemeral for Key {
    type Model = KeyModel;

    async fn open(&self, _: &Context, mut key: KeyModel) -> Result<Opened<KeyModel>, Diagnostics> {
        key.key = Secret(format!("key-of-{}", key.seed.value()?)).into();
        Ok(Opened { result: key, renew_in: None, private: None })
    }
}
