//! Where an object is: its own site, and the account and site that the provider is configured for.
//!
//! ```text
//! site of an object   its attribute (`region`, `project`) -> stored identity -> ARN or ID -> provider block
//! create                  the attribute, or else the provider block
//! read, update, delete    where the object is
//! ```
//!
//! Another account than that of the state is refused: there, the object seems to be gone, so a read would remove it from
//! the state, the plan would create it again, and a destroy would succeed without deleting anything. A plan also refuses
//! another default site, because the configuration then asks for the object in one site and the state has it in
//! another one. A site that the resource itself sets replaces the object instead.
//!
//! If the configured account cannot be learned, an object whose state names its account is refused as well.

use std::time::Duration;

use tf_provider_rs::{Attr, Change, Context, Diagnostic, Diagnostics, Path, Value};

use crate::cloud::{Cloud, Locator, Place};
use crate::common::Common;
use crate::session::Session;

/// How long the first refused object waits for others, which Terraform reads at the same time, to list them all.
const GATHERING: Duration = Duration::from_millis(300);

/// `object` of a state, with its site.
pub(crate) fn placed<M: Common>(ctx: &Context, cloud: Option<&M::Cloud>, mut object: M) -> M {
    if let (Some(name), Some(Attr::Null)) = (M::Cloud::SITE, object.site()) {
        let ours = || cloud.and_then(|cloud| cloud.place().remove(name));
        if let Some(site) = stored(ctx, &object).remove(name).filter(|site| !site.is_empty()).or_else(ours) {
            object.set_site(&site);
        }
    }
    object
}

/// Plans the site. `prior` is the state with its site, which older versions did not store.
pub(crate) fn plan<M: Common>(cloud: Option<&M::Cloud>, prior: Option<&M>, change: &mut Change<M>) {
    let (Some(name), Some(planned)) = (M::Cloud::SITE, change.planned.site()) else { return };
    let open = planned.is_unknown() || (planned.is_null() && prior.is_none());
    if open && change.config.site().is_some_and(Attr::is_null) {
        let site = match prior {
            Some(prior) => prior.site().and_then(Attr::known).cloned(),
            None => cloud.and_then(|cloud| cloud.place().remove(name)),
        };
        if let Some(site) = site {
            change.planned.set_site(&site);
        }
    }
    if prior.is_some_and(|prior| prior.site() == change.planned.site()) {
        change.requires_replace.retain(|path| path != &Path::of(name));
    }
}

/// Compares the place of `object` with the configured one; its site only if it `follows` the provider block.
///
/// # Errors
/// They differ, or the configured one cannot be learned.
pub(crate) async fn refuse<M: Common>(
    session: &Session<M::Cloud>,
    ctx: &Context,
    object: &M,
    follows: bool,
) -> Result<(), Diagnostics> {
    let Some(cloud) = session.known() else { return Ok(()) };
    let located = cloud.locate().await;
    let mut diagnostics = Diagnostics::default();
    let (in_state, configured) = (stored(ctx, object), cloud.place());
    if let Err(cause) = located {
        let named = |locator: &&Locator| {
            let found = in_state.get(locator.attribute).filter(|found| !found.is_empty());
            found.is_some() && !configured.contains_key(locator.attribute)
        };
        if let Some(locator) = M::Cloud::LOCATORS.iter().find(named) {
            return Err(unlocated(&object.label(), *locator, &in_state[locator.attribute], &cause).into());
        }
    }
    for locator in M::Cloud::LOCATORS {
        let own = M::Cloud::SITE == Some(locator.attribute);
        if let (Some(found), Some(ours)) =
            (in_state.get(locator.attribute), configured.get(locator.attribute))
            && !found.is_empty()
            && found != ours
            && (follows || !own)
        {
            let label = object.label();
            let site = object.site().and_then(Attr::known).filter(|_| !own);
            let listed = site.map_or_else(|| label.clone(), |site| format!("{label} in {site}"));
            let others = gathered(session, *locator, found, &listed).await;
            diagnostics.push(elsewhere(&label, *locator, (found, ours), own, &others));
        }
    }
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics) }
}

/// The place of the object. What the attributes lack, such as in states of older versions, is taken from the stored
/// identity, and then from names and IDs.
fn stored<M: Common>(ctx: &Context, object: &M) -> Place {
    let mut place = M::Cloud::place_of(&object.to_value());
    for locator in M::Cloud::LOCATORS {
        let value = ctx.identity.as_ref().and_then(|identity| identity.get(locator.attribute));
        if let Some(value) = value.and_then(Value::as_str) {
            place.insert(locator.attribute, value.to_owned());
        }
    }
    if let Some(name) = M::Cloud::SITE {
        match object.site() {
            Some(Attr::Known(site)) => drop(place.insert(name, site.clone())),
            Some(_) => {}
            None => drop(place.remove(name)),
        }
    }
    place
}

/// All objects that were refused for the same reason, if this is the first of them.
async fn gathered<C: Cloud>(session: &Session<C>, locator: Locator, found: &str, label: &str) -> Vec<String> {
    let objects = session.objects();
    if !objects.refused(locator.attribute, found, label) {
        return Vec::new();
    }
    tokio::time::sleep(GATHERING).await;
    objects.all_refused(locator.attribute, found)
}

fn unlocated(label: &str, locator: Locator, found: &str, cause: &Diagnostics) -> Diagnostic {
    let noun = locator.noun;
    let causes: Vec<String> =
        cause.0.iter().map(|cause| format!("{}: {}", cause.summary, cause.detail)).collect();
    Diagnostic::error(
        format!("The configured {noun} is not known"),
        format!(
            "The state says that {label} is in {noun} {found}, but the {noun} of the configured credentials could not be \
             read. Nothing was changed, because in another {noun} the object would seem to be gone, and would be created a \
             second time.\n\n{}",
            causes.join("\n\n")
        ),
    )
}

fn elsewhere(
    label: &str,
    locator: Locator,
    (found, ours): (&str, &str),
    own: bool,
    all: &[String],
) -> Diagnostic {
    let Locator { attribute, noun, setting } = locator;
    let why = if own {
        format!(
            "Nothing was changed, because a second object would be created and the first one orphaned. To keep it, \
             set `{attribute} = \"{found}\"` in the resource, or {setting} for {found}. To move it, set `{attribute} = \
             \"{ours}\"` in the resource, which replaces it."
        )
    } else {
        format!(
            "Nothing was changed, because the object would seem to be gone, and would be created a second time. To \
             manage it, {setting} for {found}."
        )
    };
    let orphans = if all.len() > 1 {
        let lines: String = all.iter().map(|label| format!("\n  - {label}")).collect();
        format!(
            "\n\nThese objects of the state are in {noun} {found} and would be orphaned, with those that depend on \
             them:{lines}"
        )
    } else {
        String::new()
    };
    Diagnostic::error(
        format!("The object is in another {noun}"),
        format!(
            "The state says that {label} is in {noun} {found}, but the provider is configured for {noun} {ours}. {why} \
             To leave it behind, run `terraform state rm` with its address.{orphans}"
        ),
    )
}
