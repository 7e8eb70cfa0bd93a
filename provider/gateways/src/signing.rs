//! The private half of a signing key, read from the secret store of a cloud for one run.

use tf_provider_rs::{Attr, Context, Diagnostic, Diagnostics, Path, Secret};
use warren_managed::{Cloud, Op, Operation, timeouts};
use warren_wire::fetch::Content;
use zeroize::Zeroizing;

/// Where a signing key is stored.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The resource type that stores such keys.
    pub resource: &'static str,
    /// The attribute that names the object.
    pub attribute: &'static str,
    /// The name of the object.
    pub name: &'a str,
    /// The object in messages, such as `parameter /warren/tokens`.
    pub shown: &'a str,
}

/// Opens the ephemeral resource: the private key that `read` returns.
///
/// # Errors
/// The last error of the cloud, a timeout, a cancelled run, or the text is not a signing key.
pub async fn open<C, F>(
    ctx: &Context,
    place: Place<'_>,
    read: impl Fn() -> F,
) -> Result<Attr<Secret>, Diagnostics>
where
    C: Cloud,
    F: Future<Output = Result<Zeroizing<String>, C::Error>>,
{
    let what = format!("{} {:?}", place.resource, place.name);
    let op = Op::<C::Error>::new(ctx, C::NAME, what, timeouts::of(&Attr::Null, Operation::Read));
    secret(&op.within(op.call(read)).await?, place)
}

fn secret(text: &str, place: Place<'_>) -> Result<Attr<Secret>, Diagnostics> {
    match Content::SigningKey.refuses(text) {
        None => Ok(Attr::Known(Secret(text.trim_end().to_owned()))),
        Some(why) => Err(Diagnostic::error(
            "Not a signing key",
            format!(
                "The {} does not contain a signing key: {why}. Use the name of a `{}`.",
                place.shown, place.resource
            ),
        )
        .at(Path::of(place.attribute))
        .into()),
    }
}
