//! Provider configurations of one run, each in a process of its own, with real Terraform: what they plan together is
//! compared across regions, accounts, projects and clouds.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use ipnet::Ipv4Net;
use warren_acceptance::{AllStage, build_folder, flat};
use warren_harness::{GoogleConfig, ProxyConfig, RunPodConfig, Terraform};

/// Plans of random configurations, unless [`ROUNDS_VARIABLE`] says how many.
const ROUNDS: u64 = 10;

/// For a longer run: `WARREN_LEDGER_ROUNDS=1000`.
const ROUNDS_VARIABLE: &str = "WARREN_LEDGER_ROUNDS";

fn rounds() -> Result<u64> {
    match std::env::var(ROUNDS_VARIABLE) {
        Ok(rounds) => rounds.parse().with_context(|| format!("{ROUNDS_VARIABLE}={rounds}")),
        Err(_) => Ok(ROUNDS),
    }
}

/// The account, region or project of a provider configuration, as it is written and as it is reported.
const LOCATIONS: [(&str, &str); 8] = [
    ("aws-us-east-1", "AWS account 123456789012, us-east-1"),
    ("aws-eu-west-1", "AWS account 123456789012, eu-west-1"),
    ("aws-us-east-1-other", "AWS account 222222222222, us-east-1"),
    ("aws-eu-west-1-other", "AWS account 222222222222, eu-west-1"),
    ("gcp-us-central1", "Google Cloud project acme-ml, us-central1"),
    ("gcp-europe-west4", "Google Cloud project acme-ml, europe-west4"),
    ("gcp-us-central1-other", "Google Cloud project acme-data, us-central1"),
    ("gcp-europe-west4-other", "Google Cloud project acme-data, europe-west4"),
];

/// A network of a provider configuration.
#[derive(Clone, Debug)]
struct Network {
    location: usize,
    name: String,
    range: Ipv4Net,
}

impl Network {
    fn new(location: usize, name: &str, range: &str) -> Result<Network> {
        Ok(Network { location, name: name.to_owned(), range: range.parse()? })
    }
}

fn stage() -> Result<AllStage> {
    let google = GoogleConfig {
        projects: vec!["acme-ml".to_owned(), "acme-data".to_owned()],
        regions: vec!["us-central1".to_owned(), "europe-west4".to_owned()],
        ..GoogleConfig::default()
    };
    AllStage::empty((ProxyConfig::default(), google, RunPodConfig::default()))
}

/// A provider configuration for each location, and the networks. Terraform starts those that are used.
fn write(stage: &AllStage, networks: &[Network]) -> Result<()> {
    let mut text =
        "terraform {\n required_providers {\n warren = { source = \"warren-net/warren\" }\n }\n}\n\
                    variable \"endpoint_url\" {}\nvariable \"gcp_endpoint_url\" {}\n"
            .to_owned();
    for (location, (alias, _)) in LOCATIONS.iter().enumerate() {
        let (cloud, rest) = alias.split_once('-').context("a cloud")?;
        let (region, other) = rest.strip_suffix("-other").map_or((rest, false), |region| (region, true));
        let account = match (cloud, other) {
            ("aws", true) => ", assume_role = { role_arn = \"arn:aws:iam::222222222222:role/other\" }",
            ("aws", false) => "",
            (_, true) => ", project = \"acme-data\"",
            (_, false) => ", project = \"acme-ml\"",
        };
        let endpoint = if cloud == "aws" { "var.endpoint_url" } else { "var.gcp_endpoint_url" };
        writeln!(
            text,
            "provider \"warren\" {{\n alias = \"{alias}\"\n fabric = \"acceptance\"\n owner = \"tests\"\n \
             {cloud} = {{ region = \"{region}\", endpoint_url = {endpoint}{account} }}\n}}"
        )?;
        if cloud == "gcp" && networks.iter().any(|network| network.location == location) {
            writeln!(
                text,
                "resource \"warren_gcp_network\" \"{alias}\" {{\n provider = warren.{alias}\n name = \
                 \"{alias}\"\n}}"
            )?;
        }
    }
    for (number, Network { location, name, range }) in networks.iter().enumerate() {
        let (alias, _) = LOCATIONS[*location];
        if alias.starts_with("aws") {
            writeln!(
                text,
                "resource \"warren_aws_vpc\" \"n{number}\" {{\n provider = warren.{alias}\n name = \"{name}\"\n \
                 cidr_block = \"{range}\"\n}}"
            )?;
        } else {
            writeln!(
                text,
                "resource \"warren_gcp_subnetwork\" \"n{number}\" {{\n provider = warren.{alias}\n name = \
                 \"{name}\"\n network = warren_gcp_network.{alias}.id\n ip_cidr_range = \"{range}\"\n}}"
            )?;
        }
    }
    stage.terraform.write("main.tf", &text)
}

