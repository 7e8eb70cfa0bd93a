//! A workspace with real Terraform, the provider built here, and an emulated cloud.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use warren_harness::{
    Emulator, Front, Google, GoogleConfig, Kind, ProxyConfig, RunPod, RunPodConfig, Terraform, workspace_root,
};

use crate::permissions::Allowed;

/// The address of the provider.
pub(crate) const SOURCE: &str = "warren-net/warren";

/// An image that the emulated AWS knows.
pub(crate) const IMAGE: &str = "ami-1e749f67";

/// Signs the tokens of examples without a cloud for the key; made for these tests.
pub const SIGNING_KEY: &str =
    "k4.secret.BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwfqSmxj4pxSCr71UHsTLsX5lUd2rr6-e5JCHuppFEbSLA";

/// The password of the examples' registry.
pub const REGISTRY_PASSWORD: &str = "registry-password-7f3a";

/// The folder with the built provider: `WARREN_BUILD_FOLDER`, or the one that this program was built into.
///
/// # Errors
/// There is no provider in it.
pub fn build_folder() -> Result<PathBuf> {
    let folder = match std::env::var_os("WARREN_BUILD_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_exe()?
            .ancestors()
            .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))
            .context("this program does not lie in a build folder; set WARREN_BUILD_FOLDER")?
            .to_owned(),
    };
    ensure!(
        folder.join("terraform-provider-warren").is_file(),
        "no provider in {}; build it with `cargo build -p warren-provider -p warren-cli`; `cargo xtask test` does so automatically",
        folder.display()
    );
    Ok(folder)
}

/// A cloud that tests bring along.
pub trait Emulated: Sized {
    /// How it behaves.
    type Habits;

    /// A provider block that leads to it, after `terraform` and the variable `endpoint_url`.
    const PROVIDER: &'static str;

    /// Starts it.
    ///
    /// # Errors
    /// It does not start.
    fn start(habits: Self::Habits) -> Result<Self>;

    /// The variables that lead Terraform to it and that examples ask for, without `TF_VAR_`.
    fn variables(&self) -> Vec<(&'static str, String)>;

    /// Variables of Terraform's own environment, such as keys.
    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The records and the controls of the calls, by what the cloud is called.
    fn fronts(&self) -> Vec<(&'static str, &Front)>;

    /// Empties it: an emulator that lists what was deleted for ever gets slower by it.
    ///
    /// # Errors
    /// It does not answer.
    fn reset(&mut self) -> Result<()>;

    /// Proves by its own account that nothing is left, and that every request was one that the cloud understands.
    ///
    /// # Errors
    /// Something is left, or a request was wrong.
    fn nothing_left(&self) -> Result<()>;

    /// What an apply made twice, in prose; empty is well.
    ///
    /// # Errors
    /// It does not answer.
    fn made_twice(&self) -> Result<String>;
}

impl Emulated for Emulator {
    type Habits = ProxyConfig;

    const PROVIDER: &'static str = r#"
provider "warren" {
  fabric = "acceptance"
  owner  = "tests"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
}
"#;

    fn start(habits: ProxyConfig) -> Result<Self> {
        Emulator::start(habits)
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let image = || IMAGE.to_owned();
        vec![("endpoint_url", self.endpoint()), ("image_id", image()), ("gateway_image_id", image())]
    }

    fn fronts(&self) -> Vec<(&'static str, &Front)> {
        vec![("AWS", self.proxy())]
    }

    fn reset(&mut self) -> Result<()> {
        Emulator::reset(self)
    }

    fn nothing_left(&self) -> Result<()> {
        let left = self.leftovers()?;
        ensure!(left.is_empty(), "left behind or taken away:\n{left}");
        let violations = self.proxy().violations();
        ensure!(violations.is_empty(), "requests that AWS would refuse: {violations:#?}");
        Ok(())
    }

    fn made_twice(&self) -> Result<String> {
        let mut twice = self.inventory()?.duplicates(&["warren:owner", "warren:name"]);
        // AWS makes these itself for an object of ours, and tags them like it.
        twice.retain(|(kind, _)| !matches!(kind, Kind::NetworkInterface));
        Ok(if twice.is_empty() { String::new() } else { format!("{twice:?}") })
    }
}

impl Emulated for Google {
    type Habits = GoogleConfig;

    const PROVIDER: &'static str = r#"
provider "warren" {
  fabric = "acceptance"
  owner  = "tests"
  gcp    = { project = "acme-ml", region = "us-central1", endpoint_url = var.endpoint_url }
}
"#;

    fn start(habits: GoogleConfig) -> Result<Self> {
        Google::start(habits)
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![("endpoint_url", self.endpoint())]
    }

    fn fronts(&self) -> Vec<(&'static str, &Front)> {
        vec![("Google", self.front())]
    }

    fn reset(&mut self) -> Result<()> {
        Google::reset(self);
        Ok(())
    }

    fn nothing_left(&self) -> Result<()> {
        let left = self.left();
        ensure!(left.is_empty(), "left behind: {left:?}");
        let violations = self.front().violations();
        ensure!(violations.is_empty(), "requests that Google would refuse: {violations:#?}");
        Ok(())
    }

    /// Names are unique in Google Cloud.
    fn made_twice(&self) -> Result<String> {
        Ok(String::new())
    }
}

impl Emulated for RunPod {
    type Habits = RunPodConfig;

    const PROVIDER: &'static str = r#"
provider "warren" {
  fabric = "acceptance"
  owner  = "tests"
  runpod = { endpoint_url = var.endpoint_url }
}
"#;

    fn start(habits: RunPodConfig) -> Result<Self> {
        RunPod::start(habits)
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![("endpoint_url", self.endpoint()), ("registry_password", REGISTRY_PASSWORD.to_owned())]
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("RUNPOD_API_KEY", RunPodConfig::default().api_key),
            ("WARREN_SIGNING_KEY", SIGNING_KEY.to_owned()),
        ]
    }

    fn fronts(&self) -> Vec<(&'static str, &Front)> {
        vec![("RunPod", self.front())]
    }

    fn reset(&mut self) -> Result<()> {
        RunPod::reset(self);
        Ok(())
    }

    fn nothing_left(&self) -> Result<()> {
        let left = self.left();
        ensure!(left.is_empty(), "left behind: {left:?}");
        let violations = self.front().violations();
        ensure!(violations.is_empty(), "requests that RunPod would refuse: {violations:#?}");
        Ok(())
    }

    fn made_twice(&self) -> Result<String> {
        let mut names: Vec<String> =
            self.left().iter().filter_map(|name| Some(name.split_once(' ')?.1.to_owned())).collect();
        names.sort();
        let twice = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone());
        Ok(twice.collect::<Vec<_>>().join(", "))
    }
}

