//! Whether the permissions that the page files list are those that the calls need.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use warren_acceptance::emulated_clouds::EmulatedClouds;
use warren_acceptance::registry::{Example, Page, PageKind};
use warren_harness::{Service, workspace_root};

/// The calls of an example.
pub(crate) struct Recorded {
    /// Actions of AWS.
    pub(crate) aws: BTreeSet<(Service, String)>,
    /// Methods of Google Cloud.
    pub(crate) google: BTreeSet<String>,
}

impl Recorded {
    /// The calls since the clouds were emptied.
    pub(crate) fn of(clouds: &EmulatedClouds) -> Recorded {
        let aws = clouds.aws().into_iter().flat_map(|aws| aws.proxy().calls());
        let google = clouds.google().into_iter().flat_map(|google| google.front().calls());
        Recorded {
            aws: aws.map(|call| (call.service, call.action)).collect(),
            google: google.map(|call| call.action).collect(),
        }
    }
}

/// Permissions that a cloud checks in another call than the one they are named after, without a call, or in updates only.
const IMPLICIT: &[(&str, &str)] = &[
    ("ec2:CreateTags", "checked when a create call carries tags"),
    ("ec2:RunInstances", "checked when an Auto Scaling group gets a launch template"),
    ("iam:PassRole", "checked when an instance gets an instance profile"),
    ("iam:TagInstanceProfile", "checked when a create call carries tags"),
    ("iam:TagRole", "checked when a create call carries tags"),
    ("iam:CreateServiceLinkedRole", "checked when the first object of a service is created in an account"),
    ("ecr:TagResource", "checked when a create call carries tags"),
    ("ssm:AddTagsToResource", "checked when a create call carries tags"),
    ("logs:CreateLogDelivery", "checked when a flow log is created"),
    ("logs:DeleteLogDelivery", "checked when a flow log is deleted"),
    ("route53:AssociateVPCWithHostedZone", "checked when an endpoint with private DNS is created"),
    ("ec2:DescribeVpcs", "checked when a VPC is associated with a zone or a resolver rule"),
    ("ec2:CreateNetworkInterface", "checked when a resolver endpoint is created"),
    ("ec2:DeleteNetworkInterface", "checked when a resolver endpoint is deleted"),
    ("ec2:DescribeNetworkInterfaces", "checked when a resolver endpoint is created"),
    ("ec2:DescribeSecurityGroups", "checked when a resolver endpoint is created"),
    ("ec2:DescribeSubnets", "checked when a resolver endpoint is created"),
    ("route53resolver:TagResource", "checked when a create call carries tags"),
    ("dns.managedZoneOperations.get", "checked when an update waits for the operation of its zone"),
];

