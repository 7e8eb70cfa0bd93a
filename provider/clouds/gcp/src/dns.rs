//! Names of the Domain Name System.

/// Whether this is a fully qualified name in lowercase with a final dot. The first label may be `*` or start with `_`.
pub(crate) fn is_name(name: &str) -> bool {
    let Some(labels) = name.strip_suffix('.') else { return false };
    let label = |(place, label): (usize, &str)| {
        let plain =
            label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'));
        let whole = !label.starts_with('-') && !label.ends_with('-');
        (place == 0 && label == "*") || ((1..=63).contains(&label.len()) && plain && whole)
    };
    name.len() <= 254 && labels.split('.').enumerate().all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in
            ["pkg.dev.", "*.pkg.dev.", "_dmarc.acme-ml.com.", "com.", &format!("{}.dev.", "a".repeat(63))]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "pkg.dev", "Pkg.dev.", "a..b.", ".a.", "a.*.b.", "-a.b.", "a-.b.", "a b.c."] {
            assert!(!is_name(name), "{name}");
        }
        assert!(!is_name(&format!("{}.dev.", "a".repeat(64))));
        assert!(!is_name(&format!("{}a.", "a.".repeat(127))));
    }
}
