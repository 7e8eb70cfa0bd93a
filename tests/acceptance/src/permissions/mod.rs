//! The permissions of the provider: an IAM policy for AWS and roles for Google Cloud, generated from the page files.
//!
//! ```text
//! calls in the code ──┐
//!                     ├─ compared ─ permissions in page files ─> docs/iam ─ compared ─ calls that emulators have recorded
//! dependent actions ──┘
//! ```
//!
//! Every call in the code of a cloud names its operation in `.named(..)`, because that is the only conversion of an SDK's error.

mod code;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use warren_harness::{Call, Service, workspace_root};

pub use self::code::problems;
pub use self::tables::{GOOGLE, IMPLICIT, IN_UPDATES, Implicit};
use crate::registry::Page;

/// The folder of the generated files, relative to the workspace.
pub const FOLDER: &str = "docs/iam";

/// The policy of AWS for networks, gateways, and registries.
pub const AWS_POLICY: &str = "aws-policy.json";

/// The policy of AWS for roles and parameters.
pub const AWS_IDENTITY_POLICY: &str = "aws-identity-policy.json";

/// The services of the second policy.
const IDENTITY: [&str; 2] = ["iam:", "ssm:"];

/// Creates that always send the tags of the provider. `PutParameter` does not when it adds a version.
const TAGGING: [&str; 2] = ["iam:CreateInstanceProfile", "iam:CreateRole"];

/// Changes of what has had the tags of the provider for long. IAM may not know the tags of a new object everywhere, so what a
/// create does next is not among them.
const TAGGED: [&str; 8] = [
    "iam:DeleteInstanceProfile",
    "iam:DeleteRole",
    "iam:DeleteRolePolicy",
    "iam:RemoveRoleFromInstanceProfile",
    "iam:UntagInstanceProfile",
    "iam:UntagRole",
    "ssm:DeleteParameter",
    "ssm:RemoveTagsFromResource",
];

/// The tag of every object of the provider.
const FABRIC: &str = "warren:fabric";

/// The role in a project of Google Cloud.
pub const GOOGLE_ROLE: &str = "google-role.yaml";

/// The role in an organisation of Google Cloud.
pub const GOOGLE_ORGANIZATION_ROLE: &str = "google-organization-role.yaml";

/// Characters of a managed policy without white space ("IAM and AWS STS quotas").
const LONGEST_POLICY: usize = 6144;

/// Longest description of a custom role of Google Cloud.
const LONGEST_DESCRIPTION: usize = 300;

/// Services that the provider passes roles to.
const PASSED_TO: [&str; 2] = ["ec2.amazonaws.com", "vpc-flow-logs.amazonaws.com"];

/// Services that create a role of their own with the first object in an account.
const LINKED: [&str; 2] = ["autoscaling.amazonaws.com", "transitgateway.amazonaws.com"];

/// What the store of claims in a bucket needs, which is granted on that bucket.
const CLAIMS: [&str; 2] = ["s3:GetObject", "s3:PutObject"];

/// Permissions that a role of a project cannot contain, because access policies belong to the organisation.
const OF_ORGANIZATION: &str = "accesscontextmanager.";

/// All permissions, with the types that need them.
#[derive(Debug, Default)]
pub struct Permissions {
    /// Actions of AWS.
    pub aws: BTreeMap<String, BTreeSet<String>>,
    /// Permissions of Google Cloud.
    pub google: BTreeMap<String, BTreeSet<String>>,
}

impl Permissions {
    /// Those in the page files.
    pub fn of(pages: &[Page]) -> Permissions {
        let mut all = Permissions::default();
        for page in pages {
            // Other clouds describe what a key must allow in words.
            for permission in page.permissions.iter().filter(|permission| !permission.contains(' ')) {
                let list = if permission.contains(':') { &mut all.aws } else { &mut all.google };
                list.entry(permission.clone()).or_default().insert(page.name.clone());
            }
        }
        all
    }

