//! A complete provider in 100 lines: to-do items are text files in a directory.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use tf_provider_rs::validators::{between, length_between};
use tf_provider_rs::{
    Attr, Context, Diagnostic, Diagnostics, ImportRequest, Planned, Progress, Provider, Registry, Resource,
    async_trait,
};

fn main() -> ExitCode {
    tf_provider_rs::run(Todo::default(), "registry.terraform.io/example/todo", env!("CARGO_PKG_VERSION"))
}

/// Manages to-do items, which are files in a directory.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Config {
    /// Existing directory for the files.
    #[attr(required)]
    directory: Attr<String>,
}

#[derive(Default)]
struct Todo(Arc<OnceLock<PathBuf>>);

#[async_trait]
impl Provider for Todo {
    type Model = Config;

    fn registry(&self) -> Registry {
        Registry::new().resource(Items(Arc::clone(&self.0)))
    }

    async fn configure(&self, _: &Context, _: &str, config: Config, _: &mut Diagnostics) {
        if let Attr::Known(directory) = config.directory {
            let _first_wins = self.0.set(PathBuf::from(directory));
        }
    }
}

/// Manages a to-do item.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "todo_item")]
struct Item {
    /// Name of the item. Changing this replaces the item.
    #[attr(required, replaces, identity, validate = length_between(1, 40))]
    name: Attr<String>,
    /// Priority from 1 to 5. Defaults to 3.
    #[attr(default = 3, validate = between(1, 5))]
    priority: Attr<u8>,
    /// Path of the file.
    #[attr(computed, keeps)]
    path: Attr<String>,
}

struct Items(Arc<OnceLock<PathBuf>>);

#[async_trait]
impl Resource for Items {
    type Model = Item;

    async fn create(&self, _: &Context, plan: Planned<Item>, _: &Progress) -> Result<Item, Diagnostics> {
        let missing = || Diagnostic::error("Unknown directory", "Set `directory` to a known value.");
        let directory = self.0.get().ok_or_else(missing)?;
        let path = directory.join(plan.state.name.value()?).display().to_string();
        write(Item { path: path.into(), ..plan.state })
    }

    async fn read(&self, _: &Context, item: Item) -> Result<Option<Item>, Diagnostics> {
        match std::fs::read_to_string(item.path.value()?) {
            Ok(text) => Ok(Some(Item { priority: text.trim().parse().ok().into(), ..item })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    async fn update(
        &self,
        _: &Context,
        _: Item,
        plan: Planned<Item>,
        _: &Progress,
    ) -> Result<Item, Diagnostics> {
        write(plan.state)
    }

    async fn delete(&self, _: &Context, item: Item) -> Result<(), Diagnostics> {
        match std::fs::remove_file(item.path.value()?) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    async fn import(&self, _: &Context, request: ImportRequest) -> Result<Item, Diagnostics> {
        let name = request.id_or("name")?;
        let path = self.0.get().map(|directory| directory.join(&name).display().to_string());
        Ok(Item { name: name.into(), path: path.into(), ..Item::default() })
    }
}

fn write(item: Item) -> Result<Item, Diagnostics> {
    let text = format!("{}\n", item.priority.value()?);
    std::fs::write(Path::new(item.path.value()?), text).map_err(|error| failed(&error))?;
    Ok(item)
}

fn failed(error: &std::io::Error) -> Diagnostics {
    Diagnostic::error("Cannot access the file", error.to_string()).into()
}
