//! The settings of an interface itself: key, port, and mark. The library can only configure an interface as a whole, and removes
//! its addresses first, with which the kernel drops the routes.

use std::fmt::Debug;
use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_generic::{
    GenlMessage,
    ctrl::{GenlCtrl, GenlCtrlCmd, nlas::GenlCtrlAttrs},
};
use netlink_packet_wireguard::{WireguardAttribute, WireguardCmd, WireguardMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use zeroize::{Zeroize as _, Zeroizing};

use super::KernelOwn;

/// Bytes of an answer at most: the kernel's description of the family `wireguard`, or an error with the request in it.
const ANSWER: usize = 32 * 1024;

/// Sets what is given of key, port, and mark. Peers stay, and so do their sessions if the key is the same.
pub(super) fn set(name: &str, own: &KernelOwn<'_>) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut attributes = vec![WireguardAttribute::IfName(name.to_owned())];
    attributes.extend(own.private_key.map(|key| WireguardAttribute::PrivateKey(*key.as_bytes())));
    attributes.extend(own.listen_port.map(WireguardAttribute::ListenPort));
    attributes.extend(own.fwmark.map(WireguardAttribute::Fwmark));
    let mut message =
        GenlMessage::from_payload(WireguardMessage { cmd: WireguardCmd::SetDevice, attributes });
    message.set_resolved_family_id(family(&socket)?);
    let overwrite = |message: &mut WireguardMessage| {
        for attribute in &mut message.attributes {
            if let WireguardAttribute::PrivateKey(key) = attribute {
                key.zeroize();
            }
        }
    };
    request(&socket, message, NLM_F_REQUEST | NLM_F_ACK, overwrite).map(drop)
}

/// The number that the kernel gave to the family `wireguard` when its module was loaded.
fn family(socket: &Socket) -> io::Result<u16> {
    let message = GenlMessage::from_payload(GenlCtrl {
        cmd: GenlCtrlCmd::GetFamily,
        nlas: vec![GenlCtrlAttrs::FamilyName("wireguard".into())],
    });
    let answer = request(socket, message, NLM_F_REQUEST, |_| {})?;
    let attributes = answer.map(|answer| answer.payload.nlas).unwrap_or_default();
    let number = attributes.into_iter().find_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(number) => Some(number),
        _ => None,
    });
    number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel names no family `wireguard`"))
}

/// Sends a request, and returns its only answer, which may be just that it was done. What was sent is overwritten, as is the
/// answer, since an error has the request in it; `overwrite` does the same for the secrets of the message.
fn request<T>(
    socket: &Socket,
    message: GenlMessage<T>,
    flags: u16,
    overwrite: impl FnOnce(&mut T),
) -> io::Result<Option<GenlMessage<T>>>
where
    T: Debug + Clone + PartialEq + Eq,
    GenlMessage<T>: NetlinkSerializable + NetlinkDeserializable,
{
    let mut message = NetlinkMessage::from(message);
    message.header.flags = flags;
    message.finalize();
    let mut bytes = Zeroizing::new(vec![0; message.buffer_len()]);
    message.serialize(&mut bytes);
    if let NetlinkPayload::InnerMessage(inner) = &mut message.payload {
        overwrite(&mut inner.payload);
    }
    socket.send(&bytes, 0)?;
    let mut answer = Zeroizing::new(Vec::with_capacity(ANSWER));
    socket.recv(&mut *answer, 0)?;
    let answer = NetlinkMessage::<GenlMessage<T>>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::InnerMessage(inner) => Ok(Some(inner)),
        _ => Ok(None),
    }
}
