//! System calls that have no safe wrapper: messages with control data, and socket options of UDP.
//!
//! Every pointer handed to the kernel here points into a buffer that is borrowed or owned for the length of
//! the call and is as long as the length given with it. Nothing keeps a pointer after its call.
#![expect(unsafe_code, reason = "sendmsg, recvmmsg and setsockopt take raw pointers")]

use std::ffi::c_int;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;

use warren_proto::plane::Endpoint;

const UDP_SEGMENT: c_int = libc::UDP_SEGMENT;
const UDP_GRO: c_int = libc::UDP_GRO;
/// Room for segment size, source address and traffic class of one message.
const CONTROL: usize = 128;

/// Control data with the alignment of `cmsghdr`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

fn set<T: Copy>(fd: BorrowedFd<'_>, level: c_int, name: c_int, value: T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is a live `T` of the length given; the kernel only reads it.
    let done = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, ptr::from_ref(&value).cast(), length) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the mark of a socket's packets, for routing rules.
///
/// # Errors
/// Without `CAP_NET_ADMIN`.
pub fn set_mark(fd: BorrowedFd<'_>, mark: u32) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_MARK, mark)
}

/// Bounds what waits in a TCP socket: bytes that are not on their way, and milliseconds without an acknowledgement.
pub(crate) fn tcp_limits(fd: BorrowedFd<'_>, not_sent: u32, user_timeout: u32) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, not_sent)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, user_timeout)
}

pub(super) fn force_send_buffer(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, c_int::try_from(bytes).unwrap_or(c_int::MAX))
}

pub(super) fn enable_gro(fd: BorrowedFd<'_>) -> io::Result<()> {
    set(fd, libc::SOL_UDP, UDP_GRO, 1 as c_int)
}

/// Whether the kernel knows `UDP_SEGMENT`; setting it to 0 changes nothing.
pub(super) fn has_segment(fd: BorrowedFd<'_>) -> bool {
    set(fd, libc::SOL_UDP, UDP_SEGMENT, 0 as c_int).is_ok()
}

/// Local address and traffic class with every datagram; no path MTU discovery: as in kernel WireGuard, what
/// is too long for the path is fragmented rather than lost, and forged ICMP messages cannot stop the tunnel.
pub(super) fn tunnel_options(fd: BorrowedFd<'_>, v6: bool) -> io::Result<()> {
    let on = 1 as c_int;
    if v6 {
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, on)?;
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, on)?;
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DONT)
    } else {
        set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, on)?;
        set(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, on)?;
        set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)
    }
}

fn store(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeroes is a valid `sockaddr_storage`: it is plain old data.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = &raw mut storage;
    match address {
        SocketAddr::V4(v4) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: in_addr(*v4.ip()),
                sin_zero: [0; 8],
            };
            // SAFETY: `sockaddr_storage` is larger than, and aligned for, every address type.
            unsafe { place.cast::<libc::sockaddr_in>().write(name) };
            (storage, size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(v6) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(name) };
            (storage, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}

fn in_addr(ip: Ipv4Addr) -> libc::in_addr {
    libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) }
}

