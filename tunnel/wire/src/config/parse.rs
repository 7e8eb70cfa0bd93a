//! From text to [`Config`].

use std::collections::BTreeMap;

use super::error::{Problem, show};
use super::value::{
    boolean, endpoint, fwmark, is_name, keepalive, key, listen, mtu, net, pins, port, server_name, table,
};
use super::{Config, Interface, ParseError, Peer};
use crate::key::{PresharedKey, PrivateKey, PublicKey};

const INTERFACE: &[&str] = &[
    "PrivateKey",
    "ListenPort",
    "FwMark",
    "Address",
    "DNS",
    "MTU",
    "Table",
    "PreUp",
    "PostUp",
    "PreDown",
    "PostDown",
    "SaveConfig",
];
const PEER: &[&str] = &["PublicKey", "PresharedKey", "AllowedIPs", "Endpoint", "PersistentKeepalive"];
/// The same behind `# warren:`.
const OWN_INTERFACE: &[&str] = &["ListenTLS"];
const OWN_PEER: &[&str] = &["TLSEndpoint", "TLSPin", "TLSName"];
/// What makes a setting of a comment.
const OWN: &str = "warren:";
/// Keys that may stand more than once in a section.
const REPEATED: &[&str] = &["Address", "DNS", "PreUp", "PostUp", "PreDown", "PostDown", "AllowedIPs"];
/// Longer words are not repeated in a message: they may be a key without its name.
const LONGEST_NAME: usize = 24;

/// A part of a line and where it begins.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Part<'a> {
    /// The part `text` of this part, which is a slice of it, without white space around it.
    fn sub(&self, offset: usize, text: &'a str) -> Self {
        let start = text.trim_start();
        let skipped = offset + (text.len() - start.len());
        let column = self.column + self.text[..skipped].chars().count();
        Self { text: start.trim_end(), line: self.line, column }
    }

    fn fail(&self, problem: Problem) -> ParseError {
        problem.at(self.line, self.column)
    }

    fn error(&self, what: impl Into<String>, hint: impl Into<String>) -> ParseError {
        self.fail(Problem::new(what, hint))
    }

    /// The parts between commas. An empty value has none.
    fn list(self) -> impl Iterator<Item = Self> {
        let mut offset = 0;
        let items = if self.text.is_empty() { None } else { Some(self.text.split(',')) };
        items.into_iter().flatten().map(move |item| {
            let part = self.sub(offset, item);
            offset += item.len() + 1;
            part
        })
    }
}

/// A peer whose section is not at its end.
#[derive(Default)]
struct Draft {
    public_key: Option<PublicKey>,
    preshared_key: Option<PresharedKey>,
    allowed_ips: Vec<ipnet::IpNet>,
    endpoint: Option<super::Endpoint>,
    persistent_keepalive: Option<u16>,
    tls_endpoint: Option<super::Endpoint>,
    tls_pin: Option<crate::Pins>,
    tls_name: Option<String>,
}

enum Section {
    None,
    Interface,
    /// With the line of its header.
    Peer(usize, Box<Draft>),
}

struct Parser {
    config: Config,
    section: Section,
    /// Line of the `[Interface]` header.
    interface: Option<usize>,
    /// Lines of the keys of this section.
    seen: BTreeMap<&'static str, usize>,
    /// Lines of the public keys.
    peers: BTreeMap<PublicKey, usize>,
}

impl Config {
    /// Reads a wg-quick file.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser {
            config: Self::default(),
            section: Section::None,
            interface: None,
            seen: BTreeMap::new(),
            peers: BTreeMap::new(),
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.split_once('#').map_or(line, |(before, _)| before);
            let whole = Part { text: content, line: number, column: 1 };
            let part = whole.sub(0, content);
            if !part.text.is_empty() {
                parser.line(part, false)?;
            } else if let Some(own) = own(line, number) {
                parser.line(own, true)?;
            }
        }
        parser.finish_section()?;
        Ok(parser.config)
    }
}

