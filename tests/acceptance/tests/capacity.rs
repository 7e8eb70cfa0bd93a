//! `warren_capacity_plan` with real Terraform: typed results, conditions on them, and mistakes at their attributes.

use anyhow::{Result, ensure};
use warren_acceptance::{build_folder, flat};
use warren_harness::Terraform;

/// A plan of gateways with `rate`, other arguments, and a condition that the dataset arrives within three hours.
fn configuration(rate: &str, more: &str) -> String {
    format!(
        r#"terraform {{
  required_providers {{ warren = {{ source = "warren-net/warren" }} }}
}}
provider "warren" {{
  fabric = "acceptance"
  owner  = "tests"
}}
data "warren_capacity_plan" "train" {{
  store    = "aws"
  datasets = {{ tokens = {{ size = "2 TB", within = "12 h" }} }}
  links    = {{ gateways = {{ kind = "wireguard", rate = "{rate}", gateways = 2 }} }}
  {more}
  lifecycle {{
    postcondition {{
      condition     = self.link["gateways"].transfers["tokens"].time_seconds <= 3 * 3600
      error_message = "The tokens are late."
    }}
  }}
}}
output "plan" {{ value = data.warren_capacity_plan.train }}
"#
    )
}

#[test]
fn a_capacity_plan_is_computed_and_refused() -> Result<()> {
    let terraform = Terraform::new("warren-net/warren", &build_folder()?)?;
    terraform.write("main.tf", &configuration("3 Gbit/s", "pods = 4"))?;
    terraform.apply(&[])?.success()?;
    let outputs = terraform.outputs()?;
    let plan = &outputs["plan"]["value"];
    // 2 TB in 12 h are 370 Mbit/s: / 70 % and with the overhead 561.6 Mbit/s for two gateways and four agents.
    let rates = (&plan["planned_rate_mbit"], &plan["agent_planned_rate_mbit"]);
    ensure!(rates == (&281.into(), &141.into()), "{plan:#}");
    ensure!(plan["link"]["gateways"]["verdict"] == "fits" && plan["training_plan"].is_null(), "{plan:#}");

    terraform.write("main.tf", &configuration("1 Gbit/s", "pods = 4"))?;
    let late = flat(&terraform.plan(&[])?.failure()?.output());
    ensure!(late.contains("The tokens are late."), "{late}");

    terraform.write(
        "main.tf",
        &configuration("3 Gbps", "training = { gpus = 8, step = \"1 s\", network = \"1 Gbit/s\" }"),
    )?;
    let refused = flat(&terraform.plan(&[])?.failure()?.output());
    for part in ["\"3 Gbps\" is not a data rate", "`model = { parameters = \"7B\" }`", "`pods = 8`"] {
        ensure!(refused.contains(part), "{part} is not in:\n{refused}");
    }
    Ok(())
}
