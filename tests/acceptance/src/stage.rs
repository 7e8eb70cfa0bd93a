//! A workspace with real Terraform, the provider built here, and an emulated AWS.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use warren_harness::{Emulator, ProxyConfig, Terraform, workspace_root};

/// The address of the provider.
const SOURCE: &str = "warren-net/warren";

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
        "no provider in {}; `cargo build -p warren-provider --bins` makes it, `cargo xtask test` does so by itself",
        folder.display()
    );
    Ok(folder)
}

/// Terraform and AWS.
#[derive(Debug)]
pub struct Stage {
    /// The emulated AWS.
    pub aws: Emulator,
    /// The workspace.
    pub terraform: Terraform,
}

impl Stage {
    /// An empty workspace; variables and the emulator's endpoint are set.
    ///
    /// # Errors
    /// The emulator or the workspace cannot be made.
    pub fn empty(config: ProxyConfig) -> Result<Stage> {
        Stage::built_in(&build_folder()?, config)
    }

    /// An empty workspace with the provider of another build folder.
    ///
    /// # Errors
    /// The emulator or the workspace cannot be made.
    pub fn built_in(folder: &Path, config: ProxyConfig) -> Result<Stage> {
        let aws = Emulator::start(config)?;
        let mut terraform = Terraform::new(SOURCE, folder)?;
        terraform.env("TF_VAR_endpoint_url", aws.endpoint());
        Ok(Stage { aws, terraform })
    }

    /// A workspace with `configuration` after a provider block.
    ///
    /// # Errors
    /// The emulator or the workspace cannot be made.
    pub fn with(config: ProxyConfig, configuration: &str) -> Result<Stage> {
        let stage = Stage::empty(config)?;
        stage.configure(configuration)?;
        Ok(stage)
    }

    /// Writes a provider block and `configuration`.
    ///
    /// # Errors
    /// The workspace cannot be written.
    pub fn configure(&self, configuration: &str) -> Result<()> {
        self.terraform.write("provider.tf", PROVIDER)?;
        self.terraform.write("main.tf", configuration)
    }

    /// A workspace with a folder of `examples/` and the modules that it uses.
    ///
    /// # Errors
    /// The emulator or the workspace cannot be made, or modules cannot be installed.
    pub fn example(name: &str, config: ProxyConfig) -> Result<Stage> {
        let stage = Stage::empty(config)?;
        let root = workspace_root();
        stage.terraform.copy(&root.join("modules"), "modules")?;
        let main = std::fs::read_to_string(root.join("examples").join(name).join("main.tf"))?;
        stage.terraform.write("main.tf", &main.replace("../../modules", "./modules"))?;
        stage.terraform.get()?.success()?;
        Ok(stage)
    }

    /// Proves by the emulator's own API that nothing is left, and that every request was one that AWS understands.
    ///
    /// # Errors
    /// Something is left, or a request was wrong.
    pub fn nothing_left(&self) -> Result<()> {
        let left = self.aws.leftovers()?;
        ensure!(left.is_empty(), "left behind or taken away:\n{left}");
        let violations = self.aws.proxy().violations();
        ensure!(violations.is_empty(), "requests that AWS would refuse: {violations:#?}");
        Ok(())
    }
}

const PROVIDER: &str = r#"
terraform {
  required_providers {
    warren = { source = "warren-net/warren" }
  }
}

variable "endpoint_url" { type = string }

provider "warren" {
  fabric = "acceptance"
  owner  = "tests"
  aws    = { region = "us-east-1", endpoint_url = var.endpoint_url }
}
"#;

/// Terraform's output as one line of words: without its frames and line breaks.
pub fn flat(output: &str) -> String {
    output.replace(['│', '╷', '╵'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