/// What each method of Google's APIs needs: always, and depending on its arguments.
///
/// From the reference of the methods: <https://cloud.google.com/compute/docs/reference/rest/v1> and those of Secret Manager,
/// Artifact Registry, IAM, and Access Context Manager. Methods that are not here need the permission with their own name.
const GOOGLE: &[(&str, &[&str], &[&str])] = &[
    ("compute.addresses.aggregatedList", &["compute.addresses.list"], &[]),
    (
        "compute.addresses.insert",
        &["compute.addresses.create"],
        &["compute.addresses.setLabels", "compute.subnetworks.use"],
    ),
    // Internal addresses: those of endpoints of Private Service Connect.
    (
        "compute.globalAddresses.insert",
        &["compute.globalAddresses.createInternal"],
        &["compute.globalAddresses.create", "compute.globalAddresses.setLabels", "compute.networks.use"],
    ),
    (
        "compute.globalAddresses.delete",
        &["compute.globalAddresses.deleteInternal"],
        &["compute.globalAddresses.delete", "compute.networks.use"],
    ),
    ("compute.firewalls.insert", &["compute.firewalls.create", "compute.networks.updatePolicy"], &[]),
    ("compute.firewalls.patch", &["compute.firewalls.update", "compute.networks.updatePolicy"], &[]),
    ("compute.firewalls.delete", &["compute.firewalls.delete", "compute.networks.updatePolicy"], &[]),
    (
        "compute.globalForwardingRules.insert",
        &["compute.globalForwardingRules.create"],
        &[
            "compute.globalAddresses.use",
            "compute.globalForwardingRules.pscCreate",
            "compute.globalForwardingRules.setLabels",
            "compute.networks.use",
            "dns.managedZones.create",
            "servicedirectory.namespaces.associatePrivateZone",
            "servicedirectory.namespaces.create",
            "servicedirectory.services.create",
        ],
    ),
    (
        "compute.globalForwardingRules.delete",
        &["compute.globalForwardingRules.delete"],
        &[
            "compute.globalForwardingRules.pscDelete",
            "dns.managedZones.delete",
            "servicedirectory.namespaces.delete",
        ],
    ),
    (
        "compute.globalForwardingRules.patch",
        &["compute.globalForwardingRules.update"],
        &["compute.globalForwardingRules.pscUpdate"],
    ),
    ("compute.globalOperations.wait", &["compute.globalOperations.get"], &[]),
    ("compute.regionOperations.wait", &["compute.regionOperations.get"], &[]),
    ("compute.zoneOperations.wait", &["compute.zoneOperations.get"], &[]),
    ("compute.instances.aggregatedList", &["compute.instances.list"], &[]),
    (
        "compute.instances.insert",
        &["compute.instances.create"],
        &[
            "compute.addresses.use",
            "compute.disks.create",
            "compute.images.useReadOnly",
            "compute.instances.setLabels",
            "compute.instances.setMetadata",
            "compute.instances.setServiceAccount",
            "compute.instances.setTags",
            "compute.subnetworks.use",
            "compute.subnetworks.useExternalIp",
            "iam.serviceAccounts.actAs",
        ],
    ),
    ("compute.instances.delete", &["compute.instances.delete"], &["compute.disks.delete"]),
    ("compute.networks.insert", &["compute.networks.create"], &[]),
    ("compute.networks.patch", &["compute.networks.update"], &[]),
    ("compute.networks.addPeering", &["compute.networks.addPeering"], &["compute.networks.use"]),
    ("compute.routers.aggregatedList", &["compute.routers.list"], &[]),
    (
        "compute.routers.insert",
        &["compute.routers.create"],
        &["compute.networks.updatePolicy", "compute.addresses.use"],
    ),
    (
        "compute.routers.patch",
        &["compute.routers.update"],
        &["compute.networks.updatePolicy", "compute.addresses.use"],
    ),
    ("compute.routers.delete", &["compute.routers.delete"], &["compute.networks.updatePolicy"]),
    (
        "compute.routes.insert",
        &["compute.routes.create", "compute.networks.updatePolicy"],
        &["compute.instances.use"],
    ),
    ("compute.routes.delete", &["compute.routes.delete", "compute.networks.updatePolicy"], &[]),
    ("compute.subnetworks.aggregatedList", &["compute.subnetworks.list"], &[]),
    ("compute.subnetworks.insert", &["compute.subnetworks.create", "compute.networks.updatePolicy"], &[]),
    ("compute.subnetworks.patch", &["compute.subnetworks.update"], &["compute.networks.updatePolicy"]),
    ("compute.subnetworks.delete", &["compute.subnetworks.delete"], &["compute.networks.updatePolicy"]),
    (
        "artifactregistry.projects.locations.repositories.create",
        &["artifactregistry.repositories.create"],
        &[],
    ),
    (
        "artifactregistry.projects.locations.repositories.delete",
        &["artifactregistry.repositories.delete"],
        &[],
    ),
    ("artifactregistry.projects.locations.repositories.get", &["artifactregistry.repositories.get"], &[]),
    ("artifactregistry.projects.locations.repositories.list", &["artifactregistry.repositories.list"], &[]),
    (
        "artifactregistry.projects.locations.repositories.patch",
        &["artifactregistry.repositories.update"],
        &[],
    ),
    (
        "artifactregistry.projects.locations.repositories.getIamPolicy",
        &["artifactregistry.repositories.getIamPolicy"],
        &[],
    ),
    (
        "artifactregistry.projects.locations.repositories.setIamPolicy",
        &["artifactregistry.repositories.setIamPolicy"],
        &[],
    ),
    // Whoever starts an operation may read it.
    ("artifactregistry.projects.locations.operations.get", &[], &[]),
    ("accesscontextmanager.operations.get", &[], &[]),
    (
        "accesscontextmanager.accessPolicies.servicePerimeters.create",
        &["accesscontextmanager.servicePerimeters.create"],
        &["accesscontextmanager.accessLevels.list", "resourcemanager.projects.get"],
    ),
    (
        "accesscontextmanager.accessPolicies.servicePerimeters.delete",
        &["accesscontextmanager.servicePerimeters.delete"],
        &[],
    ),
    (
        "accesscontextmanager.accessPolicies.servicePerimeters.get",
        &["accesscontextmanager.servicePerimeters.get"],
        &[],
    ),
    (
        "accesscontextmanager.accessPolicies.servicePerimeters.list",
        &["accesscontextmanager.servicePerimeters.list"],
        &[],
    ),
    (
        "accesscontextmanager.accessPolicies.servicePerimeters.patch",
        &["accesscontextmanager.servicePerimeters.update"],
        &[],
    ),
    (
        "dns.managedZones.create",
        &["dns.managedZones.create"],
        &["dns.networks.bindPrivateDNSZone", "dns.networks.targetWithPeeringZone"],
    ),
    (
        "dns.managedZones.update",
        &["dns.managedZones.update"],
        &["dns.networks.bindPrivateDNSZone", "dns.networks.targetWithPeeringZone"],
    ),
    ("dns.resourceRecordSets.create", &["dns.resourceRecordSets.create"], &["dns.changes.create"]),
    ("dns.resourceRecordSets.patch", &["dns.resourceRecordSets.update"], &["dns.changes.create"]),
    ("dns.resourceRecordSets.delete", &["dns.resourceRecordSets.delete"], &["dns.changes.create"]),
    ("iam.projects.serviceAccounts.create", &["iam.serviceAccounts.create"], &[]),
    ("iam.projects.serviceAccounts.delete", &["iam.serviceAccounts.delete"], &[]),
    ("iam.projects.serviceAccounts.get", &["iam.serviceAccounts.get"], &[]),
    ("iam.projects.serviceAccounts.list", &["iam.serviceAccounts.list"], &[]),
    ("iam.projects.serviceAccounts.patch", &["iam.serviceAccounts.update"], &[]),
    ("secretmanager.projects.secrets.addVersion", &["secretmanager.versions.add"], &[]),
    ("secretmanager.projects.secrets.create", &["secretmanager.secrets.create"], &[]),
    ("secretmanager.projects.secrets.delete", &["secretmanager.secrets.delete"], &[]),
    ("secretmanager.projects.secrets.get", &["secretmanager.secrets.get"], &[]),
    ("secretmanager.projects.secrets.list", &["secretmanager.secrets.list"], &[]),
    ("secretmanager.projects.secrets.patch", &["secretmanager.secrets.update"], &[]),
    ("secretmanager.projects.secrets.getIamPolicy", &["secretmanager.secrets.getIamPolicy"], &[]),
    ("secretmanager.projects.secrets.setIamPolicy", &["secretmanager.secrets.setIamPolicy"], &[]),
    ("secretmanager.projects.secrets.versions.access", &["secretmanager.versions.access"], &[]),
    ("secretmanager.projects.secrets.versions.destroy", &["secretmanager.versions.destroy"], &[]),
    ("secretmanager.projects.secrets.versions.disable", &["secretmanager.versions.disable"], &[]),
    ("secretmanager.projects.secrets.versions.get", &["secretmanager.versions.get"], &[]),
    ("secretmanager.projects.secrets.versions.list", &["secretmanager.versions.list"], &[]),
];

