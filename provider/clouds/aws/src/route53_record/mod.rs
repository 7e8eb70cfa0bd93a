//! `warren_aws_route53_record`: the records of one name and type.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, Progress, async_trait};
use warren_managed::{Failure, Object, sets};

use crate::error::ApiError;
use crate::route53::{adopt_or_begin, conclude, in_sync, malformed, same_name, zone_id};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Record;
use model::RecordType;

const FORM: &str = "ZONE_NAME_TYPE";

#[async_trait]
impl Object for Record {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<Record>, _diagnostics: &mut Diagnostics) {
        let Some(prior) = &change.prior else { return };
        if let (Some(before), Some(after)) = (prior.name.known(), change.planned.name.known())
            && same_name(before, after)
        {
            change.requires_replace.retain(|path| path != &Path::of("name"));
        }
    }

    fn import(_session: &Session, id: &str) -> Result<Record, Diagnostics> {
        // Names may contain underscores.
        let parts = id.split_once('_').and_then(|(zone, rest)| Some((zone, rest.rsplit_once('_')?)));
        let Some((zone, (name, kind))) = parts.filter(|(_, (name, _))| !name.is_empty()) else {
            return Err(malformed(id, FORM));
        };
        let mut record = Record {
            zone_id: zone_id(zone, FORM)?,
            name: name.into(),
            r#type: Attr::Known(kind.parse().map_err(|_| malformed(id, FORM))?),
            ..Record::default()
        };
        record.part.id = api::id(&record)?.into();
        Ok(record)
    }

    async fn prepare(
        &mut self,
        _work: &Work<'_>,
        _prior: Option<&Record>,
        _config: &Record,
    ) -> Result<(), Diagnostics> {
        self.part.id = api::id(self)?.into();
        Ok(())
    }

    /// A record has no marks. One with the planned values may be the leftover of an interrupted run; any other is an
    /// error.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        match ApiError::if_found(api::read(aws, self).await)? {
            None => Ok(Vec::new()),
            Some(found) if api::same(&found, self) => Ok(vec![api::id(self)?]),
            Some(found) => Err(taken(&found)),
        }
    }

    async fn create(&self, aws: &Aws, _tags: &Tags) -> Result<String, ApiError> {
        create(self, aws).await.map(|(id, _)| id)
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let begun = adopt_or_begin(work, self, || create(self, &work.cloud)).await?;
        conclude(self, work, progress, begun).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Record, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let have = op.call(|| api::read(aws, self)).await?;
        if api::same(&have, self) {
            return Ok(have);
        }
        let change = op.call(|| api::write(aws, self)).await?;
        in_sync(work, change).await?;
        op.call(|| api::read(aws, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Record>, Diagnostics> {
        Ok(ApiError::if_found(api::read(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let change = op.call(|| api::delete(aws, self)).await?;
        in_sync(work, change).await?;
        op.until_gone(|| api::get(aws, self)).await
    }
}

async fn create(record: &Record, aws: &Aws) -> Result<(String, Option<String>), ApiError> {
    let change = api::create(aws, record).await?;
    Ok((api::id(record)?, change))
}

fn taken(found: &Record) -> ApiError {
    let (name, kind) =
        (found.name.as_deref().unwrap_or_default(), found.r#type.known().map_or("", RecordType::as_str));
    ApiError {
        operation: "ChangeResourceRecordSets",
        code: "InvalidChangeBatch".to_owned(),
        message: format!("the record {kind} {name} already exists with other values"),
        status: 400,
    }
}

/// Checks attributes that depend on each other; unknown values are skipped.
fn check(record: &Record, diagnostics: &mut Diagnostics) {
    let mut wrong =
        |path: &str, summary: &str, detail: &str| diagnostics.error_at(Path::of(path), summary, detail);
    if record.records.is_null() && record.alias.is_null() {
        wrong("records", "Record without values", "Set `records` with a `ttl`, or `alias`.");
    }
    if !record.records.is_null() && !record.alias.is_null() {
        wrong(
            "alias",
            "Record with values and an alias",
            "An alias has no values of its own. Remove one of `records` and `alias`.",
        );
    }
    if record.ttl.is_known() && record.alias.is_known() {
        wrong("ttl", "TTL of an alias", "An alias has the TTL of its target. Remove `ttl`.");
    }
    if record.ttl.is_null() && record.records.is_known() {
        wrong("ttl", "Record without a TTL", "`records` need a TTL. Set `ttl`, such as `300`.");
    }
    let values = sets::known(&record.records);
    match record.r#type.known() {
        Some(RecordType::Cname) if values.len() > 1 => {
            wrong(
                "records",
                "Several canonical names",
                "A name has one canonical name. Keep one value in `records`.",
            );
        }
        Some(RecordType::Txt)
            if values
                .iter()
                .any(|value| value.len() < 2 || !value.starts_with('"') || !value.ends_with('"')) =>
        {
            wrong(
                "records",
                "TXT value without quotes",
                "Route 53 expects `TXT` values in double quotes. Write them as `\"\\\"text\\\"\"`.",
            );
        }
        _ => {}
    }
}
