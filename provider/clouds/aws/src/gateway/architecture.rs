//! Whether image, instance type and binary of a gateway have the same CPU architecture.

use tf_provider_rs::{Attr, Diagnostic};
use warren_gateways::architecture::{Architecture, Part, mismatch};
use warren_gateways::boot::ReleaseBlock;

use super::api;
use crate::ids::ImageId;
use crate::session::Aws;

/// An error if image, instance type and binary of a planned gateway do not match. An image that cannot be read is not
/// compared: AWS refuses it when the instance is created.
pub(crate) async fn check(
    aws: Option<&Aws>,
    (image, machine, release): (&Attr<ImageId>, &Attr<String>, &Attr<ReleaseBlock>),
) -> Option<Diagnostic> {
    let image = match (aws, image.known()) {
        (Some(aws), Some(image)) => {
            let architecture = api::architecture(aws, image.as_str()).await.ok().flatten();
            Part::of("image_id", format!("image {image}"), architecture)
        }
        _ => None,
    };
    let machine = machine
        .known()
        .and_then(|name| Part::of("instance_type", format!("instance type {name}"), of_instance_type(name)));
    mismatch([image, machine, Part::binary(release)].into_iter().flatten())
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