/// An emulated AWS and doubles of Google Cloud and RunPod, in one run.
#[derive(Debug)]
pub struct All {
    /// The emulated AWS.
    pub aws: Emulator,
    /// The double of Google Cloud.
    pub google: Google,
    /// The double of RunPod.
    pub runpod: RunPod,
}

impl Emulated for All {
    type Habits = (ProxyConfig, GoogleConfig, RunPodConfig);

    const PROVIDER: &'static str = r#"
variable "gcp_endpoint_url" { type = string }

variable "runpod_endpoint_url" { type = string }

provider "warren" {
  fabric = "acceptance"
  owner  = "tests"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
  gcp    = { project = "acme-ml", region = "us-central1", endpoint_url = var.gcp_endpoint_url }
  runpod = { endpoint_url = var.runpod_endpoint_url }
}
"#;

    fn start((aws, google, runpod): Self::Habits) -> Result<Self> {
        Ok(All { aws: Emulator::start(aws)?, google: Google::start(google)?, runpod: RunPod::start(runpod)? })
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let others =
            [("gcp_endpoint_url", self.google.endpoint()), ("runpod_endpoint_url", self.runpod.endpoint())];
        [self.aws.variables(), others.to_vec()].concat()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        Emulated::environment(&self.runpod)
    }

    fn fronts(&self) -> Vec<(&'static str, &Front)> {
        [self.aws.fronts(), self.google.fronts(), self.runpod.fronts()].concat()
    }

    fn reset(&mut self) -> Result<()> {
        Emulated::reset(&mut self.runpod)?;
        Emulated::reset(&mut self.google)?;
        Emulated::reset(&mut self.aws)
    }

    fn nothing_left(&self) -> Result<()> {
        Emulated::nothing_left(&self.aws)?;
        Emulated::nothing_left(&self.google)?;
        Emulated::nothing_left(&self.runpod)
    }

    fn made_twice(&self) -> Result<String> {
        Ok(self.aws.made_twice()? + &self.google.made_twice()? + &self.runpod.made_twice()?)
    }
}

