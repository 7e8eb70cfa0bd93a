//! Parameter Store calls for configurations.

use super::model::GatewayConfig;
use crate::error::ApiError;
use crate::parameter::{self, Put};
use crate::session::Aws;
use crate::tags::Tags;

/// Stores the file, in a new parameter if there are `tags`.
pub(super) async fn put(aws: &Aws, planned: &GatewayConfig, tags: Option<&Tags>) -> Result<(), ApiError> {
    let text = planned.file.text(planned.identity(Some(&aws.region)))?;
    let put = Put {
        name: planned.object.name()?,
        value: &text,
        description: "Configuration of a Warren gateway",
        secure: None,
        tags,
    };
    parameter::put(aws, &put).await.map(drop)
}

/// The configuration of `before` as it is now; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &GatewayConfig) -> Result<GatewayConfig, ApiError> {
    let name = before.object.id()?;
    let (version, content) = parameter::read(aws, name).await?;
    let tags = parameter::tags(aws, name).await?;
    Ok(GatewayConfig {
        object: before.object.found(aws, name, &tags),
        file: before.file.found(Some(content.to_string()), Some(version), before.identity(Some(&aws.region))),
        pod_role_arn: before.pod_role_arn.clone(),
    })
}
