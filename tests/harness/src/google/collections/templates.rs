//! Instance templates, which cannot be changed.

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};
use super::{Rules, groups, labels};

pub(crate) struct Templates;

impl Rules for Templates {
    fn kind(&self) -> &'static str {
        "compute#instanceTemplate"
    }

    fn word(&self) -> &'static str {
        "instance_template"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("INSTANCE_TEMPLATES", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        let at = "resource.properties";
        let Some(properties) = body.get("properties").filter(|properties| properties.is_object()) else {
            return Err(Refusal::bad("required", format!("Required field '{at}' not specified")));
        };
        labels::judge(&properties["labels"])?;
        // Templates name types by their bare names, because they belong to no zone.
        let machine = properties["machineType"].as_str().unwrap_or_default();
        if machine.is_empty() || machine.contains('/') {
            let why = "A template names a machine type without a URL.";
            return Err(Refusal::invalid(&format!("{at}.machineType"), machine, why));
        }
        let members = |field: &str| properties[field].as_array().cloned().unwrap_or_default();
        let disks = members("disks");
        if !disks.iter().any(|disk| disk["boot"] == true) {
            return Err(Refusal::invalid(&format!("{at}.disks"), "", "A boot disk must be specified."));
        }
        for disk in &disks {
            let kind = disk["initializeParams"]["diskType"].as_str().unwrap_or_default();
            if kind.contains('/') {
                let why = "A template names a disk type without a URL.";
                return Err(Refusal::invalid(&format!("{at}.disks.initializeParams.diskType"), kind, why));
            }
        }
        let interfaces = members("networkInterfaces");
        if interfaces.is_empty() {
            let why = "At least one network interface is needed.";
            return Err(Refusal::invalid(&format!("{at}.networkInterfaces"), "", why));
        }
        for interface in &interfaces {
            let link = interface["subnetwork"].as_str().unwrap_or_default();
            world.linked(&format!("{at}.networkInterfaces.subnetwork"), link, "subnetworks", &key.project)?;
        }
        Ok(())
    }

    /// "It is not possible to delete templates that are already in use by a managed instance group."
    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        match world.user_of(key).or_else(|| groups::with_template(world, key)) {
            Some(user) => Err(Refusal::in_use(self.word(), &key.path(), &user.path())),
            None => Ok(()),
        }
    }
}
