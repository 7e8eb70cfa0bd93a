//! Whether image, machine type and binary of a gateway have the same CPU architecture.

use tf_provider_rs::{Attr, Diagnostic};
use warren_gateways::architecture::{Architecture, Part, mismatch};
use warren_gateways::boot::ReleaseBlock;

/// Families of machine types with Arm processors (Compute Engine documentation, "Arm VMs on Compute Engine").
const ARM: [&str; 4] = ["a4x", "c4a", "n4a", "t2a"];

/// Projects of public images, whose names contain the architecture if it is arm64.
const PUBLIC: [&str; 6] =
    ["cos-cloud", "debian-cloud", "rhel-cloud", "rocky-linux-cloud", "suse-cloud", "ubuntu-os-cloud"];

/// An error if parts of a planned gateway do not match.
pub(crate) fn check(
    image: &Attr<String>,
    machine_type: &Attr<String>,
    release: &Attr<ReleaseBlock>,
) -> Option<Diagnostic> {
    let image = image.known().and_then(|name| Part::of("image", format!("image {name}"), of_image(name)));
    let machine = machine_type.known().and_then(|name| {
        Part::of("machine_type", format!("machine type {name}"), Some(of_machine_type(name)))
    });
    mismatch([image, machine, Part::binary(release)].into_iter().flatten())
}

fn of_machine_type(name: &str) -> Architecture {
    let family = name.split('-').next().unwrap_or_default();
    if ARM.contains(&family) { Architecture::Arm } else { Architecture::X86 }
}

/// The architecture that the name of an image implies; `None` for images of other projects that do not name it.
fn of_image(image: &str) -> Option<Architecture> {
    if ["arm64", "aarch64"].iter().any(|word| image.contains(word)) {
        return Some(Architecture::Arm);
    }
    let public = PUBLIC.iter().any(|project| image.contains(&format!("{project}/")));
    (public || ["amd64", "x86-64"].iter().any(|word| image.contains(word))).then_some(Architecture::X86)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_imply_architectures() {
        let debian = "projects/debian-cloud/global/images/family/debian-12";
        assert_eq!(of_image(debian), Some(Architecture::X86));
        assert_eq!(of_image(&format!("{debian}-arm64")), Some(Architecture::Arm));
        assert_eq!(of_image("projects/acme-ml/global/images/gateway-7"), None);
        for arm in ["t2a-standard-2", "c4a-standard-4", "n4a-standard-2"] {
            assert_eq!(of_machine_type(arm), Architecture::Arm, "{arm}");
        }
        for x86 in ["n2-standard-2", "c4-standard-4", "t2d-standard-1", "n4-standard-2"] {
            assert_eq!(of_machine_type(x86), Architecture::X86, "{x86}");
        }
    }
}
