//! `warren_aws_security_group`: a security group with all its rules.

mod api;
mod rules;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, Path, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Op, Session, Work};
use crate::tags::Tags;
use rules::Grants;
pub(crate) use schema::SecurityGroup;
use warren_managed::{Failure, Object};

/// The direction of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ingress,
    Egress,
}

#[async_trait]
impl Object for SecurityGroup {
    fn schema() -> Schema {
        schema::schema()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        for (rules, name) in [(&self.ingress, "ingress"), (&self.egress, "egress")] {
            rules::check(rules.known().into_iter().flatten(), &Path::of(name), diagnostics);
        }
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
        let public = rules::public(planned.ingress.known().into_iter().flatten());
        if planned.allow_public_ingress.is_true() && !public.is_empty() {
            let ranges = public.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            diagnostics.push(
                Diagnostic::warning(
                    "Security group open to the internet",
                    format!(
                        "The security group {:?} allows {ranges}, as permitted by `allow_public_ingress`.",
                        planned.name.text()
                    ),
                )
                .at(Path::of("ingress")),
            );
        }
        if !planned.name.is_unknown() {
            let id = planned.id.known().map(String::as_str);
            session.run().security_groups.put(planned.name.text(), id, rules::planned(planned));
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<SecurityGroup, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        retag(work, self, &have.tags).await?;
        let want = rules::grants(self.ingress.known().into_iter().flatten(), id);
        reconcile(aws, op, id, Direction::Ingress, &have.ingress, &want).await?;
        let want = rules::grants(self.egress.known().into_iter().flatten(), id);
        reconcile(aws, op, id, Direction::Egress, &have.egress, &want).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<SecurityGroup>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        // Network interfaces of deleted endpoints linger for minutes.
        op.delete(|| api::delete(aws, id), || api::get(aws, id)).await
    }
}

/// Adds missing rules before it removes surplus ones, so that connections survive while a rule is
/// rewritten.
async fn reconcile(
    aws: &Aws,
    op: &Op,
    id: &str,
    direction: Direction,
    have: &Grants,
    want: &Grants,
) -> Result<(), Diagnostics> {
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