/// Whether each overlap, and nothing else, is in the output of a plan.
fn judge(networks: &[Network], code: i32, output: &str) -> Result<usize> {
    let mut overlaps = 0;
    for (position, a) in networks.iter().enumerate() {
        for b in &networks[..position] {
            if !(a.range.contains(&b.range) || b.range.contains(&a.range)) {
                continue;
            }
            overlaps += 1;
            let both = [a, b].iter().all(|network| {
                output.contains(&format!("{} of ", network.range))
                    && output.contains(&format!("{:?}", network.name))
                    && (a.location == b.location || output.contains(LOCATIONS[network.location].1))
            });
            ensure!(both, "not reported: {a:?} and {b:?}\n{output}");
        }
    }
    ensure!(code == i32::from(overlaps > 0), "{overlaps} overlaps, code {code}:\n{networks:#?}\n{output}");
    ensure!(output.contains("ddress conflict") == (overlaps > 0), "{output}");
    Ok(overlaps)
}

#[test]
fn every_overlap_of_random_provider_configurations_is_refused_by_the_plan() -> Result<()> {
    let stage = stage()?;
    let mut state = 18_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % limit
    };
    let (mut refused, mut pairs) = (0, 0);
    let rounds = rounds()?;
    for round in 0..rounds {
        let number = 2 + below(4);
        let locations: Vec<usize> = (0..number).map(|_| below(LOCATIONS.len())).collect();
        // Every other round has room for all.
        let blocks = if round % 2 == 0 { 8 } else { 250 };
        let networks = (0..number + 2)
            .map(|position| {
                let range = format!("10.{}.{}.0/{}", below(blocks), 16 * below(16), 16 + below(5));
                let location = locations[position % number];
                // The first networks have the same name in each location.
                let repeated = position < number && !locations[..position].contains(&location);
                let name = if repeated { "hub".to_owned() } else { format!("net-{position}") };
                Ok(Network { location, name, range: range.parse::<Ipv4Net>()?.trunc() })
            })
            .collect::<Result<Vec<_>>>()?;
        write(&stage, &networks)?;
        let parallelism = [1, 10, 256][below(3)];
        let plan = stage.terraform.plan(&[&format!("-parallelism={parallelism}")])?;
        let overlaps = judge(&networks, plan.code, &flat(&plan.output()))
            .with_context(|| format!("round {round}, parallelism {parallelism}"))?;
        refused += u64::from(overlaps > 0);
        pairs += networks.len() * (networks.len() - 1) / 2;
    }
    ensure!((1..rounds).contains(&refused), "{refused} of {rounds} plans were refused");
    println!("{refused} of {rounds} plans were refused; {pairs} pairs of networks were compared");
    Ok(())
}

