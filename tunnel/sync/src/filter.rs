//! Which names are transferred.
//!
//! A pattern without a slash is compared with the last segment of a name, one with a slash with the whole name. `*` and `?`
//! stay within a segment, `**` crosses segments, and `{a,b}` and `[a-z]` are alternatives.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of names to include and to exclude. Exclusion wins.
#[derive(Debug, Clone)]
pub struct Filter {
    include: Option<GlobSet>,
    exclude: GlobSet,
    all: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Self { include: None, exclude: GlobSet::empty(), all: true }
    }
}

impl Filter {
    /// Names that match one of `include`, or all if that is empty, and none of `exclude`.
    ///
    /// # Errors
    /// A pattern is not valid; the text names it.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, String> {
        Ok(Self {
            include: if include.is_empty() { None } else { Some(set(include)?) },
            exclude: set(exclude)?,
            all: include.is_empty() && exclude.is_empty(),
        })
    }

    /// Whether a name is transferred.
    pub fn admits(&self, name: &str) -> bool {
        self.include.as_ref().is_none_or(|set| set.is_match(name)) && !self.exclude.is_match(name)
    }

    /// Whether every name is.
    pub fn admits_all(&self) -> bool {
        self.all
    }
}

fn set(patterns: &[String]) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let anywhere = if pattern.contains('/') {
            pattern.trim_start_matches('/').to_owned()
        } else {
            format!("**/{pattern}")
        };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
        builder.add(glob.map_err(|error| format!("`{pattern}`: {}", error.kind()))?);
    }
    builder.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(include: &[&str], exclude: &[&str], name: &str) -> bool {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        Filter::new(&owned(include), &owned(exclude)).unwrap().admits(name)
    }

    #[test]
    fn patterns_match_names_or_whole_paths() {
        assert!(admits(&[], &[], "a/b.bin"));
        assert!(admits(&["*.parquet"], &[], "a/b/c.parquet"));
        assert!(!admits(&["*.parquet"], &[], "a/b/c.parquet.crc"));
        assert!(admits(&["a/*.bin"], &[], "a/x.bin"));
        assert!(!admits(&["a/*.bin"], &[], "a/b/x.bin"));
        assert!(admits(&["a/**"], &[], "a/b/x.bin"));
        assert!(!admits(&["*.{bin,pt}"], &["tmp-*"], "a/tmp-1.pt"));
        assert!(!admits(&[], &["cache/**"], "cache/x"));
        assert_eq!(
            Filter::new(&["a[".into()], &[]).unwrap_err(),
            "`a[`: unclosed character class; missing ']'"
        );
    }
}
