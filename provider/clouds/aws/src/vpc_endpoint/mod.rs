//! `warren_aws_vpc_endpoint`: a gateway or interface endpoint. At plan time, endpoints for ECR are checked
//! for completeness.

mod api;
mod buckets;
mod complete;
mod model;
mod service;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, async_trait};

use crate::error::ApiError;
use crate::memory::PlannedEndpoint;
use crate::policy;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
use complete::Around;
pub(crate) use model::{Endpoint, Kind};
use warren_managed::sets::{self, Set};
use warren_managed::{Common as _, Failure, Object, Poll};

#[async_trait]
impl Object for Endpoint {
    fn validate(&self, session: &Session, diagnostics: &mut Diagnostics) {
        if !self.policy.is_null() && !self.bucket_policy.is_null() {
            diagnostics.error_at(
                Path::of("bucket_policy"),
                "Conflicting endpoint policies",
                "`policy` and `bucket_policy` both define the policy of the endpoint. Remove one of them.",
            );
        }
        let Some(service) = self.service.known() else { return };
        let aws = session.known_of(self);
        let short = service::short(service, aws.as_ref().map(|aws| aws.region.as_str()));
        if self.bucket_policy.is_known() && short != "s3" && !service.ends_with(".s3") {
            diagnostics.error_at(
                Path::of("bucket_policy"),
                "Bucket policy for another service",
                format!(
                    "`bucket_policy` is only valid for `s3`. Write the policy for `{service}` as JSON in \
                     `policy`."
                ),
            );
        }
        let kind = match &self.r#type {
            Attr::Known(kind) => *kind,
            Attr::Null if !service::is_full(short) => service::default_type(short),
            Attr::Null if service.ends_with(".s3") || service.ends_with(".dynamodb") => Kind::Gateway,
            Attr::Null => Kind::Interface,
            Attr::Unknown => return,
        };
        let (other, misplaced) = match kind {
            Kind::Gateway => {
                let interfaces = [
                    ("subnet_ids", has_items(&self.subnet_ids)),
                    ("security_group_ids", has_items(&self.security_group_ids)),
                    ("private_dns_enabled", self.private_dns_enabled.is_true()),
                    ("dns_options", self.dns_options.is_known()),
                ];
                (Kind::Interface, interfaces.to_vec())
            }
            Kind::Interface => (Kind::Gateway, vec![("route_table_ids", has_items(&self.route_table_ids))]),
        };
        for (name, _) in misplaced.into_iter().filter(|(_, set)| *set) {
            diagnostics.error_at(
                Path::of(name),
                "Attribute of another endpoint type",
                format!(
                    "`{name}` is only valid for endpoints of type `{other}`, but this endpoint is of type \
                     `{kind}`. Remove it, or set `type = \"{other}\"`."
                ),
            );
        }
    }

    async fn plan(session: &Session, change: &mut Change<Endpoint>, diagnostics: &mut Diagnostics) {
        let region = session.known_of(&change.planned).map(|aws| aws.region.clone());
        let short = derive(&mut change.planned, (&change.prior, &change.config), region.as_deref());
        let planned = &change.planned;
        if let Some(prior) = &change.prior
            && prior.service_name.is_known()
            && prior.service_name == planned.service_name
        {
            change.requires_replace.retain(|path| path != &Path::of("service"));
        }
        let Some(short) = short else { return };
        check_completeness(session, change, &short, diagnostics).await;
        let planned = &change.planned;
        let Ok(name) = planned.object.name() else { return };
        let policy = region.map_or(Attr::Unknown, |region| planned.wanted_policy(&region));
        let memory = PlannedEndpoint {
            vpc_id: planned.vpc_id.clone(),
            service: short,
            private_dns: planned.private_dns_enabled,
            policy,
        };
        let id = planned.object.id().ok();
        session.run().endpoints.put(&planned.local(name), id, memory);
    }

    /// Derives the values that were unknown at plan time.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&Endpoint>,
        config: &Endpoint,
    ) -> Result<(), Diagnostics> {
        if prior.is_none() {
            derive(self, (&None, config), Some(&work.cloud.region));
        }
        Ok(())
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Endpoint, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = ready(work, self).await?;
        self.object.retag(work, &have.state.object).await?;
        op.check_cancelled()?;
        op.call(|| api::modify(aws, &have, self)).await?;
        ready(work, self).await?;
        op.call(|| api::read(aws, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Endpoint>, Diagnostics> {
        Ok(ApiError::if_found(api::read(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        // An interrupted create has not recorded its interfaces.
        let mut interfaces = sets::known(&self.network_interface_ids);
        let found = ApiError::if_found(api::get(aws, self).await).map_err(|error| op.explain(error))?;
        interfaces.extend(found.iter().flat_map(|found| sets::known(&found.state.network_interface_ids)));
        op.delete(|| api::delete(aws, self), || api::get(aws, self)).await?;
        // Subnets and security groups can be deleted only after the interfaces.
        op.until("without network interfaces", || async {
            let living = api::interfaces(aws, &interfaces).await?;
            Ok(if living.is_empty() { Poll::Ready(()) } else { Poll::Pending(living.join(", ")) })
        })
        .await
    }
}

fn has_items<T>(set: &Set<T>) -> bool {
    set.known().is_some_and(|items| !items.is_empty())
}

/// Plans the values that follow from other attributes. Returns the short name of the service, if it is known.
fn derive(
    planned: &mut Endpoint,
    (prior, config): (&Option<Endpoint>, &Endpoint),
    region: Option<&str>,
) -> Option<String> {
    let service = planned.service.known().cloned();
    let short = service.as_deref().map(|service| service::short(service, region).to_owned());
    if config.r#type.is_null() && (prior.is_none() || planned.r#type.is_unknown()) {
        planned.r#type =
            short.as_deref().map_or(Attr::Unknown, |short| Attr::Known(service::default_type(short)));
    }
    planned.service_name = match (&service, region, planned.r#type.known()) {
        (Some(service), Some(region), Some(kind)) => service::full(service, region, *kind).into(),
        (Some(service), _, _) if service::is_full(service) => service.clone().into(),
        _ => Attr::Unknown,
    };
    let Some(kind) = planned.r#type.known() else { return short };
    let gateway = *kind == Kind::Gateway;
    if config.private_dns_enabled.is_null()
        && let Some(service) = &service
    {
        planned.private_dns_enabled = (!gateway && !service::is_customers(service)).into();
    }
    if gateway {
        planned.network_interface_ids = sets::of([]);
        if config.security_group_ids.is_null() {
            planned.security_group_ids = sets::of([]);
        }
    } else {
        planned.prefix_list_id = Attr::Null;
    }
    if let Some(prior) = prior {
        if prior.subnet_ids != planned.subnet_ids {
            planned.network_interface_ids = Attr::Unknown;
            planned.cidr_blocks = Attr::Unknown;
            planned.dns_entries = Attr::Unknown;
        }
        if (&prior.private_dns_enabled, &prior.ip_address_type, &prior.dns_options)
            != (&planned.private_dns_enabled, &planned.ip_address_type, &planned.dns_options)
        {
            planned.dns_entries = Attr::Unknown;
        }
        if !gateway && prior.ip_address_type != planned.ip_address_type {
            planned.cidr_blocks = Attr::Unknown;
        }
        if let (Attr::Known(before), Attr::Known(after)) = (&prior.policy, &planned.policy)
            && policy::equivalent(before, after)
        {
            planned.policy = prior.policy.clone();
        }
    }
    short
}

async fn check_completeness(
    session: &Session,
    change: &Change<Endpoint>,
    short: &str,
    diagnostics: &mut Diagnostics,
) {
    let planned = &change.planned;
    if !complete::concerns(planned, short) {
        return;
    }
    // Another change in this run may remove something that an unchanged endpoint needs.
    let look_up = change.prior.as_ref() != Some(planned);
    match around(session, planned, short, look_up).await {
        Ok(around) => {
            let aws = session.known_of(planned);
            let region = aws.as_ref().map(|aws| aws.region.as_str());
            complete::check(planned, &change.config, short, region, &around, diagnostics);
        }
        Err(error) => diagnostics.push(Diagnostic::warning(
            "VPC endpoint not checked",
            format!(
                "Warren could not check whether the endpoint `{short}` has everything that an image pull \
                 needs: {error}."
            ),
        )),
    }
}

/// The input of the completeness check: planned objects of this run, and live objects if `look_up` is set.
async fn around(
    session: &Session,
    endpoint: &Endpoint,
    short: &str,
    look_up: bool,
) -> Result<Around, ApiError> {
    let run = session.run();
    let aws = session.known_of(endpoint).filter(|_| look_up);
    let mut around = Around { looked_up: look_up, ..Around::default() };
    if let Some(id) = endpoint.vpc_id.known() {
        around.vpc = run.vpcs.by_id(id);
        if let (None, Some(aws)) = (&around.vpc, &aws) {
            around.vpc = Some(crate::vpc::live(aws, id).await?);
        }
    }
    let mut elsewhere = BTreeSet::new();
    for id in sets::known(&endpoint.security_group_ids) {
        match run.security_groups.by_id(&id) {
            Some(group) => drop(around.groups.insert(id, group)),
            None => drop(elsewhere.insert(id)),
        }
    }
    if let Some(aws) = &aws {
        around.groups.extend(api::groups(aws, &elsewhere).await?);
    }
    around.endpoints = run.endpoints.all().into_iter().map(|(_, planned)| planned).collect();
    around.zones = run.zones.all().into_iter().map(|(_, planned)| planned).collect();
    if endpoint.private_dns_enabled == Attr::Known(false)
        && let (Some(aws), Some(id)) = (&aws, endpoint.vpc_id.known())
    {
        around.zones.extend(api::zones(aws, id).await?);
    }
    let missing = |service: &&&str| {
        !around
            .endpoints
            .iter()
            .any(|o| o.service == ***service && complete::same_vpc(&o.vpc_id, &endpoint.vpc_id))
    };
    if let (Some(aws), Some(id)) = (&aws, endpoint.vpc_id.known())
        && complete::companions(short).iter().any(|service| missing(&service))
    {
        around.endpoints.extend(api::of_vpc(aws, id).await?);
    }
    Ok(around)
}

/// Waits until the endpoint is available or pending acceptance by another account.
async fn ready(work: &Work<'_>, planned: &Endpoint) -> Result<api::Found, Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    op.until("available", || async {
        let found = api::get(aws, planned).await?;
        match found.state.state.value()?.as_str() {
            "available" | "pendingacceptance" => Ok(Poll::Ready(found)),
            "failed" | "rejected" | "expired" => Err(api::failed(&found)?),
            state => Ok(Poll::Pending(state.to_owned())),
        }
    })
    .await
}
