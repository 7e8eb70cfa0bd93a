//! Calls of an instance to its own cloud, without an SDK: `fetch`, `logs`, and `attach-volume`.

pub(super) mod aws;
pub(super) mod http;
#[cfg(test)]
pub(super) mod tests;

use zeroize::Zeroizing;

/// Endpoints of stores and metadata services: from environment variables for emulators, otherwise those of the cloud.
#[derive(Clone, Default)]
pub(in crate::commands) struct Environment {
    /// AWS's keys, if they do not come from the metadata service: id, secret, session token.
    pub(super) aws_keys: Option<(String, Zeroizing<String>, Option<String>)>,
    pub(super) aws_region: Option<String>,
    pub(super) aws_ssm: Option<String>,
    pub(super) aws_ec2: Option<String>,
    pub(super) aws_logs: Option<String>,
    pub(super) aws_metadata: Option<String>,
    pub(super) google_secrets: Option<String>,
    pub(super) google_metadata: Option<String>,
}

impl Environment {
    /// Reads the environment variables, which are those of the clouds' tools.
    pub(in crate::commands) fn read() -> Environment {
        let get = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let id = get("AWS_ACCESS_KEY_ID").zip(get("AWS_SECRET_ACCESS_KEY"));
        Environment {
            aws_keys: id.map(|(id, secret)| (id, Zeroizing::new(secret), get("AWS_SESSION_TOKEN"))),
            aws_region: get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION")),
            aws_ssm: get("AWS_ENDPOINT_URL_SSM").or_else(|| get("AWS_ENDPOINT_URL")),
            aws_ec2: get("AWS_ENDPOINT_URL_EC2").or_else(|| get("AWS_ENDPOINT_URL")),
            aws_logs: get("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS").or_else(|| get("AWS_ENDPOINT_URL")),
            aws_metadata: get("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
            google_secrets: get("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"),
            google_metadata: get("GCE_METADATA_HOST").map(|host| format!("http://{host}")),
        }
    }
}
