//! The settings of the provider block, the environment and the shared files, resolved in the order of botocore.

use std::path::PathBuf;

use aws_config::profile::{self, Profile, ProfileSet};
use aws_config::retry::RetryMode;
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_types::os_shim_internal::{Env, Fs};
use tf_provider_rs::{Attr, Diagnostic, Path};

use crate::config::AwsConfig;
use crate::error::chain;

/// The profile that applies, and who named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) name: String,
    pub(crate) by: By,
}

/// What names the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The provider block. It has precedence over credentials in the environment.
    Block,
    /// An environment variable.
    Variable(&'static str),
    /// Nothing: the profile `default`, which need not exist.
    Default,
}

/// Environment variables that name the profile, in the order of botocore (`BOTOCORE_DEFAUT_SESSION_VARIABLES`).
const PROFILE: [&str; 2] = ["AWS_DEFAULT_PROFILE", "AWS_PROFILE"];

/// Environment and shared files.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) env: Env,
    pub(crate) selected: Selected,
    /// All shared files.
    pub(crate) merged: ProfileSet,
    /// The credentials files only, which have precedence over `credential_process`.
    pub(crate) credentials: ProfileSet,
    pub(crate) files: EnvConfigFiles,
}

impl Settings {
    /// Reads the shared files that the provider block or the environment names.
    ///
    /// # Errors
    /// A file is malformed, or the profile that was named does not exist.
    pub(crate) async fn load(config: &AwsConfig) -> Result<Settings, Diagnostic> {
        Settings::read(Env::real(), &Fs::real(), config).await
    }

    async fn read(env: Env, fs: &Fs, config: &AwsConfig) -> Result<Settings, Diagnostic> {
        let selected = selected(config, &env);
        let name = selected.name.clone();
        let files = files(config, true);
        let merged = profile::load(fs, &env, &files, Some(name.clone().into())).await;
        let credentials = profile::load(fs, &env, &self::files(config, false), Some(name.into())).await;
        let settings = Settings {
            merged: merged.map_err(|error| malformed(&error))?,
            credentials: credentials.map_err(|error| malformed(&error))?,
            env,
            selected,
            files,
        };
        if settings.selected.by != By::Default && settings.profile().is_none() {
            return Err(settings.no_profile());
        }
        Ok(settings)
    }

