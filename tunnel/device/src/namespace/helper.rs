//! The helper's side, and what is said on the channel: requests of three numbers, answers of one and perhaps a descriptor.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::num::NonZeroU32;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, sendmsg, socket_with,
};
use rustix::thread::UnshareFlags;

/// Family, type, protocol; native-endian.
const REQUEST: usize = 12;
/// An errno, or 0.
const ANSWER: usize = 4;

/// Enters a user namespace with a network of its own, calls `entered`, and makes sockets there until the other end of `channel`
/// has gone. The process must have one thread.
///
/// # Errors
/// The namespaces are refused, which the other end is told too.
pub fn serve(channel: BorrowedFd<'_>, entered: impl FnOnce()) -> io::Result<()> {
    let own = std::fs::metadata("/proc/self").map(|own| (own.uid(), own.gid()));
    #[expect(unsafe_code, reason = "a process with one thread shares no descriptors")]
    // SAFETY: no file descriptors are unshared (no CLONE_FILES), so what is open here stays valid.
    let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) };
    if let (Ok(()), Ok((user, group))) = (&unshared, own) {
        // Where it is refused, programs inside are nobody's, which harms only those that look.
        _ = keep_ids(user, group);
    }
    if unshared.is_ok() {
        entered();
    }
    send_result(channel, unshared.map(|()| None))?;
    unshared?;
    let mut request = [0; REQUEST];
    loop {
        match recv(channel, &mut request, RecvFlags::empty()) {
            Ok((REQUEST, _)) => send_result(channel, make(&request).map(Some))?,
            Ok((0, _)) => return Ok(()),
            Ok(_) => send_result(channel, Err(Errno::INVAL))?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Programs that enter the namespace keep their user and group (user_namespaces(7)).
fn keep_ids(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn make(request: &[u8; REQUEST]) -> rustix::io::Result<OwnedFd> {
    let [family, kind, protocol] = numbers(request);
    let family = u16::try_from(family).map_err(|_| Errno::INVAL)?;
    socket_with(
        AddressFamily::from_raw(family),
        SocketType::from_raw(kind),
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        NonZeroU32::new(protocol).map(Protocol::from_raw),
    )
}

fn numbers(request: &[u8; REQUEST]) -> [u32; 3] {
    let (words, _) = request.as_chunks::<4>();
    [0, 1, 2].map(|at: usize| words.get(at).map_or(0, |word| u32::from_ne_bytes(*word)))
}

pub(super) fn request(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> [u8; REQUEST] {
    let protocol = protocol.map_or(0, |protocol| protocol.as_raw().get());
    let mut request = [0; REQUEST];
    let (words, _) = request.as_chunks_mut::<4>();
    for (word, value) in words.iter_mut().zip([u32::from(family.as_raw()), kind.as_raw(), protocol]) {
        *word = value.to_ne_bytes();
    }
    request
}

fn send_result(channel: BorrowedFd<'_>, outcome: rustix::io::Result<Option<OwnedFd>>) -> io::Result<()> {
    let number = outcome.as_ref().err().map_or(0, |error| error.raw_os_error());
    let made = outcome.ok().flatten();
    let descriptors = made.as_ref().map(|made| [made.as_fd()]);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    if let Some(descriptors) = &descriptors {
        extra.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let number = number.to_ne_bytes();
    loop {
        match sendmsg(channel, &[IoSlice::new(&number)], &mut extra, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for an answer.
///
/// # Errors
/// What the answer says; kind `BrokenPipe` when there is nobody any more.
pub(super) fn answer(channel: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut number = [0; ANSWER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(channel, &mut [IoSliceMut::new(&mut number)], &mut extra, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            // It died with our request unread (unix(7)).
            Err(Errno::CONNRESET) => return Err(io::ErrorKind::BrokenPipe.into()),
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let descriptor = extra.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match i32::from_ne_bytes(number) {
        0 => Ok(descriptor),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{send, socketpair};

    use super::*;

    #[test]
    fn a_helper_that_dies_has_gone_whether_it_had_read_the_request_or_not() {
        for read in [true, false] {
            let (ours, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
            let asked = request(AddressFamily::INET, SocketType::STREAM, None);
            send(&ours, &asked, SendFlags::NOSIGNAL).unwrap();
            if read {
                recv(&theirs, &mut [0; REQUEST], RecvFlags::empty()).unwrap();
            }
            drop(theirs);
            assert_eq!(answer(&ours).unwrap_err().kind(), io::ErrorKind::BrokenPipe, "read: {read}");
        }
    }
}