fn load(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place = ptr::from_ref(storage);
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family tells the type; the storage is larger than it, aligned for it and initialised.
            let name = unsafe { place.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { place.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(name.sin6_port), 0, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Where a message goes to and with what.
#[derive(Clone, Copy)]
pub(super) struct Addressed<'a> {
    pub(super) to: &'a SocketAddr,
    pub(super) local: Option<IpAddr>,
    pub(super) ecn: u8,
}

/// Datagrams of one call to [`send_each`].
const EACH: usize = 64;

/// Sends `bytes`, cut by the kernel into datagrams of `segment` bytes if that is given.
pub(super) fn send(
    fd: BorrowedFd<'_>,
    addressed: Addressed<'_>,
    bytes: &[u8],
    segment: Option<u16>,
) -> io::Result<usize> {
    addressed.message(segment, |mut message| {
        let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        // SAFETY: `message` points to name and control data that live in the caller's frame, to `piece` and through
        // it to `bytes`, all of the lengths given. sendmsg reads only, so the cast from `&[u8]` is sound.
        let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    })
}

/// Sends `bytes` as datagrams of `segment` bytes with one call, without the kernel's help, and returns how many
/// of them went; an error tells of the first.
pub(super) fn send_each(
    fd: BorrowedFd<'_>,
    addressed: Addressed<'_>,
    bytes: &[u8],
    segment: usize,
) -> io::Result<usize> {
    addressed.message(None, |message| {
        let mut pieces = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; EACH];
        let mut headers = [libc::mmsghdr { msg_hdr: message, msg_len: 0 }; EACH];
        let mut count = 0;
        for ((datagram, piece), header) in bytes.chunks(segment.max(1)).zip(&mut pieces).zip(&mut headers) {
            piece.iov_base = datagram.as_ptr().cast_mut().cast();
            piece.iov_len = datagram.len();
            header.msg_hdr.msg_iov = ptr::from_mut(piece);
            header.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        // SAFETY: the first `count` headers point to name and control data that live in the caller's frame, each to
        // its own piece and through it to a part of `bytes`, all of the lengths given. sendmmsg writes only the
        // headers' `msg_len`, so the cast from `&[u8]` is sound.
        let sent =
            unsafe { libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_NOSIGNAL as _) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    })
}

impl Addressed<'_> {
    /// Calls `run` with a header that has name and control data, which live until it returns, and no pieces.
    fn message<R>(self, segment: Option<u16>, run: impl FnOnce(libc::msghdr) -> R) -> R {
        let (mut name, name_len) = store(self.to);
        let mut control = Control([0; CONTROL]);
        // SAFETY: all zeroes is a valid `msghdr`: null pointers with zero lengths.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = (&raw mut name).cast();
        message.msg_namelen = name_len;
        let mut writer = ControlWriter { control: &mut control, used: 0 };
        if let Some(segment) = segment {
            writer.put(libc::SOL_UDP, UDP_SEGMENT, segment);
        }
        match self.local {
            Some(IpAddr::V4(ip)) => {
                let none = in_addr(Ipv4Addr::UNSPECIFIED);
                // No interface index: routing may well answer through another one.
                let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: in_addr(ip), ipi_addr: none };
                writer.put(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
            }
            Some(IpAddr::V6(ip)) => {
                let info =
                    libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: ip.octets() }, ipi6_ifindex: 0 };
                writer.put(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
            }
            None => {}
        }
        if self.ecn != 0 {
            let class = c_int::from(self.ecn);
            match self.to {
                SocketAddr::V4(_) => writer.put(libc::IPPROTO_IP, libc::IP_TOS, class),
                SocketAddr::V6(_) => writer.put(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, class),
            }
        }
        let used = writer.used;
        if used > 0 {
            message.msg_control = (&raw mut control).cast();
            message.msg_controllen = used as _;
        }
        run(message)
    }
}

struct ControlWriter<'a> {
    control: &'a mut Control,
    used: usize,
}

impl ControlWriter<'_> {
    /// Appends one control message.
    fn put<T: Copy>(&mut self, level: c_int, kind: c_int, value: T) {
        // SAFETY: arithmetic on a length, no memory is touched.
        let (space, length) = unsafe {
            (libc::CMSG_SPACE(size_of::<T>() as u32) as usize, libc::CMSG_LEN(size_of::<T>() as u32) as usize)
        };
        assert!(self.used + space <= CONTROL, "control data for three messages");
        // SAFETY: `used` is a multiple of the header's alignment (CMSG_SPACE rounds up, the buffer is aligned),
        // and header and value end within the buffer by the assertion above. The value is written unaligned.
        unsafe {
            let header = self.control.0.as_mut_ptr().add(self.used).cast::<libc::cmsghdr>();
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            (*header).cmsg_len = length as _;
            libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
        }
        self.used += space;
    }
}

/// What came in one slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) from: Endpoint,
    pub(super) len: usize,
    /// Size of the datagrams it is made of, all but the last.
    pub(super) segment: Option<usize>,
    pub(super) ecn: u8,
    /// Longer than the slot: the rest is lost.
    pub(super) cut: bool,
}

/// Names, pieces and control data for a call of `recvmmsg`, made once and used again.
pub(super) struct Slots {
    headers: Vec<libc::mmsghdr>,
    pieces: Vec<libc::iovec>,
    names: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
}

