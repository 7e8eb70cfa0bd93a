//! One resource in a state file, driven as Terraform's core drives it.

use crate::codec;
use crate::{Diagnostics, Path, Value};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value as Json, json};

use super::{Applied, Plugin, core};

/// The state of one resource instance.
///
/// A call that fails because the provider was killed leaves the state as Terraform would: as it was
/// before. Apply again, with a new [`Plugin`], is then what a user would do.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    type_name: String,
    value: Value,
    private: Vec<u8>,
    tainted: bool,
}

/// What an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was to be done.
    Unchanged,
    /// The object was made.
    Created,
    /// The object was changed.
    Updated,
    /// The object was removed and made anew.
    Replaced,
    /// The object was removed.
    Destroyed,
    /// The provider put the change off.
    Deferred,
}

impl State {
    /// Nothing exists yet.
    pub fn new(type_name: &str) -> State {
        State { type_name: type_name.to_owned(), value: Value::Null, private: Vec::new(), tainted: false }
    }

    /// Whether the object exists, as far as the state knows.
    pub fn exists(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether the next apply replaces the object because its create failed.
    pub fn tainted(&self) -> bool {
        self.tainted
    }

    /// Its value; null when it does not exist.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What the provider stores beside the value.
    pub fn private(&self) -> &[u8] {
        &self.private
    }

    /// The attribute `name`, if it is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value.get(name).and_then(Value::as_str)
    }

    /// As it would be in the state file.
    ///
    /// # Errors
    /// The provider has no such type.
    pub fn to_json(&self, plugin: &Plugin) -> Result<Json> {
        let schema = plugin.schema()?.resource(&self.type_name)?;
        Ok(json!({
            "schema_version": schema.version,
            "attributes": codec::json::to_json(&self.value, &schema.ty)?,
        }))
    }

    /// What `terraform plan` and `apply` do: refresh, plan, then carry it out. `config` is JSON; see
    /// [`State::apply_value`].
    ///
    /// # Errors
    /// See [`State::apply_value`].
    pub fn apply(&mut self, plugin: &Plugin, config: &Json) -> Result<Outcome> {
        let config = plugin.value(&self.type_name, config)?;
        self.apply_value(plugin, &config)
    }

    /// The same with a configuration that may have unknown parts at plan time.
    ///
    /// # Errors
    /// A call fails, the provider reports an error, or breaks a promise of the protocol. What exists
    /// by then is in the state, as it would be in the state file.
    pub fn apply_value(&mut self, plugin: &Plugin, config: &Value) -> Result<Outcome> {
        self.checked("validate", &plugin.validate(&self.type_name, config)?)?;
        self.refresh(plugin)?;
        if !self.exists() {
            return self.create(plugin, config);
        }
        if self.tainted {
            return self.replace(plugin, config);
        }
        let planned = plugin.plan(&self.type_name, &self.value, config, &self.private)?;
        self.checked("plan", &planned.diagnostics)?;
        if planned.deferred {
            return Ok(Outcome::Deferred);
        }
        let changed = planned.requires_replace.iter().any(|path| differs(&self.value, &planned.state, path));
        if changed {
            return self.replace(plugin, config);
        }
        self.check_plan(plugin, config, &planned.state)?;
        if planned.state == self.value {
            return Ok(Outcome::Unchanged);
        }
        self.carry_out(plugin, config, &planned.state, &planned.private)?;
        Ok(Outcome::Updated)
    }

    /// What `terraform destroy` does.
    ///
    /// # Errors
    /// A call fails or the provider reports an error; the object stays in the state then.
    pub fn destroy(&mut self, plugin: &Plugin) -> Result<Outcome> {
        self.refresh(plugin)?;
        if !self.exists() {
            return Ok(Outcome::Unchanged);
        }
        self.remove(plugin)?;
        Ok(Outcome::Destroyed)
    }

    /// What `terraform import` does: import, then read.
    ///
    /// # Errors
    /// A call fails, the provider reports an error, or the object does not exist.
    pub fn import(&mut self, plugin: &Plugin, id: &str) -> Result<()> {
        let imported = plugin.import(&self.type_name, id)?;
        self.checked("import", &imported.diagnostics)?;
        self.keep(imported);
        self.refresh(plugin)?;
        ensure!(self.exists(), "{} {id} does not exist", self.type_name);
        Ok(())
    }

