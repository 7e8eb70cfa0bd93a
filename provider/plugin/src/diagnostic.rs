//! Errors and warnings as Terraform shows them.

use crate::path::Path;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The operation fails.
    Error,
    /// The operation goes on.
    Warning,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One line, no full stop.
    pub summary: String,
    /// What conflicts, why, and one hint.
    pub detail: String,
    /// The attribute it is about; the whole object when `None`.
    pub path: Option<Path>,
}

impl Diagnostic {
    /// An error about the whole object.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, summary: summary.into(), detail: detail.into(), path: None }
    }

    /// A warning about the whole object.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(summary, detail) }
    }

    /// The same, about the attribute at `path`.
    #[must_use]
    pub fn at(mut self, path: Path) -> Diagnostic {
        self.path = Some(path);
        self
    }
}

/// Messages in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Adds a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds an error about the attribute at `path`.
    pub fn error_at(&mut self, path: Path, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::error(summary, detail).at(path));
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Whether any message is an error.
    pub fn has_error(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there is no message at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}