// SAFETY: the raw pointers in `headers` and `pieces` are written anew before every call that uses them and
// dereferenced in none other; apart from them all is plain data.
unsafe impl Send for Slots {}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        // SAFETY: all zeroes is valid for the four types: plain data, null pointers and lengths.
        let (header, piece, name) = unsafe { (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed()) };
        Self {
            headers: vec![header; count],
            pieces: vec![piece; count],
            names: vec![name; count],
            controls: vec![Control([0; CONTROL]); count],
        }
    }

    /// Receives without waiting into slots of `buffer`, each `stride` bytes from the last and `size` long, and
    /// returns how many were filled.
    pub(super) fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        buffer: &mut [u8],
        stride: usize,
        size: usize,
    ) -> io::Result<usize> {
        let slots = buffer.chunks_mut(stride).filter(|slot| slot.len() >= size);
        let mut count = 0;
        let rooms = self.pieces.iter_mut().zip(&mut self.names).zip(&mut self.controls);
        for ((slot, header), ((piece, name), control)) in slots.zip(&mut self.headers).zip(rooms) {
            piece.iov_base = slot.as_mut_ptr().cast();
            piece.iov_len = size;
            header.msg_len = 0;
            header.msg_hdr.msg_name = ptr::from_mut(name).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_hdr.msg_iov = ptr::from_mut(piece);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = ptr::from_mut(control).cast();
            header.msg_hdr.msg_controllen = CONTROL as _;
            header.msg_hdr.msg_flags = 0;
            count += 1;
        }
        // SAFETY: the first `count` headers were just filled: they point to distinct elements of `self`'s vectors
        // and to distinct ranges of `buffer`, all borrowed mutably for the call and of the lengths given.
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// What the last call put into a slot; `None` for what is of no use (no address).
    pub(super) fn arrival(&self, slot: usize) -> Option<Arrival> {
        let header = self.headers.get(slot)?;
        let remote = load(self.names.get(slot)?)?;
        let control = &self.controls.get(slot)?.0;
        let mut arrival = Arrival {
            from: Endpoint::new(remote),
            len: header.msg_len as usize,
            segment: None,
            ecn: 0,
            cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        };
        let used = control.get(..length(header.msg_hdr.msg_controllen)?)?;
        for (level, kind, data) in Messages(used) {
            match (level, kind) {
                (libc::SOL_UDP, UDP_GRO) => {
                    let size = read::<c_int>(data).and_then(|size| usize::try_from(size).ok());
                    arrival.segment = size.filter(|size| *size > 0);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = read::<libc::in_pktinfo>(data);
                    arrival.from.local = info.map(|info| {
                        let ip = Ipv4Addr::from(info.ipi_spec_dst.s_addr.to_ne_bytes());
                        (ip.into(), u32::try_from(info.ipi_ifindex).unwrap_or(0))
                    });
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = read::<libc::in6_pktinfo>(data);
                    arrival.from.local =
                        info.map(|info| (Ipv6Addr::from(info.ipi6_addr.s6_addr).into(), info.ipi6_ifindex));
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => arrival.ecn = data.first().map_or(0, |tos| tos & 3),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    arrival.ecn = read::<c_int>(data).map_or(0, |class| (class & 3) as u8);
                }
                _ => {}
            }
        }
        Some(arrival)
    }
}

/// Lengths have other types in other C libraries.
fn length(length: impl TryInto<usize>) -> Option<usize> {
    length.try_into().ok()
}

/// Types of which every bit pattern is a value.
trait Plain: Copy {}
impl Plain for c_int {}
impl Plain for libc::in_pktinfo {}
impl Plain for libc::in6_pktinfo {}
impl Plain for libc::cmsghdr {}

fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: the slice is as long as `T`, the read is unaligned, and every pattern of bytes is a valid `Plain`.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Control messages of one message: level, type, data.
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = (c_int, c_int, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header: libc::cmsghdr = read(self.0)?;
        // SAFETY: arithmetic on a length, no memory is touched.
        let start = unsafe { libc::CMSG_LEN(0) } as usize;
        let length = length(header.cmsg_len)?;
        let data = self.0.get(start..length)?;
        let aligned = length.next_multiple_of(size_of::<usize>());
        self.0 = self.0.get(aligned..).unwrap_or_default();
        Some((header.cmsg_level, header.cmsg_type, data))
    }
}
