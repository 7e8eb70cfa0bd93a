//! The settings of an agent, from flags, environment and file.

use std::{
    fs,
    io::Read,
    net::{Ipv4Addr, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use warren_wire::{Token, config::Config, key::PrivateKey};
use zeroize::Zeroizing;

use super::{
    args::{AgentArgs, DeviceChoice},
    carriers::{Carriers, TlsOverrides},
    enrolled::{self, Enrolled},
    overrides::Overrides,
    proxies::ServiceArgs,
};
use crate::runtime::{
    ListenAddress, Queues,
    host::{InterfaceName, folders},
    problem::{Context, Problem, Result},
};

/// The interface name of an agent with a token.
const ENROLLED_INTERFACE: &str = "warren0";
/// The largest configuration file that is read.
const MAX_FILE: u64 = 256 << 20;

/// Where the configuration comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file, which can be reloaded.
    File(PathBuf),
    /// Standard input, which cannot be reloaded.
    Stdin,
    /// An enrolment token: the gateways supply the rest.
    Token(Arc<Enrolled>),
}

/// The agent's settings after precedence.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Interface to bring up.
    pub interface: InterfaceName,
    /// Where `config` came from.
    pub source: Source,
    /// The file, with overrides from flags and environment.
    pub config: Config,
    /// The requested device.
    pub device: DeviceChoice,
    /// Queues of a TUN device.
    pub queues: Queues,
    /// Mbit/s.
    pub planned_rate: Option<u32>,
    /// Where programs get credentials of clouds.
    pub credentials: Option<ListenAddress>,
    /// Whether all packets to other pods pass the gateway.
    pub gateway_only: bool,
    /// Folder for run-time files.
    pub folder: PathBuf,
    /// Proxies and port forwards of a tunnel without an interface.
    pub services: ServiceArgs,
    /// How peers are reached.
    pub carriers: Carriers,
    /// Overrides that are applied again after a reload.
    pub over: Overrides,
}

/// The interface of an agent: `--interface`, else that of agents with a token, else derived from the file's name.
///
/// # Errors
/// When neither gives a name.
pub(super) fn interface_of(args: &AgentArgs, with_token: bool) -> Result<InterfaceName> {
    if let Some(name) = &args.interface {
        return Ok(name.clone());
    }
    match &args.config {
        None if with_token => ENROLLED_INTERFACE.parse(),
        None => Err(Problem::new("no configuration given")
            .hint("pass --config FILE, --interface NAME to read /etc/wireguard/NAME.conf, or an enrolment token in WARREN_TOKEN")),
        Some(path) if path == Path::new("-") => {
            Err(Problem::new("a configuration from standard input has no interface name")
                .hint("pass --interface NAME, for example --interface wg0"))
        }
        Some(path) => path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().parse(),
    }
}

impl Settings {
    /// Combines flags, environment and file. `env_key` is WARREN_PRIVATE_KEY.
    ///
    /// # Errors
    /// With file, line and column if the file is invalid.
    pub fn load(args: &AgentArgs, env_key: Option<&str>) -> Result<Self> {
        let interface = interface_of(args, false)?;
        let source = match &args.config {
            Some(path) if path == Path::new("-") => Source::Stdin,
            Some(path) => Source::File(path.clone()),
            None => Source::File(interface.config()),
        };
        let over = Overrides {
            mtu: args.mtu,
            listen_port: args.listen_port,
            private_key: private_key(args.private_key_file.as_deref(), env_key)?,
            tls: TlsOverrides::of(args),
        };
        let config = read(&source, &over)?;
        let certificate = match &source {
            Source::File(path) => path.with_extension("tls.pem"),
            Source::Stdin | Source::Token(_) => interface.config().with_extension("tls.pem"),
        };
        let carriers = Carriers::load(args, certificate);
        carriers.check(&config)?;
        Ok(Self {
            interface,
            source,
            config,
            device: args.device,
            queues: args.queues,
            planned_rate: args.planned_rate,
            credentials: args.credentials,
            gateway_only: args.gateway_only,
            folder: folders::runtime_folder()?,
            services: args.services.clone(),
            carriers,
            over,
        })
    }

    /// Enrols with a token and combines flags with the configuration of the gateways.
    ///
    /// # Errors
    /// When no gateway of the token accepts it.
    pub(super) fn enrol(args: &AgentArgs, token: Token, patience: Option<Duration>) -> Result<Self> {
        let interface = interface_of(args, true)?;
        let carriers = Carriers::load(args, interface.config().with_extension("tls.pem"));
        let over = Overrides {
            mtu: args.mtu,
            listen_port: args.listen_port,
            private_key: None,
            tls: TlsOverrides::default(),
        };
        let enrolled = Arc::new(enrolled::enrol(args, token, carriers.clone(), over.clone(), patience)?);
        Ok(Self {
            interface,
            source: Source::Token(Arc::clone(&enrolled)),
            config: enrolled.config(),
            device: args.device,
            queues: args.queues,
            planned_rate: args.planned_rate,
            credentials: args.credentials,
            gateway_only: args.gateway_only,
            folder: folders::runtime_folder()?,
            services: args.services.clone(),
            carriers,
            over,
        })
    }
}

/// Checks that the WireGuard port is free.
///
/// # Errors
/// It is in use.
pub(super) fn check_port(port: Option<u16>) -> Result<()> {
    let Some(port) = port.filter(|port| *port != 0) else { return Ok(()) };
    match UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)) {
        Ok(_) => Ok(()),
        Err(error) => Err(Problem::new(format!("cannot listen on UDP port {port}: {error}"))
            .hint("choose another port with --listen-port, or 0 for any")),
    }
}

