//! The `gcp` attribute of the provider block.

use tf_provider_rs::model::Secret;
use tf_provider_rs::{Attr, Object};
use warren_managed::sets::{Set, Texts};

use crate::live::LiveRanges;

/// Google Cloud project and region. The provider uses Application Default Credentials: `GOOGLE_APPLICATION_CREDENTIALS`,
/// `gcloud auth application-default login`, Workload Identity Federation or the metadata server.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub struct GcpConfig {
    /// ID of the project. Defaults to the environment variable `GOOGLE_PROJECT`, `GOOGLE_CLOUD_PROJECT`, `GCLOUD_PROJECT`
    /// or `CLOUDSDK_CORE_PROJECT`.
    #[attr(optional)]
    pub project: Attr<String>,
    /// Default region for resources that do not set one, such as `us-central1`. Defaults to the environment variable
    /// `GOOGLE_REGION`, `GCLOUD_REGION` or `CLOUDSDK_COMPUTE_REGION`.
    #[attr(optional)]
    pub region: Attr<String>,
    /// Path of a credentials file, or its contents in JSON. Contents end up in plan files unless they come from an
    /// ephemeral variable, so a path is preferred. Defaults to the environment variable `GOOGLE_CREDENTIALS`,
    /// `GOOGLE_CLOUD_KEYFILE_JSON` or `GCLOUD_KEYFILE_JSON`, or else to Application Default Credentials.
    #[attr(optional, sensitive)]
    pub credentials: Attr<Secret>,
    /// OAuth access token, which the provider cannot refresh. It replaces `credentials`. Defaults to the environment
    /// variable `GOOGLE_OAUTH_ACCESS_TOKEN`, which is preferred: a literal value ends up in plan files.
    #[attr(optional, sensitive)]
    pub access_token: Attr<Secret>,
    /// Email address of a service account to impersonate with the credentials that were found. Defaults to the
    /// environment variable `GOOGLE_IMPERSONATE_SERVICE_ACCOUNT`.
    #[attr(optional)]
    pub impersonate_service_account: Attr<String>,
    /// Email addresses of the service accounts between the credentials and the impersonated account. Each must be
    /// allowed to create tokens for the next one.
    #[attr(optional)]
    pub impersonate_service_account_delegates: Attr<Vec<String>>,
    /// Whether quota and billing count for `billing_project`, or else for `project`, instead of the project of the
    /// credentials. Defaults to the environment variable `USER_PROJECT_OVERRIDE`, or `false`.
    #[attr(optional)]
    pub user_project_override: Attr<bool>,
    /// ID of the project for quota and billing if `user_project_override` is `true`. Defaults to the environment
    /// variable `GOOGLE_BILLING_PROJECT`.
    #[attr(optional)]
    pub billing_project: Attr<String>,
    /// Domain of the APIs. The environment variable `GOOGLE_CLOUD_UNIVERSE_DOMAIN` has precedence. Defaults to the domain
    /// in the credentials file, or `googleapis.com`.
    #[attr(optional)]
    pub universe_domain: Attr<String>,
    /// URL that serves every Google API, for emulators. The provider sends no credentials to it.
    #[attr(optional)]
    pub endpoint_url: Attr<String>,
    /// IDs of the projects that the provider may change. It rejects any other project before the first API call.
    #[attr(optional)]
    pub allowed_projects: Texts,
    /// IDs of networks, routes and allocated ranges that the check of planned ranges against live ranges ignores, such as
    /// `projects/acme/global/networks/legacy`.
    #[attr(optional)]
    pub ignore_live: Texts,
    /// Live ranges to compare planned ranges with, besides those of subnetworks: `private_services_access`,
    /// `internal_ranges`, `routes`, `peering_routes` and `shared_vpc`. Defaults to all of them.
    #[attr(optional)]
    pub live_ranges: Set<LiveRanges>,
    /// IDs of further projects whose live ranges are compared with planned ranges. Defaults to none: only the projects of
    /// the provider block and of its resources, and their Shared VPC host projects, are read.
    #[attr(optional)]
    pub live_projects: Texts,
}

/// Environment variables that name the project when the provider block does not.
pub(crate) const PROJECT_VARIABLES: [&str; 4] =
    ["GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"];

/// Environment variables that name the region when the provider block does not.
pub(crate) const REGION_VARIABLES: [&str; 3] = ["GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION"];