    /// The generated files by name.
    ///
    /// # Errors
    /// One of them is larger than the cloud accepts.
    pub fn files(&self) -> Result<BTreeMap<&'static str, String>> {
        let (organization, project): (Vec<&str>, Vec<&str>) = self
            .google
            .keys()
            .map(String::as_str)
            .partition(|permission| permission.starts_with(OF_ORGANIZATION));
        Ok(BTreeMap::from([
            (AWS_POLICY, self.policy(false)?),
            (AWS_IDENTITY_POLICY, self.policy(true)?),
            (
                GOOGLE_ROLE,
                role("Warren", "networks, DNS, gateways, keys and registries of a fabric", &project)?,
            ),
            (
                GOOGLE_ORGANIZATION_ROLE,
                role(
                    "Warren service perimeters",
                    "service perimeters of VPC Service Controls",
                    &organization,
                )?,
            ),
        ]))
    }

    /// The policy for roles and parameters, or the one for everything else.
    fn policy(&self, identity: bool) -> Result<String> {
        let conditional = ["iam:PassRole", "iam:CreateServiceLinkedRole"];
        let ours = |action: &str| IDENTITY.iter().any(|service| action.starts_with(service)) == identity;
        let plain = self.aws.keys().map(String::as_str).filter(|action| ours(action));
        let plain = plain.filter(|action| !conditional.contains(action));
        let (read, change): (Vec<&str>, Vec<&str>) = plain.partition(|action| is_read(action));
        let (by_tag, change): (Vec<&str>, Vec<&str>) =
            change.into_iter().partition(|action| TAGGING.contains(action) || TAGGED.contains(action));
        let allow = |sid: &str, actions: Value| json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": "*"});
        let mut statements = vec![allow("Read", json!(read)), allow("Change", json!(change))];
        for (sid, context, actions) in
            [("Create", "RequestTag", &TAGGING[..]), ("ChangeTagged", "ResourceTag", &TAGGED[..])]
        {
            let actions: Vec<&&str> = by_tag.iter().filter(|action| actions.contains(action)).collect();
            if !actions.is_empty() {
                let mut statement = allow(sid, json!(actions));
                statement["Condition"] = json!({"Null": {format!("aws:{context}/{FABRIC}"): "false"}});
                statements.push(statement);
            }
        }
        let conditions = [
            ("PassRole", "iam:PassedToService", &PASSED_TO[..]),
            ("CreateServiceLinkedRole", "iam:AWSServiceName", &LINKED[..]),
        ];
        for (action, (sid, key, services)) in conditional.into_iter().zip(conditions) {
            if identity && self.aws.contains_key(action) {
                let mut statement = allow(sid, json!(action));
                statement["Condition"] = json!({"StringEquals": {key: services}});
                statements.push(statement);
            }
        }
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        let size = policy.to_string().chars().filter(|character| !character.is_whitespace()).count();
        ensure!(size <= LONGEST_POLICY, "the policy has {size} characters, but IAM accepts {LONGEST_POLICY}");
        Ok(serde_json::to_string_pretty(&policy)? + "\n")
    }
}

/// A file for `gcloud iam roles create --file`.
fn role(title: &str, what: &str, permissions: &[&str]) -> Result<String> {
    let description =
        format!("For the Terraform provider Warren: {what}. Generated from the calls of the provider.");
    ensure!(description.len() <= LONGEST_DESCRIPTION, "the description of {title} is too long");
    let list: String = permissions.iter().map(|permission| format!("  - {permission}\n")).collect();
    Ok(format!("title: {title}\ndescription: \"{description}\"\nstage: GA\nincludedPermissions:\n{list}"))
}

fn is_read(action: &str) -> bool {
    let name = action.split_once(':').map_or(action, |(_, name)| name);
    ["Describe", "Get", "List", "Search"].iter().any(|verb| name.starts_with(verb))
}

/// What the generated files allow.
#[derive(Debug)]
pub struct Allowed(BTreeSet<String>);

impl Allowed {
    /// Reads the files in the repository.
    ///
    /// # Errors
    /// A file is missing, or is not what IAM accepts.
    pub fn read() -> Result<Allowed> {
        let folder = workspace_root().join(FOLDER);
        let text = |name: &str| {
            let file = folder.join(name);
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
        };
        let mut allowed = BTreeSet::from(CLAIMS.map(str::to_owned));
        for name in [AWS_POLICY, AWS_IDENTITY_POLICY] {
            let policy: Value = serde_json::from_str(&text(name)?)?;
            for statement in policy["Statement"].as_array().context("a policy has statements")? {
                let actions = match &statement["Action"] {
                    Value::Array(actions) => actions.clone(),
                    one => vec![one.clone()],
                };
                allowed.extend(actions.iter().filter_map(Value::as_str).map(str::to_owned));
            }
        }
        for name in [GOOGLE_ROLE, GOOGLE_ORGANIZATION_ROLE] {
            let text = text(name)?;
            allowed.extend(text.lines().filter_map(|line| line.strip_prefix("  - ")).map(str::to_owned));
        }
        Ok(Allowed(allowed))
    }

    /// Whether a permission is among them.
    pub fn contains(&self, permission: &str) -> bool {
        self.0.contains(permission)
    }

