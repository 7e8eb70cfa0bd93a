//! What `terraform plan` refuses, and what it must not refuse.

use std::fs;

use anyhow::{Result, ensure};
use warren_acceptance::{AwsStage, build_folder, flat};
use warren_harness::{ProxyConfig, Terraform, workspace_root};

/// Plans `configuration`, which must be refused; the output in one line of words.
fn refused(stage: &AwsStage, configuration: &str) -> Result<String> {
    stage.terraform.write("main.tf", configuration)?;
    Ok(flat(&stage.terraform.plan(&[])?.failure()?.output()))
}

fn says(output: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(output.contains(part), "{part:?} is not in:\n{output}");
    }
    Ok(())
}

fn vpc(name: &str, cidr: &str) -> String {
    format!("resource \"warren_aws_vpc\" \"{name}\" {{\n name = \"{name}\"\n cidr_block = \"{cidr}\"\n}}\n")
}

fn subnet(name: &str, vpc: &str, cidr: &str) -> String {
    format!(
        "resource \"warren_aws_subnet\" \"{name}\" {{\n name = \"{name}\"\n vpc_id = warren_aws_vpc.{vpc}.id\n \
         cidr_block = {cidr}\n}}\n"
    )
}

#[test]
fn two_vpcs_of_one_run() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let output = refused(&stage, &(vpc("one", "10.0.0.0/16") + &vpc("two", "10.0.128.0/17")))?;
    says(&output, &["10.0.0.0/16", "10.0.128.0/17", "one", "two"])?;
    stage.nothing_left()
}

#[test]
fn a_subnet_outside_its_vpc_and_overlapping_subnets() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let outside = vpc("one", "10.0.0.0/16") + &subnet("out", "one", "\"10.1.0.0/24\"");
    says(&refused(&stage, &outside)?, &["10.1.0.0/24", "10.0.0.0/16"])?;
    let siblings = vpc("one", "10.0.0.0/16")
        + &subnet("a", "one", "\"10.0.0.0/23\"")
        + &subnet("b", "one", "\"10.0.1.0/24\"");
    says(&refused(&stage, &siblings)?, &["10.0.0.0/23", "10.0.1.0/24"])?;
    stage.nothing_left()
}

#[test]
fn a_vpc_against_a_live_one() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    // The default VPC of the account lives at 172.31.0.0/16.
    let output = refused(&stage, &vpc("one", "172.31.0.0/20"))?;
    says(&output, &["172.31.0.0/16", "vpc-"])?;
    stage.nothing_left()
}

#[test]
fn another_owners_claim() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let claims = stage.terraform.folder().join("claims.json");
    let block = |owner: &str, region: &str| {
        format!(
            "terraform {{\n required_providers {{\n warren = {{ source = \"warren-net/warren\" }}\n }}\n}}\n\
             variable \"endpoint_url\" {{ type = string }}\nprovider \"warren\" {{\n fabric = \"acceptance\"\n \
             owner = \"{owner}\"\n claims = {claims:?}\n aws = {{ region = \"{region}\", endpoint_url = \
             var.endpoint_url }}\n}}\n"
        )
    };
    stage.terraform.write("provider.tf", &block("first-repo", "us-east-1"))?;
    stage.terraform.write("main.tf", &vpc("one", "10.0.0.0/16"))?;
    stage.terraform.apply(&[])?.success()?;

    // Another repo in another region, where the first one's VPC cannot be seen.
    let state = stage.terraform.folder().join("terraform.tfstate");
    let kept = std::fs::read(&state)?;
    std::fs::remove_file(&state)?;
    stage.terraform.write("provider.tf", &block("second-repo", "eu-west-1"))?;
    let output = refused(&stage, &vpc("two", "10.0.64.0/18"))?;
    says(&output, &["first-repo", "10.0.0.0/16", "10.0.64.0/18"])?;
    // Another state of the same repo.
    stage.terraform.write("provider.tf", &block("first-repo", "eu-west-1"))?;
    let output = refused(&stage, &vpc("two", "10.0.64.0/18"))?;
    says(&output, &["this owner has claimed the range in another location", "us-east-1", "10.0.64.0/18"])?;

    // A move of the VPC, whose claim it leaves, is no such conflict.
    std::fs::write(&state, kept)?;
    stage.terraform.write("provider.tf", &block("first-repo", "us-east-1"))?;
    let moved = vpc("one", "10.0.0.0/16").replace("name =", "region = \"eu-west-1\"\n name =");
    ensure!(moved.contains("region"), "{moved}");
    stage.terraform.write("main.tf", &moved)?;
    let output = flat(&stage.terraform.apply(&[])?.success()?.output());
    ensure!(!output.contains("overlap") && !output.contains("conflict"), "{output}");
    stage.terraform.destroy(&[])?.success()?;
    let left = std::fs::read_to_string(&claims)?;
    ensure!(!left.contains("10.0.0.0/16"), "the claim outlives its VPC: {left}");
    stage.nothing_left()
}

