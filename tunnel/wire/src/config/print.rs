//! From [`Config`] to text.

use std::fmt::{self, Display, Formatter};

use super::{Config, Endpoint, Host, Interface, Peer, Table};

impl Display for Config {
    /// The file, secrets included.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.interface.fmt(f)?;
        self.peers.iter().try_for_each(|peer| write!(f, "\n{peer}"))
    }
}

impl Display for Interface {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "[Interface]")?;
        if let Some(key) = &self.private_key {
            writeln!(f, "PrivateKey = {}", &*key.to_base64())?;
        }
        line(f, "ListenPort", self.listen_port)?;
        if let Some(mark) = self.fwmark {
            writeln!(f, "FwMark = {mark:#x}")?;
        }
        list(f, "Address", self.addresses.iter())?;
        list(f, "DNS", self.dns.iter())?;
        list(f, "DNS", self.dns_search.iter())?;
        line(f, "MTU", self.mtu)?;
        match self.table {
            Table::Auto => {}
            Table::Off => writeln!(f, "Table = off")?,
            Table::Number(table) => writeln!(f, "Table = {table}")?,
        }
        let hooks = [
            ("PreUp", &self.pre_up),
            ("PostUp", &self.post_up),
            ("PreDown", &self.pre_down),
            ("PostDown", &self.post_down),
        ];
        for (name, commands) in hooks {
            commands.iter().try_for_each(|command| line(f, name, Some(command)))?;
        }
        line(f, "SaveConfig", self.save_config.then_some(true))?;
        line(f, "# warren: ListenTLS", self.listen_tls)
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "[Peer]")?;
        writeln!(f, "PublicKey = {}", self.public_key)?;
        if let Some(key) = &self.preshared_key {
            writeln!(f, "PresharedKey = {}", &*key.to_base64())?;
        }
        list(f, "AllowedIPs", self.allowed_ips.iter())?;
        line(f, "Endpoint", self.endpoint.as_ref())?;
        line(f, "PersistentKeepalive", self.persistent_keepalive)?;
        let Some(tls) = &self.tls else { return Ok(()) };
        line(f, "# warren: TLSEndpoint", Some(&tls.endpoint))?;
        line(f, "# warren: TLSPin", tls.pins.as_ref())?;
        line(f, "# warren: TLSName", tls.name.as_ref())
    }
}

impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Display for Host {
    /// An IPv6 address is in brackets.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) if address.is_ipv6() => write!(f, "[{address}]"),
            Self::Ip(address) => address.fmt(f),
            Self::Name(name) if name.contains(':') => write!(f, "[{name}]"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

fn line(f: &mut Formatter<'_>, name: &str, value: Option<impl Display>) -> fmt::Result {
    value.map_or(Ok(()), |value| writeln!(f, "{name} = {value}"))
}

fn list(f: &mut Formatter<'_>, name: &str, values: impl Iterator<Item = impl Display>) -> fmt::Result {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.is_empty() { Ok(()) } else { writeln!(f, "{name} = {}", values.join(", ")) }
}