/// `ec2:CreateSubnet`.
fn action(service: Service, action: &str) -> String {
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
fn of_method(method: &str) -> (Vec<&str>, Vec<&'static str>) {
    match GOOGLE.iter().find(|(name, ..)| *name == method) {
        Some((_, always, sometimes)) => (always.to_vec(), sometimes.to_vec()),
        None => (vec![method], Vec::new()),
    }
}

/// The calls of an example that need a permission which no page of the types in it lists.
pub(crate) fn unlisted(example: &Example, calls: &Recorded, pages: &[Page]) -> Result<Vec<String>> {
    let types = example.types();
    let own = |page: &&Page| types.contains(&(page.kind, page.name.clone()));
    let used: Vec<&Page> = pages.iter().filter(|page| own(page) || page.kind == PageKind::Provider).collect();
    let listed: BTreeSet<&str> =
        used.iter().flat_map(|page| page.permissions.iter().map(String::as_str)).collect();
    let page = pages.iter().find(|page| page.kind == example.kind && page.name == example.of);
    let page = page.with_context(|| format!("{} has no page file", example.of))?;
    let mut needed = BTreeSet::new();
    for (service, name) in &calls.aws {
        needed.insert((action(*service, name), name.clone()));
    }
    for method in &calls.google {
        needed.extend(
            of_method(method).0.into_iter().map(|permission| (permission.to_owned(), method.clone())),
        );
    }
    let missing = needed.into_iter().filter(|(permission, _)| !listed.contains(permission.as_str()));
    let describe = |(permission, call): (String, String)| {
        let others = used.iter().filter(|other| other.file != page.file && other.kind != PageKind::Provider);
        let others: Vec<String> = others.map(|page| page.file.display().to_string()).collect();
        format!(
            "{}: the call {call} needs {permission}, which {} does not list{}",
            example.file.display(),
            page.file.display(),
            if others.is_empty() { String::new() } else { format!("; nor does {}", others.join(", ")) }
        )
    };
    Ok(missing.map(describe).collect())
}

/// The permissions that a page lists and that nothing explains: no call of an example with the type, no code, no rule.
pub(crate) fn unexplained(recorded: &[(Example, Recorded)], pages: &[Page]) -> Result<Vec<String>> {
    let mut unexplained = Vec::new();
    for page in pages {
        let uses: Vec<&Recorded> = recorded
            .iter()
            .filter(|(example, _)| example.types().contains(&(page.kind, page.name.clone())))
            .map(|(_, calls)| calls)
            .collect();
        if uses.is_empty() || page.permissions.is_empty() {
            continue;
        }
        let aws: BTreeSet<String> =
            uses.iter().flat_map(|calls| &calls.aws).map(|(service, name)| action(*service, name)).collect();
        let google = google_permissions(uses.iter().flat_map(|calls| &calls.google));
        let source = if page.short().starts_with("aws_") { source(&page.file)? } else { String::new() };
        for permission in &page.permissions {
            let explained = permission.contains(' ')
                || aws.contains(permission)
                || google.contains(permission.as_str())
                || IMPLICIT.iter().any(|(implicit, _)| implicit == permission)
                || is_called(permission, &source);
            if !explained {
                unexplained.push(format!(
                    "{}: nothing explains {permission}: no example of {} calls it, and neither does the code",
                    page.file.display(),
                    page.name
                ));
            }
        }
    }
    Ok(unexplained)
}

/// What the methods of these collections need: an update is not part of an example.
fn google_permissions<'a>(methods: impl Iterator<Item = &'a String>) -> BTreeSet<&'static str> {
    let collection = |method: &str| method.rsplit_once('.').map(|(collection, _)| collection.to_owned());
    let collections: BTreeSet<Option<String>> = methods.map(|method| collection(method)).collect();
    let all =
        warren_harness::google::SERVED.iter().filter(|method| collections.contains(&collection(method)));
    all.flat_map(|method| {
        let (always, sometimes) = of_method(method);
        [always, sometimes].concat()
    })
    .collect()
}

/// Whether the source has a call of an action: `.delete_tags()`.
fn is_called(permission: &str, source: &str) -> bool {
    let Some((_, action)) = permission.split_once(':') else { return false };
    let letters: Vec<char> = action.chars().collect();
    let mut method = String::new();
    for (index, character) in letters.iter().enumerate() {
        // A word begins with a capital, and several capitals are one word: `ListVPCAssociations`.
        let is_upper = |index: usize| letters.get(index).is_some_and(char::is_ascii_uppercase);
        let begins = is_upper(index)
            && index > 0
            && (!is_upper(index - 1) || letters.get(index + 1).is_some_and(char::is_ascii_lowercase));
        if begins {
            method.push('_');
        }
        method.push(character.to_ascii_lowercase());
    }
    source.contains(&format!(".{method}("))
}

/// The code of a type: its own folder, and what is beside the folders.
fn source(page: &Path) -> Result<String> {
    let own = workspace_root().join(page.parent().context("a page file has a folder")?);
    let shared = own.parent().context("a folder is in one")?.to_owned();
    let mut text = String::new();
    for folder in [own, shared] {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                text += &std::fs::read_to_string(path)?;
            }
        }
    }
    Ok(text)
}
