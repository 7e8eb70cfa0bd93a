//! Where the double does not follow the discovery document to the letter, and why.

/// One deviation from the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// What is different.
    pub waiver: Waiver,
    /// Why.
    pub reason: &'static str,
}

/// What a deviation is about. Fields are written `Schema.field`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiver {
    /// A query parameter that the documents do not list is accepted; `*` stands for any text.
    Parameter {
        /// Its name.
        name: &'static str,
        /// Accepted values, as a regular expression.
        values: &'static str,
    },
    /// A field that the document marks as required may be absent.
    NotRequired {
        /// The method's id.
        method: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field that the document does not mark must be there.
    Required {
        /// The method's id.
        method: &'static str,
        /// The field.
        field: &'static str,
    },
    /// Fields that only the service sets may be sent; they are ignored.
    OutputOnlySent {
        /// The method's last word.
        verb: &'static str,
    },
    /// A field marked as set by the service alone may be sent.
    Settable {
        /// The field.
        field: &'static str,
    },
    /// Fields that the path holds may be in the body too, with the same value; they are ignored.
    PathRepeated {
        /// The service, as methods' ids begin with it.
        service: &'static str,
    },
    /// The numbers of an enumeration, which the document does not have.
    Numbers {
        /// The field.
        field: &'static str,
        /// Names and numbers.
        values: &'static [(&'static str, i64)],
    },
}

const fn required(method: &'static str, field: &'static str, reason: &'static str) -> Exception {
    Exception { waiver: Waiver::Required { method, field }, reason }
}

const UNMARKED: &str = "the field's prose demands it at creation, but the document has no mark";

const DNS_REQUIRED: &str =
    "Cloud DNS's page \"Error messages\" demands it at creation, but the document has no mark";

const REPEATED: &str =
    "Google's Rust client sends the whole message as the body, with what it has written into the path";

const IDENTITY_TYPES: &[(&str, i64)] = &[
    ("IDENTITY_TYPE_UNSPECIFIED", 0),
    ("ANY_IDENTITY", 1),
    ("ANY_USER_ACCOUNT", 2),
    ("ANY_SERVICE_ACCOUNT", 3),
];

