//! A complete small provider: notes are text files in a directory.
//!
//! It shows a provider block, a resource with defaults, nested attributes, a write-only secret, replacement and
//! import, a data source, an ephemeral resource and a function. The crate's README explains how to try it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::function::{Parameter, Signature};
use tf_provider_rs::{
    Attr, Context, DataSource, Diagnostic, Diagnostics, Ephemeral, Function, FunctionError, ImportRequest,
    NotKnown, Number, Object, Path, Planned, Progress, Provider, Registry, Resource, Secret, Type, Value,
    async_trait,
};

fn main() -> ExitCode {
    tf_provider_rs::run(Notes::default(), "registry.terraform.io/example/notes", env!("CARGO_PKG_VERSION"))
}

/// The directory of the notes, set when the provider is configured.
type Directory = Arc<OnceLock<PathBuf>>;

fn file(directory: &Directory, name: &str) -> Result<PathBuf, Diagnostics> {
    match directory.get() {
        Some(directory) => Ok(directory.join(format!("{name}.txt"))),
        None => Err(Diagnostic::error(
            "The directory is not known yet",
            "`directory` in the provider block depends on a resource that does not exist yet. Apply that resource \
             first.",
        )
        .into()),
    }
}

fn failed(what: &str, path: &std::path::Path, error: &std::io::Error) -> Diagnostics {
    Diagnostic::error(format!("Cannot {what} the note"), format!("{}: {error}.", path.display())).into()
}

/// The provider.
#[derive(Default)]
struct Notes {
    directory: Directory,
}

/// Notes in a directory.
#[derive(Clone, Debug, Default, PartialEq, Provider)]
struct Config {
    /// An existing directory.
    #[attr(required)]
    directory: Attr<String>,
}

#[async_trait]
impl Provider for Notes {
    type Model = Config;

    fn registry(&self) -> Registry {
        Registry::new()
            .resource(Note { directory: Arc::clone(&self.directory) })
            .data_source(Size { directory: Arc::clone(&self.directory) })
            .ephemeral(Reading { directory: Arc::clone(&self.directory) })
            .function(Shout)
    }

    async fn configure(&self, _: &Context, _: &str, config: Config, _: &mut Diagnostics) {
        if let Attr::Known(directory) = config.directory {
            // Terraform configures each process only once.
            let _set_once = self.directory.set(PathBuf::from(directory));
        }
    }
}

/// A text file.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "notes_note")]
struct NoteModel {
    /// Name of the note.
    #[attr(required, replaces, identity, validate = one_word)]
    name: Attr<String>,
    /// Text of the note.
    #[attr(required)]
    text: Attr<String>,
    /// Last line.
    #[attr(default = "--\n")]
    footer: Attr<String>,
    /// Labels.
    #[attr(optional)]
    tags: Attr<BTreeSet<String>>,
    /// A number of any size.
    #[attr(optional)]
    serial: Attr<Number>,
    /// Links to show below the text.
    #[attr(optional)]
    links: Attr<BTreeMap<String, Link>>,
    /// Duration of a write in milliseconds.
    #[attr(default = 0)]
    pause_ms: Attr<u64>,
    /// Password. Write-only.
    #[attr(optional, sensitive, write_only)]
    password: Attr<Secret>,
    /// Size of the file in bytes.
    #[attr(computed)]
    size: Attr<u64>,
    /// Path of the file.
    #[attr(computed, keeps)]
    path: Attr<String>,
}

/// A link below a note.
#[derive(Clone, Debug, Default, PartialEq, Object)]
struct Link {
    /// Target of the link.
    #[attr(required, validate = https)]
    url: Attr<String>,
    /// Title of the link. Defaults to `untitled`.
    #[attr(default = "untitled")]
    title: Attr<String>,
}

impl NoteModel {
    /// The content of the file.
    fn content(&self) -> Result<String, NotKnown> {
        let mut content = format!("{}\n", self.text.value()?);
        for (name, link) in self.links.known().into_iter().flatten() {
            content += &format!("{name}: {} ({})\n", link.url.value()?, link.title.value()?);
        }
        Ok(content + self.footer.value()?)
    }
}

/// `notes_note`.
struct Note {
    directory: Directory,
}

#[async_trait]
impl Resource for Note {
    type Model = NoteModel;

    async fn create(
        &self,
        ctx: &Context,
        plan: Planned<NoteModel>,
        progress: &Progress,
    ) -> Result<NoteModel, Diagnostics> {
        let mut note = plan.state;
        let path = file(&self.directory, note.name.value()?)?;
        // The object exists now. If the create is interrupted, the next apply continues it.
        std::fs::File::create_new(&path).map_err(|error| failed("create", &path, &error))?;
        note.path = path.display().to_string().into();
        progress.save(&note);
        self.write(ctx, note, &path).await
    }

