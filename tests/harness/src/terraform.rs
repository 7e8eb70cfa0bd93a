//! The real Terraform or OpenTofu, kept away from the clouds.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use tf_provider_rs::test;
use tf_provider_rs::test::Result;

/// Environment variable that names the program to use.
const VARIABLE: &str = "WARREN_TERRAFORM";

/// [`test::Terraform`] with made-up AWS credentials: no profile of the user reaches it.
///
/// ```no_run
/// use std::path::Path;
/// use warren_harness::Terraform;
///
/// let terraform = Terraform::new("warren-net/warren", Path::new("target/debug"))?;
/// terraform.write("main.tf", "output \"x\" { value = 1 }")?;
/// terraform.apply(&[])?.success()?;
/// assert_eq!(terraform.outputs()?["x"]["value"], 1);
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Terraform(test::Terraform);

impl Terraform {
    /// Makes an empty workspace in which the provider `source` (`namespace/type`) is the binary
    /// `terraform-provider-<type>` of `build_folder`.
    ///
    /// # Errors
    /// Neither `terraform` nor `tofu` is on PATH, or the temporary folder cannot be written.
    pub fn new(source: &str, build_folder: &Path) -> Result<Self> {
        let mut terraform = test::Terraform::named_by(VARIABLE, source, build_folder)?;
        let home = terraform.home();
        terraform
            .env("AWS_CONFIG_FILE", home.join("aws-config"))
            .env("AWS_SHARED_CREDENTIALS_FILE", home.join("aws-credentials"))
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", "example")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            // Terraform's runs are short: without garbage collection they take a quarter less processor time.
            .env("GOGC", "off")
            .env("GOMEMLIMIT", "512MiB");
        Ok(Terraform(terraform))
    }
}

impl Deref for Terraform {
    type Target = test::Terraform;

    fn deref(&self) -> &test::Terraform {
        &self.0
    }
}

impl DerefMut for Terraform {
    fn deref_mut(&mut self) -> &mut test::Terraform {
        &mut self.0
    }
}
