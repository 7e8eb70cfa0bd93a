//! `warren_aws_security_group`: a security group with all its rules.

mod api;
mod rules;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{
    Change, Context, Diagnostic, Diagnostics, ImportRequest, Path, Planned, Progress, Resource, async_trait,
};

use crate::adopt;
use crate::common::{self, Common, basics};
use crate::session::{Aws, Session};
use crate::timeouts::Operation;
use crate::wait::Op;
use rules::Grants;
use schema::SecurityGroup;

/// The resource type.
pub(crate) struct SecurityGroupResource {
    session: Session,
}

/// Which rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ingress,
    Egress,
}

impl SecurityGroupResource {
    pub(crate) fn new(session: &Session) -> SecurityGroupResource {
        SecurityGroupResource { session: session.clone() }
    }

    async fn finish(
        &self,
        aws: &Aws,
        op: &Op,
        planned: SecurityGroup,
        progress: &Progress,
    ) -> Result<SecurityGroup, Diagnostics> {
        let id = planned.id.text();
        let have = op.call(|| api::get(aws, id)).await?;
        let tags = aws.tags(planned.name.text(), &planned.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;
        let want = rules::grants(planned.ingress.known().into_iter().flatten(), id);
        reconcile(aws, op, id, Direction::Ingress, &have.ingress, &want).await?;
        let want = rules::grants(planned.egress.known().into_iter().flatten(), id);
        reconcile(aws, op, id, Direction::Egress, &have.egress, &want).await?;
        let found = op.call(|| api::get(aws, id)).await?;
        let state = common::settle(&planned, &schema::state(&self.session, found, &planned))?;
        progress.save(&state);
        Ok(state)
    }
}

/// Allows what is missing before it takes away what is too much: connections live on while a rule is rewritten.
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
        op.go_on()?;
        op.call(|| api::authorize(aws, id, direction, &missing)).await?;
    }
    if !renamed.is_empty() {
        op.go_on()?;
        op.call(|| api::describe(aws, id, direction, &renamed)).await?;
    }
    if !surplus.is_empty() {
        op.go_on()?;
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

#[async_trait]
impl Resource for SecurityGroupResource {
    type Model = SecurityGroup;

    basics!(SecurityGroup);

    async fn validate(&self, config: &SecurityGroup, diagnostics: &mut Diagnostics) {
        for (rules, name) in [(&config.ingress, "ingress"), (&config.egress, "egress")] {
            rules::check(rules.known().into_iter().flatten(), &Path::of(name), diagnostics);
        }
        if config.allow_public_ingress.is_true() || config.allow_public_ingress.is_unknown() {
            return;
        }
        for range in rules::public(config.ingress.known().into_iter().flatten()) {
            diagnostics.error_at(
                Path::of("ingress"),
                "Ingress from the internet",
                format!(
                    "A rule lets {range} in, which is the internet or a large part of it. Name the ranges that need \
                     access; where the whole internet does (a public endpoint), set `allow_public_ingress = true`."
                ),
            );
        }
    }

    async fn plan(&self, ctx: &Context, change: &mut Change<SecurityGroup>, diagnostics: &mut Diagnostics) {
        common::plan(&self.session, ctx, change);
        let planned = &change.planned;
        let public = rules::public(planned.ingress.known().into_iter().flatten());
        if planned.allow_public_ingress.is_true() && !public.is_empty() {
            let ranges = public.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            diagnostics.push(
                Diagnostic::warning(
                    "Open to the internet",
                    format!(
                        "The security group {:?} lets {ranges} in, as `allow_public_ingress` allows.",
                        planned.name.text()
                    ),
                )
                .at(Path::of("ingress")),
            );
        }
        if !planned.name.is_unknown() {
            let id = planned.id.known().map(String::as_str);
            self.session.run().security_groups.put(planned.name.text(), id, rules::planned(planned));
        }
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &SecurityGroup, _diagnostics: &mut Diagnostics) {
        common::plan_destroy(&self.session, prior);
    }

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<SecurityGroup>,
        progress: &Progress,
    ) -> Result<SecurityGroup, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        let op = planned.op(ctx, Operation::Create);
        let name = planned.name.text().to_owned();
        let tags = aws.tags(&name, &planned.tags);
        let find = || api::find(&aws, &name, &planned);
        let create = || api::create(&aws, &planned, &tags);
        let id = adopt::ensure(&self.session, ctx, &op, &planned, find, create).await?;
        planned.set_id(&id);
        progress.save(&planned);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn read(&self, ctx: &Context, state: SecurityGroup) -> Result<Option<SecurityGroup>, Diagnostics> {
        let aws = self.session.get()?;
        self.session.run().hold(SecurityGroup::KIND, state.name.text(), state.id.text());
        let op = state.op(ctx, Operation::Read);
        let found = op.within(async { Ok(api::look(&aws, state.id.text()).await?) }).await?;
        Ok(found.map(|found| schema::state(&self.session, found, &state)))
    }

    async fn update(
        &self,
        ctx: &Context,
        prior: SecurityGroup,
        plan: Planned<SecurityGroup>,
        progress: &Progress,
    ) -> Result<SecurityGroup, Diagnostics> {
        let aws = self.session.get()?;
        let mut planned = plan.state;
        planned.set_id(prior.id.text());
        let op = planned.op(ctx, Operation::Update);
        self.finish(&aws, &op, planned, progress).await
    }

    async fn delete(&self, ctx: &Context, state: SecurityGroup) -> Result<(), Diagnostics> {
        let aws = self.session.get()?;
        if !adopt::may_delete(&self.session, ctx, &state) {
            return Ok(());
        }
        let op = state.op(ctx, Operation::Delete);
        let id = state.id.text();
        // Network interfaces of deleted endpoints linger for minutes.
        op.release(|| api::delete(&aws, id)).await?;
        op.until_gone(|| api::get(&aws, id)).await
    }

    async fn import(&self, _ctx: &Context, request: ImportRequest) -> Result<SecurityGroup, Diagnostics> {
        common::import(&self.session, &request)
    }
}
