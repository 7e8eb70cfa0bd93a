//! Parameter Store calls for configurations.

use warren_gateways::config::FileAttributes;

use super::model::GatewayConfig;
use crate::error::ApiError;
use crate::parameter::{self, Put};
use crate::session::Aws;
use crate::tags::Tags;

/// Stores the file, in a new parameter if there are `tags`.
pub(super) async fn put(aws: &Aws, planned: &GatewayConfig, tags: Option<&Tags>) -> Result<(), ApiError> {
    let put = Put {
        name: planned.object.name()?,
        value: planned.file.content.value()?,
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
        file: FileAttributes { content: content.as_str().into(), version: version.into() },
    })
}
