//! Attribute paths, which locate a diagnostic in a configuration.

use std::fmt;

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// An attribute of an object.
    Attribute(String),
    /// An element of a map.
    Key(String),
    /// An element of a list or tuple, counted from 0.
    Index(i64),
}

/// A path from the root of a resource, data source or provider configuration.
///
/// The protocol cannot address elements of sets, so a path ends at the set.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The root object itself.
    pub fn root() -> Path {
        Path::default()
    }

    /// A top-level attribute.
    pub fn of(name: &str) -> Path {
        Path::root().attribute(name)
    }

    /// The attribute `name` below this path.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Path {
        self.with(Step::Attribute(name.to_owned()))
    }

    /// The map element `key` below this path.
    #[must_use]
    pub fn key(&self, key: &str) -> Path {
        self.with(Step::Key(key.to_owned()))
    }

    /// The list element `index` below this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Path {
        self.with(Step::Index(i64::try_from(index).unwrap_or(i64::MAX)))
    }

    fn with(&self, step: Step) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }
}

impl fmt::Display for Path {
    /// As a user writes it: `networks["aws"].subnets["data"].prefix`, `routes[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Attribute(name) if position == 0 => f.write_str(name)?,
                Step::Attribute(name) => write!(f, ".{name}")?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