/// Terraform and a cloud.
#[derive(Debug)]
pub struct Stage<C> {
    /// The emulated cloud.
    pub cloud: C,
    /// The workspace.
    pub terraform: Terraform,
}

/// Terraform and AWS.
pub type AwsStage = Stage<Emulator>;

/// Terraform and Google Cloud.
pub type GoogleStage = Stage<Google>;

/// Terraform and RunPod.
pub type RunPodStage = Stage<RunPod>;

/// Terraform and all clouds.
pub type AllStage = Stage<All>;

impl<C: Emulated> Stage<C> {
    /// An empty workspace; the variables that lead to the cloud are set.
    ///
    /// # Errors
    /// The cloud or the workspace cannot be made.
    pub fn empty(habits: C::Habits) -> Result<Stage<C>> {
        Stage::built_in(&build_folder()?, habits)
    }

    /// An empty workspace with the provider of another build folder.
    ///
    /// # Errors
    /// The cloud or the workspace cannot be made.
    pub fn built_in(folder: &Path, habits: C::Habits) -> Result<Stage<C>> {
        let cloud = C::start(habits)?;
        let mut terraform = Terraform::new(SOURCE, folder)?;
        for (name, value) in cloud.variables() {
            terraform.env(&format!("TF_VAR_{name}"), value);
        }
        for (name, value) in cloud.environment() {
            terraform.env(name, value);
        }
        Ok(Stage { cloud, terraform })
    }

    /// A workspace with `configuration` after a provider block.
    ///
    /// # Errors
    /// The cloud or the workspace cannot be made.
    pub fn with(habits: C::Habits, configuration: &str) -> Result<Stage<C>> {
        let stage = Stage::empty(habits)?;
        stage.configure(configuration)?;
        Ok(stage)
    }

    /// Writes a provider block and `configuration`.
    ///
    /// # Errors
    /// The workspace cannot be written.
    pub fn configure(&self, configuration: &str) -> Result<()> {
        self.terraform.write("provider.tf", &format!("{TERRAFORM}{}", C::PROVIDER))?;
        self.terraform.write("main.tf", configuration)
    }

    /// A workspace with a folder of `examples/` and the modules that it uses.
    ///
    /// # Errors
    /// The cloud or the workspace cannot be made, or modules cannot be installed.
    pub fn example(name: &str, habits: C::Habits) -> Result<Stage<C>> {
        let stage = Stage::empty(habits)?;
        let root = workspace_root();
        stage.terraform.copy(&root.join("modules"), "modules")?;
        let main = std::fs::read_to_string(root.join("examples").join(name).join("main.tf"))?;
        stage.terraform.write("main.tf", &main.replace("../../modules", "./modules"))?;
        stage.terraform.get()?.success()?;
        Ok(stage)
    }

    /// Proves by the cloud's own account that nothing is left, and that every request was one that it understands.
    ///
    /// # Errors
    /// Something is left, or a request was wrong.
    pub fn nothing_left(&self) -> Result<()> {
        self.cloud.nothing_left()
    }

    /// Proves that the generated policy and roles allow every call that was recorded.
    ///
    /// # Errors
    /// Names the calls that they deny.
    pub fn permitted(&self) -> Result<()> {
        let allowed = Allowed::read()?;
        self.cloud.fronts().into_iter().try_for_each(|(_, front)| allowed.permits(&front.calls()))
    }

    /// Forgets the calls that were recorded.
    pub fn forget_calls(&self) {
        self.cloud.fronts().into_iter().for_each(|(_, front)| front.clear_calls());
    }
}

impl AwsStage {
    /// Replaces the provider block by one with these attributes in `aws`.
    ///
    /// # Errors
    /// The workspace cannot be written.
    pub fn configure_aws(&self, attributes: &str) -> Result<()> {
        let block = format!(
            "provider \"warren\" {{\n fabric = \"acceptance\"\n owner = \"tests\"\n aws = {{ {attributes} }}\n}}\n"
        );
        self.terraform.write("provider.tf", &format!("{TERRAFORM}{block}"))
    }
}

const TERRAFORM: &str = r#"
terraform {
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

variable "endpoint_url" { type = string }
"#;

/// Terraform's output as one line of words: without its frames and line breaks.
pub fn flat(output: &str) -> String {
    output.replace(['│', '╷', '╵'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
