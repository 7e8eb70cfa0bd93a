//! What the resources of the Route 53 Resolver share: tags and names.

use aws_config::retry::RetryConfig;
use aws_sdk_route53resolver::types::Tag;
use tf_provider_rs::{Attr, Diagnostics};
use warren_managed::Object;

use crate::error::{ApiError, Named, OrMissing};
use crate::session::{Aws, Work};
use crate::tags::{self, TagMap, Tags};

/// The ID of an object in a list if it is the one of this fabric and owner named `name`. Lists have no filter for tags;
/// the request token tells most other objects apart without reading their tags.
pub(crate) async fn id_if_ours(
    aws: &Aws,
    name: &str,
    operation: &'static str,
    Listed { token, arn, id }: Listed,
) -> Result<Option<String>, ApiError> {
    if !token.is_some_and(|token| token.starts_with(&aws.mark(name))) {
        return Ok(None);
    }
    let tags = read_tags(aws, &arn.or_missing(operation, "Arn")?).await?;
    if aws.owns(&tags, name) { id.or_missing(operation, "Id").map(Some) } else { Ok(None) }
}

/// What lists contain of an object.
pub(crate) struct Listed {
    pub(crate) token: Option<String>,
    pub(crate) arn: Option<String>,
    pub(crate) id: Option<String>,
}

/// Settings for a create call: see [`crate::client::once`].
pub(crate) fn once() -> aws_sdk_route53resolver::config::Builder {
    aws_sdk_route53resolver::Config::builder().retry_config(RetryConfig::disabled())
}

/// The name in consoles: the Resolver accepts up to 64 letters, digits, spaces, `-`, `_` and `'`, and not only digits.
pub(crate) fn shown(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " -_'".contains(c);
    let shown: String = name.chars().take(64).map(|c| if allowed(c) { c } else { '-' }).collect();
    if shown.chars().all(|c| c.is_ascii_digit()) {
        format!("n-{}", shown.chars().take(62).collect::<String>())
    } else {
        shown
    }
}

/// For a create call.
pub(crate) fn to_sdk(tags: &Tags) -> Result<Vec<Tag>, ApiError> {
    tags.iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::unsent("TagResource", &error))
}

/// The tags of the object with this ARN.
pub(crate) async fn read_tags(aws: &Aws, arn: &str) -> Result<Tags, ApiError> {
    let mut pages = aws.resolver().list_tags_for_resource().resource_arn(arn).into_paginator().items().send();
    let mut tags = Tags::new();
    while let Some(tag) = pages.next().await {
        let tag = tag.named("ListTagsForResource")?;
        tags.insert(tag.key, tag.value);
    }
    Ok(tags)
}

/// Reconciles the tags of the object with this ARN, which are `have`, with the plan.
pub(crate) async fn retag<O: Object<Cloud = Aws>>(
    work: &Work<'_>,
    planned: &O,
    arn: &Attr<String>,
    have: &TagMap,
) -> Result<(), Diagnostics> {
    let (have, want, arn) = (tags::known(have), planned.marks(&work.cloud)?, arn.value()?);
    work.op.call(|| set_tags(&work.cloud, arn, &have, &want)).await
}

async fn set_tags(aws: &Aws, arn: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = aws.difference(have, want);
    let resolver = aws.resolver();
    if !set.is_empty() {
        let call = resolver.tag_resource().resource_arn(arn).set_tags(Some(to_sdk(&set)?));
        call.send().await.named("TagResource")?;
    }
    if !unset.is_empty() {
        let keys = unset.into_iter().collect();
        resolver
            .untag_resource()
            .resource_arn(arn)
            .set_tag_keys(Some(keys))
            .send()
            .await
            .named("UntagResource")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_as_the_resolver_accepts_it() {
        assert_eq!(shown("acme hub"), "acme hub");
        assert_eq!(shown("acme/hub.eu"), "acme-hub-eu");
        assert_eq!(shown("123"), "n-123");
        assert_eq!(shown(&"x".repeat(255)).len(), 64);
        assert_eq!(shown(&"1".repeat(255)).len(), 64);
    }
}