/// Reads the configuration and applies the overrides.
///
/// # Errors
/// When it cannot be read or parsed, or has no private key.
pub(super) fn read(source: &Source, over: &Overrides) -> Result<Config> {
    let (name, text) = match source {
        Source::Token(enrolled) => return enrolled.reload(),
        Source::Stdin => {
            let mut text = Zeroizing::new(String::new());
            std::io::stdin()
                .take(MAX_FILE)
                .read_to_string(&mut text)
                .while_doing(|| "cannot read the configuration from standard input".into())?;
            ("standard input".to_owned(), text)
        }
        Source::File(path) => (path.display().to_string(), read_secret(path, "configuration")?),
    };
    let mut config = Config::parse(&text).map_err(|error| {
        Problem::new(format!("{name}:{}:{}: {}", error.line, error.column, error.what)).hint(error.hint)
    })?;
    if let Some(mtu) = over.mtu {
        config.interface.mtu = Some(mtu);
    }
    if let Some(port) = over.listen_port {
        config.interface.listen_port = Some(port);
    }
    if let Some(key) = &over.private_key {
        config.interface.private_key = Some(key.clone());
    }
    over.tls.apply(&mut config)?;
    if config.interface.private_key.is_none() {
        return Err(Problem::new(format!("{name}: no private key"))
            .hint("set PrivateKey under [Interface], --private-key-file or WARREN_PRIVATE_KEY; `warren-tunnel genkey` generates a key"));
    }
    Ok(config)
}

/// The file of `--private-key-file` takes precedence over the key in the environment.
fn private_key(file: Option<&Path>, env_key: Option<&str>) -> Result<Option<PrivateKey>> {
    let (name, text) = match (file, env_key) {
        (Some(path), _) => (path.display().to_string(), read_secret(path, "private key")?),
        (None, Some(text)) => ("WARREN_PRIVATE_KEY".to_owned(), Zeroizing::new(text.to_owned())),
        (None, None) => return Ok(None),
    };
    PrivateKey::from_base64(text.trim()).map(Some).map_err(|error| {
        Problem::new(format!("{name}: {error}"))
            .hint("use one line of base64, as printed by `warren-tunnel genkey`")
    })
}

fn read_secret(path: &Path, what: &str) -> Result<Zeroizing<String>> {
    let doing = || format!("{what} {}", path.display());
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::new(format!("{}: not found", doing()))
            .hint("pass the path with --config FILE; docs/tunnel.md has an example file"),
        std::io::ErrorKind::PermissionDenied => Problem::new(format!("{}: permission denied", doing()))
            .hint("run as root, or as the file's owner"),
        _ => Problem::new(format!("{}: {error}", doing())),
    })?;
    if metadata.len() > MAX_FILE {
        return Err(Problem::new(format!("{}: larger than 256 MiB", doing())));
    }
    let mode = metadata.permissions().mode();
    if metadata.is_file() && mode & 0o004 != 0 {
        tracing::warn!(
            hint = format!("run `chmod 600 {}`", path.display()),
            "{} is readable by every user",
            doing()
        );
    }
    fs::read_to_string(path).map(Zeroizing::new).while_doing(doing)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        agent: AgentArgs,
    }

    const KEY: &str = "qOV1PxhHpRWQrXlTI0I4QKMKVJ2TWMRwGQ3qRtT7XXw=";
    const OTHER: &str = "2Gf1u1b4rXcFkRkVXHNk6H9yQ1cYgC2o3l4nVlM3Q1s=";

    fn load(arguments: &[&str], env_key: Option<&str>) -> Result<Settings> {
        let line = CommandLine::try_parse_from(["agent"].iter().chain(arguments)).unwrap();
        Settings::load(&line.agent, env_key)
    }

    #[test]
    fn flags_win_over_environment_and_environment_over_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wg7.conf");
        fs::write(&file, format!("[Interface]\nPrivateKey = {KEY}\nMTU = 1300\nListenPort = 7\n")).unwrap();
        let path = file.to_str().unwrap();

        let plain = load(&["--config", path], None).unwrap();
        assert_eq!(plain.interface.as_str(), "wg7");
        assert_eq!((plain.config.interface.mtu, plain.config.interface.listen_port), (Some(1300), Some(7)));
        let over = load(&["--config", path, "--mtu", "1400", "--interface", "x"], Some(OTHER)).unwrap();
        assert_eq!(over.interface.as_str(), "x");
        assert_eq!((over.config.interface.mtu, over.config.interface.listen_port), (Some(1400), Some(7)));
        assert_eq!(over.config.interface.private_key, Some(PrivateKey::from_base64(OTHER).unwrap()));

        let key = folder.path().join("key");
        fs::write(&key, format!("{KEY}\n")).unwrap();
        let by_file =
            load(&["--config", path, "--private-key-file", key.to_str().unwrap()], Some(OTHER)).unwrap();
        assert_eq!(by_file.config.interface.private_key, Some(PrivateKey::from_base64(KEY).unwrap()));
    }

    #[test]
    fn what_is_missing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wg0.conf");
        let path = file.to_str().unwrap();
        let mut messages = vec![load(&[], None).unwrap_err(), load(&["--config", "-"], None).unwrap_err()];
        messages.push(load(&["--config", path], None).unwrap_err());
        fs::write(&file, "[Interface]\n").unwrap();
        messages.push(load(&["--config", path], None).unwrap_err());
        messages.push(load(&["--config", path], Some("secret")).unwrap_err());
        fs::write(&file, format!("[Interface]\nPrivateKey = {KEY}\n\nAddress = 10.0.0.300/8\n")).unwrap();
        messages.push(load(&["--config", path], None).unwrap_err());
        let text = messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n");
        assert!(!text.contains("secret"));
        insta::assert_snapshot!(text.replace(folder.path().to_str().unwrap(), "DIR"));
    }
}