/// One run after the other: apply, refresh, move a range to another configuration, exchange ranges, destroy.
#[test]
fn networks_that_move_between_provider_configurations_raise_no_false_alarm() -> Result<()> {
    let stage = stage()?;
    let run = |networks: &[Network]| -> Result<()> {
        write(&stage, networks)?;
        stage.terraform.apply(&[])?.success()?;
        let again = stage.terraform.plan(&["-detailed-exitcode"])?;
        ensure!(again.code == 0, "{}", again.output());
        Ok(())
    };
    let (a, b) = ("10.0.0.0/16", "10.1.0.0/16");
    run(&[Network::new(0, "hub", a)?, Network::new(1, "hub", b)?, Network::new(4, "hub", "10.2.0.0/16")?])?;
    // The ranges are exchanged, and a third configuration gets the one of a network that is destroyed.
    run(&[Network::new(0, "hub", b)?, Network::new(1, "hub", a)?, Network::new(2, "hub", "10.2.0.0/16")?])?;
    // An overlap of an existing network with a new one is refused, and nothing has changed.
    let overlap =
        [Network::new(0, "hub", b)?, Network::new(1, "hub", a)?, Network::new(5, "lab", "10.0.64.0/20")?];
    write(&stage, &overlap)?;
    let refused = stage.terraform.apply(&[])?;
    judge(&overlap, refused.code, &flat(&refused.output()))?;
    let [one, two, _] = overlap;
    run(&[one, two])?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// Two address plans in two provider configurations, whose ranges are variables.
fn address_plans() -> String {
    let plan = |name: &str, range: &str| {
        format!(
            "provider \"warren\" {{\n alias = \"{name}\"\n fabric = \"f\"\n owner = \"o\"\n}}\n\
             resource \"warren_address_plan\" \"{name}\" {{\n provider = warren.{name}\n name = \"{name}-${{var.name}}\"\n \
             pools = {{ p = [\"10.0.0.0/8\"] }}\n networks = {{ n = {{ cidr = {range} }} }}\n}}\n"
        )
    };
    let head = "terraform {\n required_providers {\n warren = { source = \"warren-net/warren\" }\n }\n}\n\
                variable \"name\" { default = \"a\" }\nvariable \"range\" { default = \"10.1.0.0/16\" }\n";
    [head, &plan("one", "\"10.0.0.0/16\""), &plan("two", "var.range")].concat()
}

const RESERVED_TWICE: &str = "must not reserve the same addresses";

/// The runs of `terraform test` have one parent. What an earlier one has planned does not count, what another provider
/// configuration of the same one has planned does.
#[test]
fn the_runs_of_a_terraform_test_are_compared_each_for_itself() -> Result<()> {
    let terraform = Terraform::new("warren-net/warren", &build_folder()?)?;
    terraform.write("main.tf", &address_plans())?;
    let runs = "run \"plan\" {\n command = plan\n}\n\
                run \"another_name\" {\n command = plan\n variables {\n name = \"b\"\n }\n}\n\
                run \"apply\" {\n variables {\n name = \"c\"\n }\n}\n\
                run \"apply_again\" {\n variables {\n name = \"d\"\n }\n}\n";
    terraform.write("tests/runs.tftest.hcl", runs)?;
    terraform.run(&["test", "-no-color"])?.success()?;
    let overlap = "run \"overlap\" {\n command = plan\n variables {\n range = \"10.0.0.0/17\"\n }\n}\n";
    terraform.write("tests/runs.tftest.hcl", overlap)?;
    let output = flat(&terraform.run(&["test", "-no-color"])?.failure()?.output());
    ensure!(output.contains(RESERVED_TWICE), "{output}");
    Ok(())
}

/// The providers of a run are found by the process that started them: its program may have another name, as OpenTofu's
/// has, and a shell may have started it. Two runs of one shell are two runs.
#[test]
fn the_program_has_any_name_and_any_parent() -> Result<()> {
    let mut terraform = Terraform::new("warren-net/warren", &build_folder()?)?;
    terraform.write("main.tf", &address_plans())?;
    let tofu = terraform.home().join("tofu");
    std::fs::copy(terraform.program(), &tofu)?;
    let script = |name: &str, text: &str| -> Result<PathBuf> {
        let path = terraform.home().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{}\n", text.replace("tofu", &format!("{tofu:?}"))))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    let child = script("child", "tofu \"$@\"\nexit $?")?;
    let twice = script("twice", "tofu \"$@\" -var name=a && tofu \"$@\" -var name=b")?;
    for program in [&tofu, &child, &twice] {
        terraform.run_through(program);
        for parallelism in ["-parallelism=1", "-parallelism=256"] {
            let context = || format!("{} {parallelism}", program.display());
            let plan = |range: &str| terraform.plan(&[parallelism, "-var", range]);
            let output = flat(&plan("range=10.0.0.0/17")?.failure().with_context(context)?.output());
            ensure!(output.contains(RESERVED_TWICE), "{}:\n{output}", context());
            let output = flat(&plan("range=10.1.0.0/16")?.success().with_context(context)?.output());
            ensure!(!output.contains("not compared with each other"), "{}:\n{output}", context());
        }
    }
    Ok(())
}