/// All deviations.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        waiver: Waiver::Parameter { name: "$alt", values: "json|json;enum-encoding=int" },
        reason: "Google's Rust client writes the system parameter `alt` so; the document lists it without the sign",
    },
    Exception {
        waiver: Waiver::Parameter { name: "$apiVersion", values: r"\d{4}-\d{2}-\d{2}" },
        reason: "Google's Rust client tells the version it was made from; the document has it as the method's apiVersion",
    },
    Exception {
        waiver: Waiver::NotRequired {
            method: "compute.networks.addPeering",
            field: "NetworksAddPeeringRequest.name",
        },
        reason: "the name is given in networkPeering, which the prose of the field asks for instead",
    },
    required("compute.subnetworks.insert", "Subnetwork.name", UNMARKED),
    required("compute.subnetworks.insert", "Subnetwork.network", UNMARKED),
    required("compute.globalAddresses.insert", "Address.name", UNMARKED),
    required("compute.forwardingRules.insert", "ForwardingRule.name", UNMARKED),
    required("compute.globalForwardingRules.insert", "ForwardingRule.name", UNMARKED),
    required(
        "compute.networks.updatePeering",
        "NetworksUpdatePeeringRequest.networkPeering",
        "without it there is nothing to update",
    ),
    required(
        "compute.networks.removePeering",
        "NetworksRemovePeeringRequest.name",
        "without it there is nothing to remove",
    ),
    required("dns.managedZones.create", "ManagedZone.name", DNS_REQUIRED),
    required("dns.managedZones.create", "ManagedZone.dnsName", DNS_REQUIRED),
    required("dns.managedZones.create", "ManagedZone.description", DNS_REQUIRED),
    required("dns.resourceRecordSets.create", "ResourceRecordSet.name", DNS_REQUIRED),
    required("dns.resourceRecordSets.create", "ResourceRecordSet.type", DNS_REQUIRED),
    Exception {
        waiver: Waiver::OutputOnlySent { verb: "update" },
        reason: "an update replaces the whole object, and clients send back the one they have read",
    },
    Exception { waiver: Waiver::PathRepeated { service: "secretmanager" }, reason: REPEATED },
    Exception { waiver: Waiver::PathRepeated { service: "iam" }, reason: REPEATED },
    Exception {
        waiver: Waiver::Settable { field: "Subnetwork.region" },
        reason: "the prose allows it at creation",
    },
    Exception {
        waiver: Waiver::Numbers {
            field: "Repository.format",
            values: &[
                ("FORMAT_UNSPECIFIED", 0),
                ("DOCKER", 1),
                ("MAVEN", 2),
                ("NPM", 3),
                ("APT", 5),
                ("YUM", 6),
                ("PYTHON", 8),
                ("KFP", 9),
                ("GO", 10),
                ("GENERIC", 11),
                ("RUBY", 12),
            ],
        },
        reason: "Google's Rust client sends enumerations as numbers, and protocol buffers' JSON allows that",
    },
    Exception {
        waiver: Waiver::Numbers {
            field: "Repository.mode",
            values: &[
                ("MODE_UNSPECIFIED", 0),
                ("STANDARD_REPOSITORY", 1),
                ("VIRTUAL_REPOSITORY", 2),
                ("REMOTE_REPOSITORY", 3),
            ],
        },
        reason: "as for Repository.format",
    },
    Exception {
        waiver: Waiver::Numbers {
            field: "CleanupPolicy.action",
            values: &[("ACTION_UNSPECIFIED", 0), ("DELETE", 1), ("KEEP", 2)],
        },
        reason: "as for Repository.format",
    },
    Exception {
        waiver: Waiver::Numbers {
            field: "CleanupPolicyCondition.tagState",
            values: &[("TAG_STATE_UNSPECIFIED", 0), ("TAGGED", 1), ("UNTAGGED", 2), ("ANY", 3)],
        },
        reason: "as for Repository.format",
    },
    Exception {
        waiver: Waiver::Numbers {
            field: "VulnerabilityScanningConfig.enablementConfig",
            values: &[("ENABLEMENT_CONFIG_UNSPECIFIED", 0), ("INHERITED", 1), ("DISABLED", 2)],
        },
        reason: "as for Repository.format",
    },
    Exception {
        waiver: Waiver::Numbers {
            field: "ServicePerimeter.perimeterType",
            values: &[("PERIMETER_TYPE_REGULAR", 0), ("PERIMETER_TYPE_BRIDGE", 1)],
        },
        reason: "as for Repository.format",
    },
    Exception {
        waiver: Waiver::Numbers { field: "IngressFrom.identityType", values: IDENTITY_TYPES },
        reason: "as for Repository.format",
    },
    Exception {
        waiver: Waiver::Numbers { field: "EgressFrom.identityType", values: IDENTITY_TYPES },
        reason: "as for Repository.format",
    },
];

/// The accepted values of a query parameter that the documents do not list.
pub(super) fn parameter(name: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find_map(|exception| match exception.waiver {
        Waiver::Parameter { name: waived, values } if waived == name => Some(values),
        _ => None,
    })
}

/// Whether a field must be in the body of a method; `marked` is what the document says.
pub(super) fn is_required(method: &str, field: &str, marked: bool) -> bool {
    let waived = EXCEPTIONS.iter().find_map(|exception| match exception.waiver {
        Waiver::NotRequired { method: m, field: f } if m == method && f == field => Some(false),
        Waiver::Required { method: m, field: f } if m == method && f == field => Some(true),
        _ => None,
    });
    waived.unwrap_or(marked)
}

/// Whether a field that only the service sets may be sent.
pub(super) fn may_send(method: &str, field: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| match exception.waiver {
        Waiver::OutputOnlySent { verb } => method.rsplit('.').next() == Some(verb),
        Waiver::Settable { field: settable } => settable == field,
        _ => false,
    })
}

/// Whether a body of the method may have what the path has.
pub(super) fn repeats_path(method: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| match exception.waiver {
        Waiver::PathRepeated { service } => method.split('.').next() == Some(service),
        _ => false,
    })
}

/// The name that a number stands for in an enumeration.
pub(crate) fn name_of(field: &str, number: i64) -> Option<&'static str> {
    EXCEPTIONS.iter().find_map(|exception| match exception.waiver {
        Waiver::Numbers { field: f, values } if f == field => {
            values.iter().find(|(_, value)| *value == number).map(|(name, _)| *name)
        }
        _ => None,
    })
}
