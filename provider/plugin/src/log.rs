//! Logs in Terraform's format: one hclog JSON object per line on standard error.
//!
//! Lines are those of terraform-plugin-log: `@level`, `@message`, `@module`, `@timestamp` and `@caller`, then the fields.
//! The module is the provider's name, or the framework's logger: `sdk.proto` for calls of the client, `sdk.framework` for
//! calls of the provider's code.
//!
//! The provider's level is taken from `TF_LOG_PROVIDER_<NAME>`, `TF_LOG_PROVIDER` or `TF_LOG`, that of the framework's
//! loggers from `TF_LOG_SDK_PROTO`, `TF_LOG_SDK_FRAMEWORK` or `TF_LOG_SDK`, if set. The default is warnings. Transport
//! libraries are limited to warnings and cloud SDKs to info, because at lower levels they log headers and bodies that
//! contain credentials. Values of sensitive attributes are masked in every line.

pub(crate) mod rpc;
pub(crate) mod secrets;

use std::fmt::{Debug, Write as _};
use std::io::Write;
use std::sync::Mutex;

use serde_json::{Map, Value as Json};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::Record;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

const TIMESTAMP: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// Crates that would log transported data.
const TRANSPORT: [&str; 9] =
    ["h2", "hyper", "hyper_util", "reqwest", "rustls", "tonic", "tower", "tokio_util", "object_store"];

/// Loggers of the framework, each with its own variable.
const LOGGERS: [(&str, &str); 2] =
    [("sdk.proto", "TF_LOG_SDK_PROTO"), ("sdk.framework", "TF_LOG_SDK_FRAMEWORK")];

/// Sends the logs of the process to standard error, unless a subscriber is already set.
pub(crate) fn install(provider: &str, environment: impl Fn(&str) -> Option<String>) {
    let level = provider_level(provider, &environment);
    let filter = Targets::new()
        .with_default(level)
        .with_targets(TRANSPORT.map(|name| (name, level.min(LevelFilter::WARN))))
        .with_targets(["aws", "google_cloud"].map(|name| (name, level.min(LevelFilter::INFO))))
        .with_targets(LOGGERS.map(|(name, own)| (name, logger_level(own, level, &environment))));
    let layer = HcLog { provider: provider.replace('-', "_"), out: Mutex::new(std::io::stderr()) };
    // A program around the framework may have set its own subscriber; that one wins.
    let _already_set = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}

fn provider_level(provider: &str, environment: impl Fn(&str) -> Option<String>) -> LevelFilter {
    let own = format!("TF_LOG_PROVIDER_{}", provider.to_uppercase().replace('-', "_"));
    first(&[&own, "TF_LOG_PROVIDER", "TF_LOG"], environment).unwrap_or(LevelFilter::WARN)
}

/// The level of a logger of the framework whose variable is `own`; by default that of the provider.
fn logger_level(
    own: &str,
    provider: LevelFilter,
    environment: impl Fn(&str) -> Option<String>,
) -> LevelFilter {
    first(&[own, "TF_LOG_SDK"], environment).unwrap_or(provider)
}

/// The level in the first of these variables that is set.
fn first(names: &[&str], environment: impl Fn(&str) -> Option<String>) -> Option<LevelFilter> {
    let text = names.iter().find_map(|name| environment(name).filter(|text| !text.is_empty()))?;
    Some(match text.to_lowercase().as_str() {
        "warn" => LevelFilter::WARN,
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        // "json" is trace in another format; Terraform takes any other word for trace too.
        _ => LevelFilter::TRACE,
    })
}

/// Writes events as hclog lines.
struct HcLog<W> {
    provider: String,
    out: Mutex<W>,
}

impl<S, W> Layer<S> for HcLog<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Write + Send + 'static,
{
    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        id: &tracing::span::Id,
        context: Context<'_, S>,
    ) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &tracing::span::Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.keep(outer);
            }
        }
        event.record(&mut fields);
        let line = self.line(event, fields, OffsetDateTime::now_utc());
        // If standard error is closed, the error cannot be reported.
        if let Ok(mut out) = self.out.lock() {
            let _nobody_to_tell = out.write_all(line.as_bytes());
        }
    }
}

impl<W> HcLog<W> {
    fn line(&self, event: &Event<'_>, fields: Fields, now: OffsetDateTime) -> String {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let metadata = event.metadata();
        let module = match metadata.target() {
            logger if logger.starts_with("sdk.") => logger,
            _ => self.provider.as_str(),
        };
        let caller = match (metadata.file(), metadata.line()) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => metadata.target().to_owned(),
        };
        let mut entry = fields.values;
        for text in entry.values_mut() {
            if let Json::String(text) = text {
                *text = secrets::masked(text).into_owned();
            }
        }
        entry.insert("@level".to_owned(), level.into());
        entry.insert("@message".to_owned(), secrets::masked(&fields.message).into());
        entry.insert("@module".to_owned(), module.into());
        entry.insert("@timestamp".to_owned(), now.format(TIMESTAMP).unwrap_or_default().into());
        entry.insert("@caller".to_owned(), caller.into());
        format!("{}\n", Json::Object(entry))
    }
}

/// The message and fields of an event or span.
#[derive(Default)]
struct Fields {
    message: String,
    values: Map<String, Json>,
}

impl Fields {
    /// Adds the fields of an enclosing span. Inner fields take precedence.
    fn keep(&mut self, outer: &Fields) {
        for (name, value) in &outer.values {
            self.values.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    fn set(&mut self, field: &Field, value: Json) {
        self.values.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _infallible = write!(self.message, "{value:?}");
        } else {
            self.set(field, format!("{value:?}").into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.set(field, value.into());
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_nearest_variable_wins() {
        let level = |set: &[(&str, &str)]| {
            provider_level("my-notes", |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(level(&[]), LevelFilter::WARN);
        assert_eq!(level(&[("TF_LOG", "INFO")]), LevelFilter::INFO);
        assert_eq!(level(&[("TF_LOG", "json")]), LevelFilter::TRACE);
        assert_eq!(level(&[("TF_LOG", "info"), ("TF_LOG_PROVIDER", "off")]), LevelFilter::OFF);
        assert_eq!(
            level(&[("TF_LOG_PROVIDER", "off"), ("TF_LOG_PROVIDER_MY_NOTES", "debug")]),
            LevelFilter::DEBUG
        );
        assert_eq!(level(&[("TF_LOG", "error"), ("TF_LOG_PROVIDER", "")]), LevelFilter::ERROR);
    }

    /// A writer that the test can look into.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_line_with_the_fields_of_its_spans() {
        let sink = Sink::default();
        let layer = HcLog { provider: "notes".to_owned(), out: Mutex::new(sink.clone()) };
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("create", resource = "notes_note", attempt = 1);
            let _entered = span.enter();
            tracing::warn!(attempt = 2, retry = true, "throttled:\n{}", "wait");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let line: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(line["@level"], "warn");
        assert_eq!(line["@message"], "throttled:\nwait");
        assert_eq!(line["@module"], "notes");
        assert_eq!(line["resource"], "notes_note");
        assert_eq!(line["attempt"], 2);
        assert_eq!(line["retry"], true);
    }
}