/// The setting in a comment of ours.
fn own(line: &str, number: usize) -> Option<Part<'_>> {
    let comment = line.trim_start().strip_prefix('#')?.trim_start();
    let head = comment.get(..OWN.len()).filter(|head| head.eq_ignore_ascii_case(OWN))?;
    let skipped = line.len() - comment.len() + head.len();
    let whole = Part { text: line, line: number, column: 1 };
    Some(whole.sub(skipped, &line[skipped..])).filter(|part| !part.text.is_empty())
}

impl Parser {
    /// `own`: a setting of ours in a comment.
    fn line(&mut self, part: Part<'_>, own: bool) -> Result<(), ParseError> {
        if part.text.starts_with('[') && !own {
            return self.header(part);
        }
        let Some((name, value)) = part.text.split_once('=') else {
            return Err(
                part.error("the line is neither a section nor `key = value`", "comments begin with `#`")
            );
        };
        let value = part.sub(name.len() + 1, value);
        let name = part.sub(0, name);
        let known = self.known(name, own)?;
        if let Some(first) = self.seen.insert(known, part.line)
            && !REPEATED.contains(&known)
        {
            return Err(name.error(
                format!("{known} is set twice in this section, first in line {first}"),
                "remove one of them",
            ));
        }
        if value.text.is_empty() && known != "AllowedIPs" {
            return Err(value.error(format!("{known} has no value"), "remove the line or write a value"));
        }
        match &mut self.section {
            Section::Peer(_, draft) => set_peer(draft, known, value, &mut self.peers),
            _ => set_interface(&mut self.config.interface, known, value),
        }
    }

    fn header(&mut self, part: Part<'_>) -> Result<(), ParseError> {
        self.finish_section()?;
        self.seen.clear();
        match part.text.to_ascii_lowercase().as_str() {
            "[interface]" => {
                if let Some(first) = self.interface.replace(part.line) {
                    return Err(part.error(
                        format!("a second [Interface] section, the first is in line {first}"),
                        "a file has one interface; merge its settings into one section",
                    ));
                }
                self.section = Section::Interface;
            }
            "[peer]" => self.section = Section::Peer(part.line, Box::default()),
            _ => {
                return Err(part.error("an unknown section", "sections are [Interface] and [Peer]"));
            }
        }
        Ok(())
    }

