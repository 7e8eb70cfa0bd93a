//! The examples that can run on a real account.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use regex::Regex;
use serde_json::Value;
use warren_acceptance::{Emulated, Stage};
use warren_harness::{Emulator, Google, GoogleConfig, ProxyConfig, RunPod, RunPodConfig, workspace_root};

use crate::fabric::Fabric;
use crate::sweep::Cloud;

/// The owner of all objects of a run.
pub const OWNER: &str = "acceptance";

/// An example, and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its folder in `examples/`.
    pub name: &'static str,
    /// The cloud that it creates objects in.
    pub cloud: Cloud,
    /// The region that it names.
    pub region: &'static str,
    /// Environment variables that must be set, besides credentials that the cloud's own tools find.
    pub needs: &'static [&'static str],
}

/// All of them. The others need images, files or domains that only their users have.
pub const EXAMPLES: [Example; 3] = [
    Example { name: "aws-hub-spoke", cloud: Cloud::Aws, region: "us-east-1", needs: &[] },
    Example {
        name: "gcp-hub-spoke",
        cloud: Cloud::Google,
        region: "us-central1",
        needs: &["TF_VAR_project"],
    },
    Example {
        name: "gpu-pods",
        cloud: Cloud::Runpod,
        region: "",
        needs: &["RUNPOD_API_KEY", "WARREN_SIGNING_KEY", "TF_VAR_registry_password", "TF_VAR_image"],
    },
];

impl Example {
    /// The example of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Example> {
        let names = EXAMPLES.map(|example| example.name).join(", ");
        let found = EXAMPLES.into_iter().find(|example| example.name == name);
        found.with_context(|| format!("no example {name} for real accounts; there are {names}"))
    }

    /// Writes the configuration of a run into a folder: the example in the fabric of the run, and the modules.
    ///
    /// # Errors
    /// Something cannot be read or written, or the example has no fabric.
    pub fn write(&self, fabric: &Fabric, folder: &Path) -> Result<()> {
        let root = workspace_root();
        let main = std::fs::read_to_string(root.join("examples").join(self.name).join("main.tf"))?;
        std::fs::write(folder.join("main.tf"), in_fabric(&main, fabric)?)?;
        copy(&root.join("modules"), &folder.join("modules"))
    }

    /// The plan of the example on an emulated cloud, as JSON.
    ///
    /// # Errors
    /// The plan fails.
    pub fn plan_on_emulator(&self) -> Result<Value> {
        fn plan<C: Emulated>(name: &str, habits: C::Habits) -> Result<Value> {
            let stage = Stage::<C>::example(name, habits)?;
            stage.terraform.plan(&["-out=plan"])?.success()?;
            stage.terraform.show(Some("plan"))
        }
        match self.cloud {
            Cloud::Aws => plan::<Emulator>(self.name, ProxyConfig::default()),
            Cloud::Google => plan::<Google>(self.name, GoogleConfig::default()),
            Cloud::Runpod => plan::<RunPod>(self.name, RunPodConfig::default()),
        }
    }
}

/// The configuration with the fabric and owner of a run.
fn in_fabric(main: &str, fabric: &Fabric) -> Result<String> {
    let mut text = main.replace("../../modules", "./modules");
    for (attribute, value) in [("fabric", fabric.name()), ("owner", OWNER)] {
        let pattern = Regex::new(&format!(r#"(?m)^(\s*{attribute}\s*=\s*)"[^"]*""#))?;
        ensure!(pattern.is_match(&text), "the example sets no {attribute}");
        text = pattern.replace_all(&text, format!("${{1}}\"{value}\"")).into_owned();
    }
    Ok(text)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_an_example_stays_in_another_fabric() {
        let fabric = Fabric::parse("warren-acc-1795410618-000000ab").unwrap();
        for example in EXAMPLES {
            let main = workspace_root().join("examples").join(example.name).join("main.tf");
            let text = in_fabric(&std::fs::read_to_string(main).unwrap(), &fabric).unwrap();
            let fabrics = text.lines().filter(|line| line.trim_start().starts_with("fabric "));
            assert!(
                fabrics.clone().count() > 0 && fabrics.clone().all(|line| line.contains(fabric.name())),
                "{text}"
            );
            assert!(text.contains("\"acceptance\"") && !text.contains("../../modules"), "{text}");
        }
        assert!(in_fabric("provider \"warren\" {}", &fabric).is_err());
    }
}