#[test]
fn a_reserved_range() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let plan = "resource \"warren_address_plan\" \"main\" {\n pools = { aws = [\"172.16.0.0/12\"] }\n \
                reserved = { docker = [\"172.17.0.0/16\"] }\n networks = {}\n}\n";
    let vpc = vpc("one", "172.17.0.0/20").replace("}\n", " depends_on = [warren_address_plan.main]\n}\n");
    says(&refused(&stage, &(plan.to_owned() + &vpc))?, &["172.17.0.0/20", "172.17.0.0/16", "docker"])?;
    stage.nothing_left()
}

#[test]
fn host_bits_and_sizes_that_the_cloud_refuses() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    says(&refused(&stage, &vpc("one", "10.0.1.0/16"))?, &["10.0.1.0/16", "10.0.0.0/16"])?;
    says(&refused(&stage, &vpc("one", "10.0.0.0/29"))?, &["/29", "/28"])?;
    says(&refused(&stage, &vpc("one", "10.0.0.0/8"))?, &["/8", "/16"])?;
    stage.nothing_left()
}

#[test]
fn an_unknown_range_raises_no_false_alarm_and_is_checked_when_known() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let configuration = |cidr: &str| {
        format!(
            "resource \"terraform_data\" \"later\" {{\n input = \"{cidr}\"\n}}\n{}{}",
            vpc("one", "10.0.0.0/16"),
            subnet("later", "one", "terraform_data.later.output")
        )
    };
    stage.terraform.write("main.tf", &configuration("10.1.0.0/24"))?;
    stage.terraform.plan(&[])?.success()?;
    let output = flat(&stage.terraform.apply(&[])?.failure()?.output());
    says(&output, &["10.1.0.0/24", "10.0.0.0/16"])?;

    stage.terraform.write("main.tf", &configuration("10.0.7.0/24"))?;
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn an_incomplete_set_of_registry_endpoints() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let configuration = vpc("one", "10.0.0.0/16")
        + &subnet("a", "one", "\"10.0.0.0/24\"")
        + r#"
resource "warren_aws_security_group" "https" {
  name        = "https"
  description = "HTTPS"
  vpc_id      = warren_aws_vpc.one.id
  ingress     = [{ protocol = "tcp", from_port = 443, to_port = 443, cidr_blocks = ["10.0.0.0/16"] }]
}

resource "warren_aws_vpc_endpoint" "dkr" {
  name               = "dkr"
  vpc_id             = warren_aws_vpc.one.id
  service            = "ecr.dkr"
  subnet_ids         = [warren_aws_subnet.a.id]
  security_group_ids = [warren_aws_security_group.https.id]
}
"#;
    says(&refused(&stage, &configuration)?, &["ecr.api", "s3"])?;
    stage.nothing_left()
}

