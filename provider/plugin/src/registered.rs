//! The names of everything that a provider offers.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Diagnostics};

/// What is registered under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Resource,
    DataSource,
    Ephemeral,
    Function,
    ListResource,
    Action,
}

impl Kind {
    /// As terraform-plugin-framework calls it (`internal/fwserver/server*.go`).
    fn summary(self) -> &'static str {
        match self {
            Kind::Resource => "Duplicate Resource Type Defined",
            Kind::DataSource => "Duplicate Data Source Type Defined",
            Kind::Ephemeral => "Duplicate Ephemeral Resource Type Defined",
            Kind::Function => "Duplicate Function Name Defined",
            Kind::ListResource => "Duplicate ListResource Type Defined",
            Kind::Action => "Duplicate Action Defined",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Resource => "resources",
            Kind::DataSource => "data sources",
            Kind::Ephemeral => "ephemeral resources",
            Kind::Function => "functions",
            Kind::ListResource => "list resources",
            Kind::Action => "actions",
        }
    }
}

/// The Rust types registered under each name, in the order of registration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<(Kind, String), Vec<&'static str>>);

impl Names {
    /// Records that `T` is registered as the `kind` called `name`.
    pub(crate) fn add<T>(&mut self, kind: Kind, name: impl Into<String>) {
        self.0.entry((kind, name.into())).or_default().push(std::any::type_name::<T>());
    }

    /// Adds all of `other`.
    pub(crate) fn merge(&mut self, other: Names) {
        for (name, types) in other.0 {
            self.0.entry(name).or_default().extend(types);
        }
    }

    /// An error for each name that is registered more than once.
    pub(crate) fn duplicates(&self) -> Diagnostics {
        let duplicate = |((kind, name), types): (&(Kind, String), &Vec<&str>)| {
            let detail = format!(
                "{name} is the name of {}. Names of {} must be unique. This is a bug in the provider.",
                types.join(" and "),
                kind.plural(),
            );
            (types.len() > 1).then(|| Diagnostic::error(kind.summary(), detail))
        };
        Diagnostics(self.0.iter().filter_map(duplicate).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_registered_twice_names_both() {
        let mut names = Names::default();
        names.add::<bool>(Kind::Resource, "notes_note");
        names.add::<bool>(Kind::DataSource, "notes_note");
        assert!(names.duplicates().is_empty(), "a resource and a data source may share a name");
        let mut more = Names::default();
        more.add::<char>(Kind::Resource, "notes_note");
        names.merge(more);
        let told = names.duplicates();
        assert_eq!(told.0.len(), 1);
        assert_eq!(told.0[0].summary, "Duplicate Resource Type Defined");
        assert!(told.0[0].detail.starts_with("notes_note is the name of bool and char."), "{told:?}");
    }
}