    /// The profile, if the files have it.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.merged.get_profile(&self.selected.name)
    }

    /// An environment variable; an empty one counts as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.env.get(name).ok().filter(|value| !value.is_empty())
    }

    /// The first of an environment variable and an entry of the profile.
    pub(crate) fn setting(&self, variable: &str, entry: &str) -> Option<String> {
        let from_profile = || self.profile()?.get(entry).filter(|value| !value.is_empty()).map(str::to_owned);
        self.variable(variable).or_else(from_profile)
    }

    /// Attempts for each call, including the first; without a number, only the timeout of the resource ends retries.
    ///
    /// # Errors
    /// The environment or the profile contains something else.
    pub(crate) fn max_attempts(&self, config: &AwsConfig) -> Result<Option<u32>, Diagnostic> {
        if let Some(attempts) = config.max_attempts.known() {
            return Ok(Some(*attempts));
        }
        let Some(text) = self.setting("AWS_MAX_ATTEMPTS", "max_attempts") else { return Ok(None) };
        let attempts = text.parse::<u32>().ok().filter(|attempts| *attempts > 0);
        let what = "AWS_MAX_ATTEMPTS or `max_attempts` of the profile";
        attempts.map(Some).ok_or_else(|| invalid(what, &text, "a whole number of at least 1"))
    }

    /// The mode of retries. `legacy` counts as `standard`, because the policy of retries decides what is repeated.
    ///
    /// # Errors
    /// The environment or the profile contains something else.
    pub(crate) fn retry_mode(&self) -> Result<RetryMode, Diagnostic> {
        let Some(text) = self.setting("AWS_RETRY_MODE", "retry_mode") else { return Ok(RetryMode::Standard) };
        match text.as_str() {
            "adaptive" => Ok(RetryMode::Adaptive),
            "legacy" | "standard" => Ok(RetryMode::Standard),
            _ => {
                let what = "AWS_RETRY_MODE or `retry_mode` of the profile";
                Err(invalid(what, &text, "`legacy`, `standard` or `adaptive`"))
            }
        }
    }

    /// The file with certificate authorities.
    pub(crate) fn ca_bundle(&self, config: &AwsConfig) -> Option<PathBuf> {
        let named = config.custom_ca_bundle.known().cloned();
        named.or_else(|| self.setting("AWS_CA_BUNDLE", "ca_bundle")).map(PathBuf::from)
    }

    fn no_profile(&self) -> Diagnostic {
        let Selected { name, by } = &self.selected;
        let by = match by {
            By::Block => "the provider block names",
            By::Variable("AWS_PROFILE") => "AWS_PROFILE names",
            By::Variable(_) => "AWS_DEFAULT_PROFILE names",
            By::Default => "the default is",
        };
        let mut known: Vec<&str> = self.merged.profiles().collect();
        known.sort_unstable();
        let known = match known.as_slice() {
            [] => "They contain no profile.".to_owned(),
            known => format!("They contain: {}.", known.join(", ")),
        };
        Diagnostic::error(
            "AWS profile not found",
            format!(
                "{} profile `{name}`, which is not in the shared configuration and credentials files. {known} Correct \
                 the name, or create the profile with `aws configure --profile {name}` or `aws configure sso`.",
                capitalised(by)
            ),
        )
        .at(Path::of("aws").attribute("profile"))
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn selected(config: &AwsConfig, env: &Env) -> Selected {
    if let Some(name) = config.profile.known() {
        return Selected { name: name.clone(), by: By::Block };
    }
    let set = |variable| Some((env.get(variable).ok().filter(|name| !name.is_empty())?, variable));
    match PROFILE.into_iter().find_map(set) {
        Some((name, variable)) => Selected { name, by: By::Variable(variable) },
        None => Selected { name: "default".to_owned(), by: By::Default },
    }
}

/// The shared files; without those of the configuration, the credentials files only.
fn files(config: &AwsConfig, configuration: bool) -> EnvConfigFiles {
    let listed = |paths: &Attr<Vec<Attr<String>>>| -> Option<Vec<String>> {
        let paths: Vec<String> = paths.known()?.iter().filter_map(|path| path.known().cloned()).collect();
        (!paths.is_empty()).then_some(paths)
    };
    let mut files = EnvConfigFiles::builder();
    for (kind, paths, wanted) in [
        (EnvConfigFileKind::Config, listed(&config.shared_config_files), configuration),
        (EnvConfigFileKind::Credentials, listed(&config.shared_credentials_files), true),
    ] {
        files = match (wanted, paths) {
            (false, _) => files,
            (true, Some(paths)) => paths.into_iter().fold(files, |files, path| files.with_file(kind, path)),
            (true, None) if configuration_kind(kind) => files.include_default_config_file(true),
            (true, None) => files.include_default_credentials_file(true),
        };
    }
    files.build()
}

fn configuration_kind(kind: EnvConfigFileKind) -> bool {
    matches!(kind, EnvConfigFileKind::Config)
}

fn malformed(error: &dyn std::error::Error) -> Diagnostic {
    Diagnostic::error(
        "AWS configuration file cannot be read",
        format!("{}. Correct the file, or name another one with AWS_CONFIG_FILE.", chain(error)),
    )
    .at(Path::of("aws"))
}

fn invalid(what: &str, value: &str, expected: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid AWS setting",
        format!("{what} is `{value}`, but must be {expected}. Correct or remove it."),
    )
    .at(Path::of("aws"))
}