    /// The setting's name as in the manual.
    fn known(&self, name: Part<'_>, ours: bool) -> Result<&'static str, ParseError> {
        let (interface, peer) = if ours { (OWN_INTERFACE, OWN_PEER) } else { (INTERFACE, PEER) };
        let (own, own_title, other, other_title) = match self.section {
            Section::None => {
                return Err(name.error("a setting before any section", "start with [Interface] or [Peer]"));
            }
            Section::Interface => (interface, "[Interface]", peer, "[Peer]"),
            Section::Peer(..) => (peer, "[Peer]", interface, "[Interface]"),
        };
        let find = |names: &[&'static str]| {
            names.iter().copied().find(|known| known.eq_ignore_ascii_case(name.text))
        };
        if let Some(known) = find(own) {
            return Ok(known);
        }
        if let Some(known) = find(other) {
            return Err(name.error(
                format!("{known} does not belong to {own_title}"),
                format!("put it into a {other_title} section"),
            ));
        }
        let presentable = name.text.len() <= LONGEST_NAME
            && name.text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        if !presentable || name.text.is_empty() {
            return Err(name.error(
                "the text before `=` is not the name of a setting",
                format!("{own_title} has {}", own.join(", ")),
            ));
        }
        let lower = name.text.to_ascii_lowercase();
        let nearest = own
            .iter()
            .map(|known| (strsim::damerau_levenshtein(&lower, &known.to_ascii_lowercase()), *known))
            .min()
            .filter(|(distance, known)| *distance <= known.len().div_ceil(3));
        let hint = match nearest {
            Some((_, known)) => format!("did you mean {known}?"),
            None => format!("{own_title} has {}", own.join(", ")),
        };
        Err(name.error(format!("unknown setting `{}` in {own_title}", name.text), hint))
    }

    fn finish_section(&mut self) -> Result<(), ParseError> {
        let Section::Peer(line, mut draft) = std::mem::replace(&mut self.section, Section::None) else {
            return Ok(());
        };
        let Some(public_key) = draft.public_key else {
            return Err(Problem::new(
                "this [Peer] has no PublicKey",
                "a peer is identified by its public key: add it",
            )
            .at(line, 1));
        };
        if draft.tls_endpoint.is_none() && (draft.tls_pin.is_some() || draft.tls_name.is_some()) {
            return Err(Problem::new(
                "this [Peer] has TLSPin or TLSName, but no TLSEndpoint",
                "add `# warren: TLSEndpoint = host:443`",
            )
            .at(line, 1));
        }
        let tls = draft.tls_endpoint.take().map(|endpoint| super::TlsEndpoint {
            endpoint,
            pins: draft.tls_pin.take(),
            name: draft.tls_name.take(),
        });
        self.config.peers.push(Peer {
            tls,
            public_key,
            preshared_key: draft.preshared_key,
            allowed_ips: draft.allowed_ips,
            endpoint: draft.endpoint,
            persistent_keepalive: draft.persistent_keepalive,
        });
        Ok(())
    }
}

fn set_interface(interface: &mut Interface, name: &'static str, value: Part<'_>) -> Result<(), ParseError> {
    let text = value.text;
    let at = |problem| value.fail(problem);
    match name {
        "PrivateKey" => interface.private_key = Some(key(name, text, PrivateKey::from_base64).map_err(at)?),
        "ListenPort" => interface.listen_port = Some(port(name, text).map_err(at)?),
        "FwMark" => interface.fwmark = fwmark(text).map_err(at)?,
        "MTU" => interface.mtu = Some(mtu(text).map_err(at)?),
        "Table" => interface.table = table(text).map_err(at)?,
        "ListenTLS" => interface.listen_tls = Some(listen(name, text).map_err(at)?),
        "SaveConfig" => interface.save_config = boolean(name, text).map_err(at)?,
        "Address" => {
            for item in value.list() {
                interface.addresses.push(net(name, item.text).map_err(|problem| item.fail(problem))?);
            }
        }
        "DNS" => {
            for item in value.list() {
                match item.text.parse() {
                    Ok(address) => interface.dns.push(address),
                    Err(_) if is_name(item.text) => interface.dns_search.push(item.text.to_owned()),
                    Err(_) => {
                        return Err(item.error(
                            format!("DNS: {} is neither an address nor a search domain", show(item.text)),
                            "write addresses of servers and domains, separated by commas",
                        ));
                    }
                }
            }
        }
        "PreUp" => interface.pre_up.push(text.to_owned()),
        "PostUp" => interface.post_up.push(text.to_owned()),
        "PreDown" => interface.pre_down.push(text.to_owned()),
        _ => interface.post_down.push(text.to_owned()),
    }
    Ok(())
}

fn set_peer(
    draft: &mut Draft,
    name: &'static str,
    value: Part<'_>,
    peers: &mut BTreeMap<PublicKey, usize>,
) -> Result<(), ParseError> {
    let text = value.text;
    let at = |problem| value.fail(problem);
    match name {
        "PublicKey" => {
            let public_key = key(name, text, PublicKey::from_base64).map_err(at)?;
            if let Some(first) = peers.insert(public_key, value.line) {
                return Err(value.error(
                    format!("this peer is listed twice, first in line {first}"),
                    "merge its ranges into one [Peer] section",
                ));
            }
            draft.public_key = Some(public_key);
        }
        "PresharedKey" => draft.preshared_key = Some(key(name, text, PresharedKey::from_base64).map_err(at)?),
        "Endpoint" => draft.endpoint = Some(endpoint(text).map_err(at)?),
        "TLSEndpoint" => draft.tls_endpoint = Some(endpoint(text).map_err(at)?),
        "TLSPin" => draft.tls_pin = Some(pins(text).map_err(at)?),
        "TLSName" => draft.tls_name = Some(server_name(text).map_err(at)?),
        "PersistentKeepalive" => draft.persistent_keepalive = keepalive(text).map_err(at)?,
        _ => {
            for item in value.list() {
                let net = net(name, item.text).map_err(|problem| item.fail(problem))?;
                draft.allowed_ips.push(net.trunc());
            }
        }
    }
    Ok(())
}