    async fn read(&self, _: &Context, mut note: NoteModel) -> Result<Option<NoteModel>, Diagnostics> {
        let path = file(&self.directory, note.name.value()?)?;
        match std::fs::metadata(&path) {
            Ok(found) => {
                note.size = found.len().into();
                note.path = path.display().to_string().into();
                Ok(Some(note))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    async fn update(
        &self,
        ctx: &Context,
        _: NoteModel,
        plan: Planned<NoteModel>,
        _: &Progress,
    ) -> Result<NoteModel, Diagnostics> {
        let path = file(&self.directory, plan.state.name.value()?)?;
        self.write(ctx, plan.state, &path).await
    }

    async fn delete(&self, _: &Context, note: NoteModel) -> Result<(), Diagnostics> {
        let path = file(&self.directory, note.name.value()?)?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("delete", &path, &error)),
            _ => Ok(()),
        }
    }

    async fn import(&self, _: &Context, request: ImportRequest) -> Result<NoteModel, Diagnostics> {
        let name = request.id_or("name")?;
        Ok(NoteModel { name: name.into(), ..NoteModel::default() })
    }
}

impl Note {
    async fn write(
        &self,
        ctx: &Context,
        mut note: NoteModel,
        path: &std::path::Path,
    ) -> Result<NoteModel, Diagnostics> {
        let pause = Duration::from_millis(note.pause_ms.known().copied().unwrap_or_default());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = ctx.cancel.cancelled() => {
                return Err(Diagnostic::error("Cancelled", "The note is incomplete. Apply again to complete \
                                              it.").into());
            }
        }
        let content = note.content()?;
        std::fs::write(path, &content).map_err(|error| failed("write", path, &error))?;
        note.size = u64::try_from(content.len()).unwrap_or(u64::MAX).into();
        note.path = path.display().to_string().into();
        Ok(note)
    }
}

fn one_word(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        diagnostics.error_at(
            path.clone(),
            "Invalid name",
            format!("{name:?} is not made of letters, digits and hyphens. Try \"shopping-list\"."),
        );
    }
}

fn https(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let url = value.as_str().unwrap_or_default();
    if !url.starts_with("https://") {
        diagnostics.error_at(
            path.clone(),
            "Invalid link",
            format!("{url:?} does not begin with \"https://\". Links must be encrypted."),
        );
    }
}

/// The size of a note.
#[derive(Clone, Debug, Default, PartialEq, DataSource)]
#[data_source(name = "notes_size")]
struct SizeModel {
    /// Name of the note.
    #[attr(required)]
    name: Attr<String>,
    /// Size in bytes.
    #[attr(computed)]
    size: Attr<u64>,
}

/// `data "notes_size"`.
struct Size {
    directory: Directory,
}

#[async_trait]
impl DataSource for Size {
    type Model = SizeModel;

    async fn read(&self, _: &Context, mut size: SizeModel) -> Result<SizeModel, Diagnostics> {
        let path = file(&self.directory, size.name.value()?)?;
        let found = std::fs::metadata(&path).map_err(|error| failed("find", &path, &error))?;
        size.size = found.len().into();
        Ok(size)
    }
}

/// The content of a note, never stored.
#[derive(Clone, Debug, Default, PartialEq, Ephemeral)]
#[ephemeral(name = "notes_reading")]
struct ReadingModel {
    /// Name of the note.
    #[attr(required)]
    name: Attr<String>,
    /// Content of the note.
    #[attr(computed, sensitive)]
    content: Attr<Secret>,
}

/// `ephemeral "notes_reading"`.
struct Reading {
    directory: Directory,
}

#[async_trait]
impl Ephemeral for Reading {
    type Model = ReadingModel;

    async fn open(
        &self,
        _: &Context,
        mut reading: ReadingModel,
    ) -> Result<Opened<ReadingModel>, Diagnostics> {
        let path = file(&self.directory, reading.name.value()?)?;
        let content = std::fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))?;
        reading.content = Secret(content).into();
        Ok(Opened { result: reading, renew_in: None, private: None })
    }
}

/// `provider::notes::shout`.
struct Shout;

impl Function for Shout {
    fn signature(&self) -> Signature {
        Signature::new("shout", "Text in capital letters", Type::String)
            .describe("Gives `text` in capital letters, with an exclamation mark.")
            .parameter(Parameter::new("text", Type::String, "What to shout."))
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        match arguments.first().and_then(Value::as_str) {
            Some("") => Err(FunctionError::argument(0, "there is nothing to shout")),
            text => Ok(Value::String(format!("{}!", text.unwrap_or_default().to_uppercase()))),
        }
    }
}
