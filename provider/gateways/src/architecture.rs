//! CPU architectures of images, machine types and binaries: a gateway whose parts do not match never boots.

use tf_provider_rs::{Attr, Choice, Diagnostic, Path};

use crate::boot::ReleaseBlock;

/// A CPU architecture that the binary is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Architecture {
    /// Intel and AMD.
    #[choice("x86_64")]
    X86,
    /// Graviton, Axion and Ampere.
    #[choice("arm64")]
    Arm,
}

impl Architecture {
    /// The name as clouds and documentation write it.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::X86 => "x86_64",
            Architecture::Arm => "arm64",
        }
    }
}

/// Part of a gateway whose architecture is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The attribute that selects it.
    pub path: Path,
    /// Its name in texts, such as "image ami-1".
    pub name: String,
    /// Its architecture.
    pub architecture: Architecture,
}

impl Part {
    /// The part `name` in the attribute `path`; `None` if its architecture is unknown.
    pub fn of(path: &str, name: String, architecture: Option<Architecture>) -> Option<Part> {
        Some(Part { path: Path::of(path), name, architecture: architecture? })
    }

    /// The binary; `None` if the configuration does not contain its architecture.
    pub fn binary(release: &Attr<ReleaseBlock>) -> Option<Part> {
        let architecture = release.known()?.architecture.known().copied()?;
        let path = Path::of("release").attribute("architecture");
        Some(Part { path, name: "binary in release".to_owned(), architecture })
    }
}

/// An error at the first part that has another architecture than the parts before it.
pub fn mismatch(parts: impl IntoIterator<Item = Part>) -> Option<Diagnostic> {
    let mut parts = parts.into_iter();
    let first = parts.next()?;
    let other = parts.find(|part| part.architecture != first.architecture)?;
    let (ours, theirs) = (first.architecture.name(), other.architecture.name());
    let detail = format!(
        "The {} is for {ours}, but the {} is for {theirs}, so the gateway would not start. Select both for the \
         same architecture.",
        first.name, other.name
    );
    Some(Diagnostic::error("CPU architectures do not match", detail).at(other.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_two_architectures_are_refused() {
        let image = |architecture| Part::of("image_id", "image ami-1".to_owned(), architecture);
        let machine =
            |architecture| Part::of("instance_type", "instance type c7gn.large".to_owned(), architecture);
        let (x86, arm) = (Some(Architecture::X86), Some(Architecture::Arm));
        assert_eq!(mismatch([image(arm), machine(arm)].into_iter().flatten()), None);
        assert_eq!(mismatch([image(None), machine(arm)].into_iter().flatten()), None);
        let binary = ReleaseBlock { architecture: Attr::Known(Architecture::X86), ..ReleaseBlock::default() };
        let parts = [image(None), machine(arm), Part::binary(&Attr::Known(binary))];
        let told = mismatch(parts.into_iter().flatten()).unwrap();
        assert_eq!(told.path, Some(Path::of("release").attribute("architecture")));
        insta::assert_snapshot!(mismatch([image(x86), machine(arm)].into_iter().flatten()).unwrap().detail);
    }
}
