//! `warren_aws_security_group`: a security group with all its rules.

mod api;
mod model;
mod rules;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, Path, async_trait};
use warren_managed::{Common as _, Failure, Object};

use crate::error::{ApiError, Parsed};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
use api::Direction;
pub(crate) use model::SecurityGroup;
use rules::Grants;

#[async_trait]
impl Object for SecurityGroup {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        rules::check(self.ingress.known().into_iter().flatten(), &Path::of("ingress"), diagnostics);
        rules::check(self.egress.known().into_iter().flatten(), &Path::of("egress"), diagnostics);
        if self.allow_public_ingress.is_true() || self.allow_public_ingress.is_unknown() {
            return;
        }
        for range in rules::public(self.ingress.known().into_iter().flatten()) {
            diagnostics.error_at(
                Path::of("ingress"),
                "Ingress from the internet",
                format!(
                    "A rule allows {range}, which is the internet or a large part of it. List the ranges \
                     that need access. If the whole internet needs access (a public endpoint), set \
                     `allow_public_ingress = true`."
                ),
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<SecurityGroup>, diagnostics: &mut Diagnostics) {
        let planned = &change.planned;
        let Ok(name) = planned.object.name() else { return };
        let public = rules::public(planned.ingress.known().into_iter().flatten());
        if planned.allow_public_ingress.is_true() && !public.is_empty() {
            let ranges = public.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            diagnostics.push(
                Diagnostic::warning(
                    "Security group open to the internet",
                    format!(
                        "The security group {name:?} allows {ranges}, as permitted by `allow_public_ingress`."
                    ),
                )
                .at(Path::of("ingress")),
            );
        }
        session.run().security_groups.put(
            &planned.local(name),
            planned.id().as_deref(),
            rules::planned(planned),
        );
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<SecurityGroup, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = Some(self.object.id()?.to_owned()).parsed("CreateSecurityGroup", "GroupId")?;
        let have = op.call(|| api::get(aws, self)).await?;
        self.object.retag(work, &have.state.object).await?;
        let want = rules::grants(self.ingress.known().into_iter().flatten(), &id);
        reconcile(work, &id, Direction::Ingress, &have.ingress, &want).await?;
        let want = rules::grants(self.egress.known().into_iter().flatten(), &id);
        reconcile(work, &id, Direction::Egress, &have.egress, &want).await?;
        Ok(op.call(|| api::get(aws, self)).await?.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<SecurityGroup>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self).await)?;
        Ok(found.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        // Network interfaces of deleted endpoints linger for minutes.
        op.delete(|| api::delete(aws, id), || api::get(aws, self)).await
    }
}

/// Adds missing rules before it removes surplus ones, so that connections survive while a rule is
/// rewritten.
async fn reconcile(
    work: &Work<'_>,
    id: &str,
    direction: Direction,
    have: &Grants,
    want: &Grants,
) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let missing: Grants = difference(want, |grant, _| !have.contains_key(grant));
    let renamed: Grants = difference(want, |grant, text| have.get(grant).is_some_and(|old| old != text));
    let surplus: Grants = difference(have, |grant, _| !want.contains_key(grant));
    if !missing.is_empty() {
        op.check_cancelled()?;
        op.call(|| api::authorize(aws, id, direction, &missing)).await?;
    }
    if !renamed.is_empty() {
        op.check_cancelled()?;
        op.call(|| api::describe(aws, id, direction, &renamed)).await?;
    }
    if !surplus.is_empty() {
        op.check_cancelled()?;
        op.call(|| api::revoke(aws, id, direction, &surplus)).await?;
    }
    Ok(())
}

fn difference(of: &Grants, keep: impl Fn(&rules::Grant, &Option<String>) -> bool) -> Grants {
    of.iter()
        .filter(|(grant, text)| keep(grant, text))
        .map(|(grant, text)| (grant.clone(), text.clone()))
        .collect()
}
