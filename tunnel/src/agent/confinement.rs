//! What an agent needs of its machine once it runs: all else is given up.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use warren_transport::tls::Identity;
use warren_wire::config::Config;

use super::args::AgentArgs;
use super::choice::{Backend, Chosen};
use crate::runtime::host::{InterfaceName, capabilities, folders};
use crate::runtime::net::{Dns, dns_chosen};
use crate::runtime::sandbox::{Capability, Files, Needs};

/// Where the programs called resolvconf (of Debian, and openresolv) write.
const RESOLVCONF: [&str; 4] =
    ["/etc/resolv.conf", "/etc/resolvconf", "/run/resolvconf", "/var/run/resolvconf"];

/// The needs of an agent. `config` is that of a file, if it has one; one with a token gets its configuration later.
pub(super) fn needs(
    args: &AgentArgs,
    interface: &InterfaceName,
    chosen: &Chosen,
    config: Option<&Config>,
    folder: &Path,
) -> Needs {
    let mut files = Files::default();
    files.folder(folder);
    for file in [&args.config, &args.token_file, &args.private_key_file, &args.tls_certificate, &args.tls_key]
        .into_iter()
        .chain([&args.services.proxy_credentials_file])
        .flatten()
        .filter(|file| file.as_os_str() != "-")
    {
        files.read(file);
    }
    let named = args.config.clone().filter(|file| file.as_os_str() != "-");
    let configuration = named.unwrap_or_else(|| interface.config());
    files.read(&configuration);
    let listens = config.is_some_and(|config| config.interface.listen_tls.is_some());
    if (listens || args.listen_tls.is_some()) && args.tls_key.is_none() {
        let beside = configuration.with_extension("tls.pem");
        let certificate = args.tls_certificate.as_ref().unwrap_or(&beside);
        // It is made now, so that its folder needs no right to write. What keeps it from being made is reported later.
        _ = Identity::load_or_make(certificate);
        files.read(certificate);
    }
    if let Some(state) = &args.state {
        // A right needs the folder. What keeps it from being made is reported by the one who needs it.
        _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(state);
        files.folder(state);
    }
    let socket = interface.socket();
    if (!chosen.is_inside() || folders::wireguard_writable())
        && folders::create_parent(&socket).is_ok()
        && let Some(folder) = socket.parent()
    {
        files.folder(folder);
    }
    let mut needs = Needs::new(files);
    if let Chosen::Interface(backend) = chosen {
        with_interface(&mut needs, *backend, config);
    }
    needs
}

/// An interface is changed, and removed at the end; the machine's name servers are changed and restored.
fn with_interface(needs: &mut Needs, backend: Backend, config: Option<&Config>) {
    needs.capabilities = vec![Capability::NetAdmin, Capability::NetRaw];
    needs.files.in_place(Path::new("/proc/sys/net"));
    if backend != Backend::Kernel {
        needs.files.device(Path::new(capabilities::TUN_DEVICE));
    }
    match dns_chosen() {
        Dns::Resolvconf(program) => {
            needs.files.programs(Some(&program));
            needs.programs = true;
            RESOLVCONF.iter().for_each(|place| needs.files.in_place(Path::new(place)));
        }
        Dns::Resolved(program) => {
            needs.files.programs(Some(&program));
            needs.programs = true;
        }
        Dns::File(path) => needs.files.in_place(&path),
    }
    let hooks = config.map(|config| &config.interface);
    if hooks.is_some_and(|of| {
        [&of.pre_up, &of.post_up, &of.pre_down, &of.post_down].iter().any(|commands| !commands.is_empty())
    }) {
        needs.impossible =
            Some("the configuration has hooks (PreUp, PostUp, PreDown, PostDown), which may run anything");
    }
}