/// The inputs of both modules of gateways, without the modules: what a gateway would refuse when it starts, a plan refuses.
#[test]
fn an_unknown_congestion_control() -> Result<()> {
    let terraform = Terraform::new("warren-net/warren", &build_folder()?)?;
    let inputs = "name = \"gw\"\nfabric = \"lab\"\ngateways = {}\ntoken_keys = []\n";
    let of_aws = "vpc_id = \"vpc-1\"\nvpc_cidr_blocks = []\nimage_id = \"ami-1\"\n";
    let of_google = "network = \"hub\"\nnetwork_cidr_blocks = []\n";
    for (module, own) in [("aws", of_aws), ("google", of_google)] {
        let variables = workspace_root().join("modules/wireguard-gateway").join(module).join("variables.tf");
        terraform.write("main.tf", &fs::read_to_string(variables)?)?;
        terraform.write("terraform.tfvars", &format!("{inputs}{own}"))?;
        let plan = |all: &str, group: &str| {
            let (all, group) =
                (format!("congestion={all}"), format!("groups={{ gpu = {{ congestion = {group} }} }}"));
            terraform.plan(&["-var", &all, "-var", &group])
        };
        plan("cubic", "null")?.success()?;
        plan("bbr", "\"cubic\"")?.success()?;
        for unknown in ["", "reno"] {
            let output = flat(&plan(unknown, "null")?.failure()?.output());
            says(&output, &["The congestion control must be bbr or cubic."])?;
            let output = flat(&plan("bbr", &format!("\"{unknown}\""))?.failure()?.output());
            says(&output, &["The congestion control of a group must be bbr or cubic."])?;
        }
    }
    Ok(())
}

/// The same of direct rules, and what of them is in the file of a gateway.
#[test]
fn a_direct_rule_that_a_gateway_would_refuse() -> Result<()> {
    let terraform = Terraform::new("warren-net/warren", &build_folder()?)?;
    let modules = workspace_root().join("modules/wireguard-gateway");
    let file = format!(
        r#"
output "file" {{
  value = templatefile("{}", {{
    fabric = var.fabric, name = var.name, planned_rate_mbit = null, congestion = null, token_keys = [], retired_token_keys = []
    overlay_cidr_blocks = [], dns = {{ servers = [], zones = [] }}, mtu = null, gateways = [], site = null, tests = []
    groups = var.groups, services = var.services
  }})
}}
"#,
        modules.join("gateway.toml.tftpl").display()
    );
    let inputs = "name = \"gw\"\nfabric = \"lab\"\ngateways = {}\ntoken_keys = []\n";
    let of_aws = "vpc_id = \"vpc-1\"\nvpc_cidr_blocks = []\nimage_id = \"ami-1\"\n";
    let of_google = "network = \"hub\"\nnetwork_cidr_blocks = []\n";
    for (module, own) in [("aws", of_aws), ("google", of_google)] {
        let variables = fs::read_to_string(modules.join(module).join("variables.tf"))?;
        terraform.write("main.tf", &format!("{variables}{file}"))?;
        let services = "services = { s3 = { prefixes = [\"10.0.0.0/24\"] } }\n";
        terraform.write("terraform.tfvars", &format!("{inputs}{own}{services}"))?;
        let plan = |groups: &str| terraform.plan(&["-out=plan", "-var", &format!("groups={groups}")]);
        plan(
            r#"{ a = { allow = [{ to = ["group:a", "group:b"], ports = ["29500"], direct = true }, { services = ["s3"] }] }, b = {} }"#,
        )?
        .success()?;
        let shown = terraform.show(Some("plan"))?;
        let text = shown["planned_values"]["outputs"]["file"]["value"].as_str().unwrap_or_default();
        let rules: Vec<&str> = text.split("[[groups.\"a\".allow]]").skip(1).collect();
        ensure!(rules.len() == 2, "{text}");
        ensure!(
            rules[0].trim() == "to = [\"group:a\",\"group:b\"]\nports = [\"29500\"]\ndirect = true",
            "{text}"
        );
        ensure!(!rules[1].contains("direct"), "{text}");
        let ranges = "A direct rule names only groups of pods in to";
        let rates = "The groups of a direct rule have no rates";
        for (groups, wrong) in [
            (r#"{ a = { allow = [{ to = ["group:a", "10.0.0.0/8"], direct = true }] } }"#, ranges),
            (r#"{ a = { allow = [{ to = ["group:a"], services = ["s3"], direct = true }] } }"#, ranges),
            (r#"{ a = { rate_mbit = 5, allow = [{ to = ["group:a"], direct = true }] } }"#, rates),
            (
                r#"{ a = { allow = [{ to = ["group:b"], direct = true }] }, b = { peer_rate_mbit = 5 } }"#,
                rates,
            ),
        ] {
            says(&flat(&plan(groups)?.failure()?.output()), &[wrong])?;
        }
    }
    Ok(())
}
