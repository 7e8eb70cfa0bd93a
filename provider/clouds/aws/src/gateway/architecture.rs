//! Whether image, instance type and binary of a gateway have the same CPU architecture.

use tf_provider_rs::{Attr, Change, Diagnostics};
use warren_gateways::architecture::{Architecture, Part, mismatch};
use warren_gateways::boot::ReleaseBlock;
use warren_managed::Common;

use super::api;
use crate::ids::ImageId;
use crate::session::{Aws, Session};

/// Image, instance type and binary of a gateway.
pub(crate) type Parts<'a> = (&'a Attr<ImageId>, &'a Attr<String>, &'a Attr<ReleaseBlock>);

/// Reports an error if the parts of a planned gateway do not match, unless they are those that it has. An image that
/// cannot be read is not compared: AWS refuses it when the instance is created.
pub(crate) async fn check<M: Common<Cloud = Aws>>(
    session: &Session,
    change: &Change<M>,
    parts: fn(&M) -> Parts<'_>,
    diagnostics: &mut Diagnostics,
) {
    let (image, machine, release) = parts(&change.planned);
    if change.prior.as_ref().is_some_and(|prior| parts(prior) == (image, machine, release)) {
        return;
    }
    let image = match (session.known_of(&change.planned), image.known()) {
        (Some(aws), Some(image)) => {
            let architecture = api::architecture(&aws, image.as_str()).await.ok().flatten();
            Part::of("image_id", format!("image {image}"), architecture)
        }
        _ => None,
    };
    let machine = machine
        .known()
        .and_then(|name| Part::of("instance_type", format!("instance type {name}"), of_instance_type(name)));
    diagnostics.0.extend(mismatch([image, machine, Part::binary(release)].into_iter().flatten()));
}

/// The architecture that the name of an instance type implies: the letters after the generation contain `g` for
/// Graviton (Amazon EC2 documentation, "Instance type naming conventions"). Macs are not Linux machines.
fn of_instance_type(name: &str) -> Option<Architecture> {
    let (family, _) = name.split_once('.')?;
    if family.starts_with("mac") {
        return None;
    }
    let generation = family.find(|c: char| c.is_ascii_digit())?;
    let options = family.get(generation..)?.trim_start_matches(|c: char| c.is_ascii_digit());
    // The first generation of Graviton has no option, and the memory size of `u-6tb1` is no generation.
    let arm = family == "a1" || (!family.starts_with("u") && options.contains('g'));
    Some(if arm { Architecture::Arm } else { Architecture::X86 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instance_types_have_the_architecture_of_their_names() {
        for arm in
            ["c7gn.large", "t4g.nano", "a1.medium", "m8gd.xlarge", "im4gn.large", "g5g.xlarge", "x2gd.metal"]
        {
            assert_eq!(of_instance_type(arm), Some(Architecture::Arm), "{arm}");
        }
        for x86 in [
            "c6in.large",
            "g4dn.xlarge",
            "g6e.xlarge",
            "gr6.4xlarge",
            "m7a.large",
            "u-6tb1.112xlarge",
            "t3.micro",
        ] {
            assert_eq!(of_instance_type(x86), Some(Architecture::X86), "{x86}");
        }
        assert_eq!(of_instance_type("mac2.metal"), None);
        assert_eq!(of_instance_type("large"), None);
    }
}
