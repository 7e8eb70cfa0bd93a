//! What a cloud checks besides the permission that a call is named after.

/// A permission that is checked in other calls than the one with its name.
#[derive(Clone, Copy, Debug)]
pub struct Implicit {
    /// The action, such as `iam:PassRole`.
    pub action: &'static str,
    /// The operations in which it is checked.
    pub with: &'static [&'static str],
    /// When.
    pub why: &'static str,
}

const fn implicit(action: &'static str, with: &'static [&'static str], why: &'static str) -> Implicit {
    Implicit { action, with, why }
}

/// The dependent actions of AWS's operations: "Service Authorization Reference", pages of the services.
pub const IMPLICIT: &[Implicit] = &[
    implicit("ec2:CreateTags", &["CreateVpc"], "checked when a create call carries tags"),
    implicit(
        "ec2:RunInstances",
        &["CreateAutoScalingGroup"],
        "checked when an Auto Scaling group gets a launch template",
    ),
    implicit(
        "iam:PassRole",
        &["RunInstances", "CreateAutoScalingGroup"],
        "checked when an instance gets an instance profile",
    ),
    implicit("iam:PassRole", &["AddRoleToInstanceProfile"], "checked when a profile gets a role"),
    implicit("iam:PassRole", &["CreateFlowLogs"], "checked when a flow log delivers to CloudWatch Logs"),
    implicit("iam:TagInstanceProfile", &["CreateInstanceProfile"], "checked when a create call carries tags"),
    implicit("iam:TagRole", &["CreateRole"], "checked when a create call carries tags"),
    implicit(
        "iam:CreateServiceLinkedRole",
        &["CreateTransitGatewayVpcAttachment", "CreateAutoScalingGroup"],
        "checked when the first object of a service is created in an account",
    ),
    implicit("ecr:TagResource", &["CreateRepository"], "checked when a create call carries tags"),
    implicit("ssm:AddTagsToResource", &["PutParameter"], "checked when a create call carries tags"),
    implicit("logs:CreateLogDelivery", &["CreateFlowLogs"], "checked when a flow log is created"),
    implicit("logs:DeleteLogDelivery", &["DeleteFlowLogs"], "checked when a flow log is deleted"),
    implicit(
        "route53:AssociateVPCWithHostedZone",
        &["CreateVpcEndpoint"],
        "checked when an endpoint with private DNS is created",
    ),
    implicit(
        "ec2:DescribeVpcs",
        &["AssociateVPCWithHostedZone", "CreateHostedZone", "AssociateResolverRule"],
        "checked when a VPC is associated with a zone or a resolver rule",
    ),
    implicit(
        "ec2:CreateNetworkInterface",
        &["CreateResolverEndpoint"],
        "checked when a resolver endpoint is created",
    ),
    implicit(
        "ec2:DeleteNetworkInterface",
        &["DeleteResolverEndpoint"],
        "checked when a resolver endpoint is deleted",
    ),
    implicit(
        "ec2:DescribeNetworkInterfaces",
        &["CreateResolverEndpoint"],
        "checked when a resolver endpoint is created",
    ),
    implicit(
        "ec2:DescribeSecurityGroups",
        &["CreateResolverEndpoint"],
        "checked when a resolver endpoint is created",
    ),
    implicit(
        "ec2:DescribeSubnets",
        &["CreateResolverEndpoint"],
        "checked when a resolver endpoint is created",
    ),
    implicit(
        "route53resolver:TagResource",
        &["CreateResolverEndpoint", "CreateResolverRule"],
        "checked when a create call carries tags",
    ),
];

/// Permissions of Google that a type needs only for updates, which its examples do not make: an update of a zone waits for
/// its operation.
pub const IN_UPDATES: &[(&str, &str)] = &[("warren_gcp_dns_zone", "dns.managedZoneOperations.get")];

/// What each method of Google's APIs needs: always, and depending on its arguments.
///
/// From the reference of the methods: <https://cloud.google.com/compute/docs/reference/rest/v1> and those of Secret Manager,
/// Artifact Registry, IAM, and Access Context Manager. Methods that are not here need the permission with their own name.
pub const GOOGLE: &[(&str, &[&str], &[&str])] = &[
    ("compute.addresses.aggregatedList", &["compute.addresses.list"], &[]),
    // External addresses; internal ones, as those of gateway groups, need permissions of their own.
    (
        "compute.addresses.insert",
        &["compute.addresses.create"],
        &["compute.addresses.createInternal", "compute.addresses.setLabels", "compute.subnetworks.use"],
    ),
    ("compute.addresses.delete", &["compute.addresses.delete"], &["compute.addresses.deleteInternal"]),
    ("compute.disks.aggregatedList", &["compute.disks.list"], &[]),
    ("compute.disks.insert", &["compute.disks.create"], &["compute.disks.setLabels"]),
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
    // The group acts as the service agent of the project, but its creator must be allowed to do what it does.
    (
        "compute.instanceGroupManagers.insert",
        &["compute.instanceGroupManagers.create"],
        &[
            "compute.instanceGroups.create",
            "compute.instanceTemplates.useReadOnly",
            "compute.instances.create",
        ],
    ),
    (
        "compute.instanceGroupManagers.patch",
        &["compute.instanceGroupManagers.update"],
        &["compute.instanceTemplates.useReadOnly"],
    ),
    (
        "compute.instanceGroupManagers.createInstances",
        &["compute.instanceGroupManagers.update"],
        &["compute.addresses.use", "compute.addresses.useInternal", "compute.disks.use"],
    ),
    ("compute.instanceGroupManagers.deleteInstances", &["compute.instanceGroupManagers.update"], &[]),
    ("compute.instanceGroupManagers.listManagedInstances", &["compute.instanceGroupManagers.get"], &[]),
    (
        "compute.instanceGroupManagers.delete",
        &["compute.instanceGroupManagers.delete"],
        &["compute.instanceGroups.delete", "compute.instances.delete"],
    ),
    (
        "compute.instanceTemplates.insert",
        &["compute.instanceTemplates.create"],
        &["compute.subnetworks.use", "compute.subnetworks.useExternalIp", "iam.serviceAccounts.actAs"],
    ),
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
    ("compute.projects.getXpnHost", &["compute.projects.get"], &[]),
    ("compute.routers.getRouterStatus", &["compute.routers.get"], &[]),
    // Lists what the caller can use: `compute.subnetworks.use` on a subnetwork is enough.
    ("compute.subnetworks.listUsable", &[], &["compute.subnetworks.use"]),
    (
        "networkconnectivity.projects.locations.internalRanges.list",
        &["networkconnectivity.internalRanges.list"],
        &[],
    ),
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
