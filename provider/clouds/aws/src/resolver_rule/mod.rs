//! `warren_aws_resolver_rule`: forwards queries of VPCs for a domain.

mod api;
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use aws_sdk_route53resolver::types::{
    ResolverRuleAssociationStatus as Association, ResolverRuleStatus as Status,
};
use tf_provider_rs::{Attr, Change, Diagnostics, Path, async_trait};
use warren_managed::{Failure, Object, Poll, sets};

use crate::error::ApiError;
use crate::ids::VpcId;
use crate::resolver::retag;
use crate::route53::same_name;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Rule;
use model::RuleType;

#[async_trait]
impl Object for Rule {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<Rule>, _diagnostics: &mut Diagnostics) {
        let Some(prior) = &change.prior else { return };
        if let (Some(before), Some(after)) = (prior.domain_name.known(), change.planned.domain_name.known())
            && same_name(before, after)
        {
            change.requires_replace.retain(|path| path != &Path::of("domain_name"));
        }
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        prior: Option<&Rule>,
        _config: &Rule,
    ) -> Result<(), Diagnostics> {
        if let Some(prior) = prior {
            let wanted = sets::known(&self.vpc_ids);
            self.leaving = sets::known(&prior.vpc_ids).difference(&wanted).cloned().collect();
        }
        Ok(())
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Rule, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let have = ready(work, self).await?;
        retag(work, self, &have.state.arn, &have.state.object.tags_all).await?;
        op.call(|| api::modify(aws, &have, self)).await?;
        for vpc in &self.leaving {
            op.check_cancelled()?;
            leave(work, id, vpc).await?;
        }
        for vpc in sets::known(&self.vpc_ids) {
            op.check_cancelled()?;
            join(work, id, &vpc).await?;
        }
        ready(work, self).await.map(|found| found.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Rule>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.filter(|found| found.status != Status::Deleting).map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let live = op.call(|| api::associations(aws, id)).await?;
        let listed: BTreeSet<VpcId> = sets::known(&self.vpc_ids);
        for vpc in live.keys().filter(|vpc| listed.contains(vpc)) {
            leave(work, id, vpc).await?;
        }
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

/// Associates a VPC, and waits until its resolver applies the rule.
async fn join(work: &Work<'_>, id: &str, vpc: &VpcId) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("associated", || async {
        let live = api::associations(aws, id).await?;
        let Some(association) = live.get(vpc) else {
            api::associate(aws, id, vpc).await?;
            return Ok(Poll::Pending("CREATING".to_owned()));
        };
        match &association.status {
            // Another rule of the domain has precedence, such as one that another account shares.
            Some(Association::Complete | Association::Overridden) => Ok(Poll::Ready(())),
            Some(Association::Failed) => Err(ApiError {
                operation: "AssociateResolverRule",
                code: "AssociationFailed".to_owned(),
                message: association.status_message.clone().unwrap_or_default(),
                status: 400,
            }),
            status => Ok(Poll::Pending(status.as_ref().map_or("", |status| status.as_str()).to_owned())),
        }
    })
    .await
}

/// Disassociates a VPC, and waits until that is done.
async fn leave(work: &Work<'_>, id: &str, vpc: &VpcId) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.call(|| api::disassociate(aws, id, vpc)).await?;
    op.until("disassociated", || async {
        let live = api::associations(aws, id).await?;
        Ok(if live.contains_key(vpc) { Poll::Pending("DELETING".to_owned()) } else { Poll::Ready(()) })
    })
    .await
}

/// Waits until no change of the rule is under way.
async fn ready(work: &Work<'_>, planned: &Rule) -> Result<api::Found, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("complete", || async {
        let found = api::get(aws, planned).await?;
        match found.status {
            Status::Complete => Ok(Poll::Ready(found)),
            Status::Failed => Err(ApiError {
                operation: "GetResolverRule",
                code: "RuleFailed".to_owned(),
                message: found.message,
                status: 400,
            }),
            Status::Deleting => Err(ApiError::absent("GetResolverRule", planned.object.id()?)),
            status => Ok(Poll::Pending(status.as_str().to_owned())),
        }
    })
    .await
}

/// Checks attributes that depend on each other; unknown values are skipped.
fn check(rule: &Rule, diagnostics: &mut Diagnostics) {
    let system = rule.rule_type == Attr::Known(RuleType::System);
    let forward = rule.rule_type.is_null() || rule.rule_type == Attr::Known(RuleType::Forward);
    let settings = [
        ("resolver_endpoint_id", rule.resolver_endpoint_id.is_null(), rule.resolver_endpoint_id.is_known()),
        ("target_ips", rule.target_ips.is_null(), rule.target_ips.is_known()),
    ];
    for (name, absent, present) in settings {
        if forward && absent {
            diagnostics.error_at(
                Path::of(name),
                "Rule without a destination",
                format!("A `FORWARD` rule sends queries through an endpoint to DNS servers. Set `{name}`."),
            );
        }
        if system && present {
            diagnostics.error_at(
                Path::of(name),
                "Destination of a system rule",
                format!(
                    "The resolver of the VPC answers queries of a `SYSTEM` rule itself. Remove `{name}`."
                ),
            );
        }
    }
}