    /// Reads the object again; it is forgotten when it is gone.
    ///
    /// # Errors
    /// A call fails or the provider reports an error.
    pub fn refresh(&mut self, plugin: &Plugin) -> Result<()> {
        if !self.exists() {
            return Ok(());
        }
        let schema = plugin.schema()?.resource(&self.type_name)?;
        let stored = codec::json::to_json(&self.value, &schema.ty)?;
        let (upgraded, diagnostics) = plugin.upgrade(&self.type_name, schema.version, &stored)?;
        self.checked("upgrade", &diagnostics)?;
        ensure!(upgraded == self.value, "an upgrade from the current version changed the state");
        let read = plugin.read(&self.type_name, &self.value, &self.private)?;
        self.checked("read", &read.diagnostics)?;
        ensure!(read.state.is_wholly_known(), "unknown values after a read of {}", self.type_name);
        self.keep(read);
        if !self.exists() {
            self.tainted = false;
        }
        Ok(())
    }

    fn create(&mut self, plugin: &Plugin, config: &Value) -> Result<Outcome> {
        let planned = plugin.plan(&self.type_name, &Value::Null, config, &[])?;
        self.checked("plan", &planned.diagnostics)?;
        if planned.deferred {
            return Ok(Outcome::Deferred);
        }
        self.check_plan(plugin, config, &planned.state)?;
        self.carry_out(plugin, config, &planned.state, &planned.private)?;
        Ok(Outcome::Created)
    }

    fn replace(&mut self, plugin: &Plugin, config: &Value) -> Result<Outcome> {
        // Terraform plans the second half before it carries out the first.
        let planned = plugin.plan(&self.type_name, &Value::Null, config, &[])?;
        self.checked("plan", &planned.diagnostics)?;
        self.remove(plugin)?;
        self.create(plugin, config)?;
        Ok(Outcome::Replaced)
    }

    fn remove(&mut self, plugin: &Plugin) -> Result<()> {
        let planned = plugin.plan(&self.type_name, &self.value, &Value::Null, &self.private)?;
        self.checked("plan of a destroy", &planned.diagnostics)?;
        ensure!(planned.state.is_null(), "a destroy was planned as something else");
        let applied =
            plugin.apply(&self.type_name, &self.value, &Value::Null, &Value::Null, &planned.private)?;
        let diagnostics = applied.diagnostics.clone();
        self.keep(applied);
        self.checked("destroy", &diagnostics)?;
        ensure!(!self.exists(), "a destroy succeeded and left a state");
        self.tainted = false;
        Ok(())
    }

    fn carry_out(&mut self, plugin: &Plugin, config: &Value, planned: &Value, private: &[u8]) -> Result<()> {
        let create = !self.exists();
        let applied = plugin.apply(&self.type_name, &self.value, planned, config, private)?;
        let diagnostics = applied.diagnostics.clone();
        let mut problems = Vec::new();
        core::apply_problems(planned, &applied.state, &Path::root(), &mut problems);
        self.keep(applied);
        self.tainted = create && diagnostics.has_error() && self.exists();
        self.checked("apply", &diagnostics)?;
        ensure!(
            problems.is_empty(),
            "{} is inconsistent after apply: {}",
            self.type_name,
            problems.join("; ")
        );
        Ok(())
    }

    fn check_plan(&self, plugin: &Plugin, config: &Value, planned: &Value) -> Result<()> {
        let schema = plugin.schema()?.resource(&self.type_name)?;
        let mut problems = Vec::new();
        core::plan_problems(&schema.attributes, &self.value, config, planned, &Path::root(), &mut problems);
        ensure!(problems.is_empty(), "the plan of {} is invalid: {}", self.type_name, problems.join("; "));
        Ok(())
    }

    fn keep(&mut self, applied: Applied) {
        self.value = applied.state;
        self.private = applied.private;
    }

    fn checked(&self, what: &str, diagnostics: &Diagnostics) -> Result<()> {
        if !diagnostics.has_error() {
            return Ok(());
        }
        let text: Vec<String> = diagnostics
            .0
            .iter()
            .map(|message| match &message.path {
                // Deeper paths are part of the detail, for Terraform shows only these.
                Some(path) if path.0.len() == 1 => {
                    format!("{}: {} ({path})", message.summary, message.detail)
                }
                _ => format!("{}: {}", message.summary, message.detail),
            })
            .collect();
        bail!("{what} of {}: {}", self.type_name, text.join("\n"))
    }
}

/// Whether the attribute at `path` changes; Terraform ignores replacements for equal values.
fn differs(prior: &Value, planned: &Value, path: &Path) -> bool {
    at(prior, path).ok() != at(planned, path).ok()
}

fn at<'v>(value: &'v Value, path: &Path) -> Result<&'v Value> {
    use crate::path::Step;
    path.0.iter().try_fold(value, |value, step| {
        match step {
            Step::Attribute(name) | Step::Key(name) => value.get(name),
            Step::Index(index) => value.as_slice().and_then(|items| items.get(usize::try_from(*index).ok()?)),
        }
        .context("not there")
    })
}
