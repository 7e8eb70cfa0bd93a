//! Emulated clouds for a person with a shell: what to set, in a file to source.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use warren_harness::{GoogleConfig, ProxyConfig, write_cli_configuration};

use crate::{All, Emulated, IMAGE, SOURCE};

/// The programs that the sandbox puts on the path.
const PROGRAMS: [&str; 3] = ["warren", "warren-tunnel", "terraform-provider-warren"];

/// Running emulated clouds, and a folder with the settings that lead Terraform and the AWS CLI to them. The clouds end when the
/// value is dropped.
#[derive(Debug)]
pub struct Sandbox {
    /// The clouds.
    pub cloud: All,
    folder: PathBuf,
}

impl Sandbox {
    /// Starts the clouds and writes `env` and `terraform.rc` into `folder`. `build_folder` has the programs.
    ///
    /// # Errors
    /// A cloud does not start, or the folder cannot be written.
    pub fn start(folder: &Path, build_folder: &Path) -> Result<Sandbox> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = fs::canonicalize(folder)?;
        let cloud = All::start((ProxyConfig::default(), GoogleConfig::default(), Default::default()))?;
        let sandbox = Sandbox { cloud, folder };
        let programs = sandbox.folder.join("bin");
        if programs.exists() {
            fs::remove_dir_all(&programs)?;
        }
        fs::create_dir(&programs)?;
        for program in PROGRAMS {
            let built = std::path::absolute(build_folder.join(program))?;
            if built.is_file() {
                symlink(built, programs.join(program))?;
            }
        }
        write_cli_configuration(SOURCE, build_folder, &sandbox.folder)?;
        fs::write(sandbox.env(), sandbox.script())?;
        Ok(sandbox)
    }

    /// The file to source.
    pub fn env(&self) -> PathBuf {
        self.folder.join("env")
    }

    /// The clouds and their addresses.
    pub fn endpoints(&self) -> [(&'static str, String); 3] {
        let All { aws, google, runpod } = &self.cloud;
        [("AWS", aws.endpoint()), ("Google Cloud", google.endpoint()), ("RunPod", runpod.endpoint())]
    }

    /// The variables that lead Terraform, the provider and the AWS CLI to the clouds, and nowhere else.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let [(_, aws), (_, google), (_, runpod)] = self.endpoints();
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut all = vec![
            ("TF_CLI_CONFIG_FILE", file("terraform.rc")),
            ("AWS_ENDPOINT_URL", aws.clone()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "example".to_owned()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
            ("AWS_CONFIG_FILE", file("no-aws-config")),
            ("AWS_SHARED_CREDENTIALS_FILE", file("no-aws-credentials")),
            ("SANDBOX_AWS", aws.clone()),
            ("SANDBOX_GOOGLE", google.clone()),
            ("SANDBOX_RUNPOD", runpod.clone()),
            ("TF_VAR_endpoint_url", aws),
            ("TF_VAR_gcp_endpoint_url", google),
            ("TF_VAR_runpod_endpoint_url", runpod),
            ("TF_VAR_project", "acme-ml".to_owned()),
            ("TF_VAR_image_id", IMAGE.to_owned()),
            ("TF_VAR_gateway_image_id", IMAGE.to_owned()),
            ("TF_VAR_registry_password", crate::REGISTRY_PASSWORD.to_owned()),
        ];
        all.extend(self.cloud.environment());
        all
    }

    fn script(&self) -> String {
        let mut text = "# Leads Terraform, warren and the AWS CLI to the sandbox; `source` it.\n".to_owned();
        text += &format!("export PATH=\"{}:$PATH\"\n", self.folder.join("bin").display());
        for (name, value) in self.variables() {
            text += &format!("export {name}='{value}'\n");
        }
        text
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A shell that sources it later would talk to nothing.
        let _ = fs::remove_file(self.env());
    }
}