    /// Checks that each of these calls would be allowed.
    ///
    /// # Errors
    /// Names the calls that would be denied, with the permission that is missing.
    pub fn permits(&self, calls: &[Call]) -> Result<()> {
        let mut denied = BTreeSet::new();
        for call in calls {
            let needed: Vec<String> = match call.service {
                Service::RunPod => Vec::new(),
                Service::Google if call.action == "metadata" => Vec::new(),
                Service::Google => of_method(&call.action).0.into_iter().map(str::to_owned).collect(),
                service => vec![action(service, &call.action)],
            };
            let missing = needed.into_iter().filter(|permission| !self.contains(permission));
            denied.extend(missing.map(|permission| format!("{} needs {permission}", call.action)));
        }
        let denied: Vec<String> = denied.into_iter().collect();
        ensure!(denied.is_empty(), "{FOLDER} does not allow:\n{}", denied.join("\n"));
        Ok(())
    }
}

/// `ec2:CreateSubnet`.
pub fn action(service: Service, action: &str) -> String {
    let service = match service {
        Service::AutoScaling => "autoscaling",
        Service::Ec2 => "ec2",
        Service::Ecr => "ecr",
        Service::Sts => "sts",
        Service::S3 => "s3",
        Service::Iam => "iam",
        Service::Ssm => "ssm",
        Service::Logs => "logs",
        Service::Route53 => "route53",
        Service::Route53Resolver => "route53resolver",
        _ => "other",
    };
    format!("{service}:{action}")
}

/// The permissions that a method needs: always, and depending on its arguments.
pub fn of_method(method: &str) -> (Vec<&str>, Vec<&'static str>) {
    match GOOGLE.iter().find(|(name, ..)| *name == method) {
        Some((_, always, sometimes)) => (always.to_vec(), sometimes.to_vec()),
        None => (vec![method], Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::pages;

    #[test]
    fn the_files_are_generated_and_allow_what_the_code_calls() -> Result<()> {
        let pages = pages()?;
        let permissions = Permissions::of(&pages);
        for (name, text) in permissions.files()? {
            let file = workspace_root().join(FOLDER).join(name);
            let stored = std::fs::read_to_string(&file).unwrap_or_default();
            ensure!(stored == text, "{FOLDER}/{name} is out of date; run `cargo xtask docs`");
        }
        let problems = problems(&permissions)?;
        ensure!(problems.is_empty(), "{}", problems.join("\n"));
        Ok(())
    }

    #[test]
    fn roles_of_others_cannot_be_deleted() -> Result<()> {
        let files = Permissions::of(&pages()?).files()?;
        let policy = |name: &str| -> Result<Vec<Value>> {
            let policy: Value = serde_json::from_str(&files[name])?;
            Ok(policy["Statement"].as_array().context("statements")?.clone())
        };
        let identity = policy(AWS_IDENTITY_POLICY)?;
        let of = |action: &str| {
            let mut all =
                identity.iter().filter(|statement| statement["Action"].to_string().contains(action));
            let condition = all.next().map(|statement| statement["Condition"].to_string());
            condition.filter(|_| all.next().is_none()).unwrap_or_default()
        };
        for action in TAGGED {
            ensure!(of(&format!("\"{action}\"")).contains("aws:ResourceTag/warren:fabric"), "{action}");
        }
        for action in TAGGING {
            ensure!(of(&format!("\"{action}\"")).contains("aws:RequestTag/warren:fabric"), "{action}");
        }
        ensure!(of("iam:PassRole").contains("iam:PassedToService"));
        ensure!(!serde_json::to_string(&policy(AWS_POLICY)?)?.contains("iam:"));
        Ok(())
    }

    #[test]
    fn a_call_that_is_not_allowed_is_named() -> Result<()> {
        let allowed =
            Allowed(BTreeSet::from(["ec2:DescribeVpcs".to_owned(), "compute.routers.get".to_owned()]));
        let call = |service, action: &str| Call {
            sequence: 1,
            service,
            action: action.to_owned(),
            params: Default::default(),
            status: None,
            error: None,
            forwarded: true,
        };
        allowed.permits(&[
            call(Service::Ec2, "DescribeVpcs"),
            call(Service::Google, "compute.routers.getRouterStatus"),
            call(Service::RunPod, "createPod"),
        ])?;
        let calls = [call(Service::Ec2, "CreateVpc"), call(Service::Google, "compute.firewalls.insert")];
        let said = allowed.permits(&calls).err().context("denied")?.to_string();
        for missing in [
            "CreateVpc needs ec2:CreateVpc",
            "compute.firewalls.insert needs compute.firewalls.create",
            "compute.firewalls.insert needs compute.networks.updatePolicy",
        ] {
            ensure!(said.contains(missing), "{said}");
        }
        Ok(())
    }

    #[test]
    fn a_policy_that_is_too_long_is_refused() {
        let mut permissions = Permissions::default();
        for number in 0..400 {
            permissions.aws.insert(format!("ec2:DescribeSomething{number}"), BTreeSet::new());
        }
        assert!(permissions.files().is_err());
    }
}
