//! Linux's own TCP as the peer: a table of behaviours, and readers that stop. Loss, reordering and delay are made between a TUN
//! device and the stack; device and sockets are in a network namespace of the calling thread.

#![expect(unsafe_code, reason = "TUNSETIFF is an ioctl")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what talks to the kernel has a clock, files and sockets"
)]

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use warren_netstack::{Batch, Config, Congestion, Ecn, Event, Listen, Stack, StreamInfo};
use warren_netstack_sim::{End, MS, PORT, Pattern, Rng, SEC, Script, ecn, mark};

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Connections of Linux whose readers stop for longer than Linux retransmits what is discarded.
#[derive(Clone, Copy)]
pub(crate) struct Stalled {
    pub(crate) readers: usize,
    /// Bytes of each: more than stack and kernel take together.
    pub(crate) each: usize,
    pub(crate) pause: Duration,
    /// `tcp_retries2` of Linux.
    pub(crate) retries: u32,
    /// Memory of the stack, in bytes.
    pub(crate) budget: usize,
}

/// Send buffer of each of these connections, which the kernel doubles: thousands of larger ones would exhaust its memory.
const SEND_BUFFER: libc::c_int = 32 * 1024;

const OURS: u64 = 11;
const THEIRS: u64 = 22;

/// What both ends do, and what the path does.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    v6: bool,
    /// The stack connects, or Linux does.
    we_connect: bool,
    pub(crate) ours: Script,
    pub(crate) theirs: Script,
    loss: f64,
    /// Share of packets that come up to 5 ms later than those behind them.
    reorder: f64,
    delay: u64,
    mtu: usize,
    cubic: bool,
    /// Linux closes with unread data: a reset.
    they_reset: bool,
    /// Share of the packets that take marks which the path marks. Who connects asks for ECN then.
    marks: f64,
}

fn case(name: &'static str) -> Case {
    Case {
        name,
        v6: false,
        we_connect: true,
        ours: Script::bulk(0),
        theirs: Script::bulk(0),
        loss: 0.0,
        reorder: 0.0,
        delay: 0,
        mtu: 65_535,
        cubic: false,
        they_reset: false,
        marks: 0.0,
    }
}

/// All behaviours.
pub(crate) fn cases() -> Vec<Case> {
    let bulk = || Script::bulk(20_000_000);
    let slow = || Script { read: 100_000, read_every: 200 * MS, ..Script::bulk(0) };
    let some = || Script::bulk(4_000_000);
    let tiny = || Script { write: 1, write_every: MS / 5, ..Script::bulk(3_000) };
    vec![
        Case { ours: bulk(), ..case("send 20 MB") },
        Case { theirs: bulk(), ..case("receive 20 MB (CUBIC)") },
        Case { theirs: bulk(), ours: bulk(), ..case("both ways at once, 20 MB") },
        Case { ours: bulk(), v6: true, ..case("send 20 MB, IPv6") },
        Case { theirs: bulk(), v6: true, we_connect: false, ..case("receive, IPv6, Linux connects") },
        Case { ours: bulk(), theirs: bulk(), we_connect: false, ..case("both ways, Linux connects") },
        Case { ours: tiny(), theirs: tiny(), ..case("3,000 writes of one byte, both ways") },
        Case { ours: bulk(), loss: 0.01, delay: 10 * MS, ..case("send, 1 % loss, 20 ms (BBR)") },
        Case {
            ours: Script::bulk(5_000_000),
            loss: 0.01,
            delay: 10 * MS,
            cubic: true,
            ..case("send 5 MB, 1 % loss, 20 ms (CUBIC)")
        },
        Case {
            theirs: Script::bulk(5_000_000),
            loss: 0.01,
            delay: 10 * MS,
            ..case("receive 5 MB, 1 % loss, 20 ms (CUBIC)")
        },
        Case {
            ours: Script::bulk(2_000_000),
            theirs: Script::bulk(2_000_000),
            loss: 0.1,
            delay: MS,
            ..case("both ways 2 MB, 10 % loss")
        },
        Case {
            ours: Script::bulk(5_000_000),
            theirs: Script::bulk(5_000_000),
            reorder: 0.05,
            delay: MS,
            ..case("both ways 5 MB, 5 % reordered")
        },
        Case {
            theirs: Script { after_eof: true, ..Script::bulk(3_000_000) },
            ours: Script::bulk(1_000),
            ..case("half close by us, 3 MB after it")
        },
        Case {
            ours: Script { after_eof: true, ..Script::bulk(3_000_000) },
            theirs: Script::bulk(1_000),
            ..case("half close by Linux, 3 MB after it")
        },
        Case { ours: Script::bulk(3_000_000), theirs: slow(), ..case("Linux reads slowly: zero window") },
        Case { theirs: Script::bulk(3_000_000), ours: slow(), ..case("we read slowly: zero window") },
        Case { delay: 50 * MS, ..case("both close at the same time") },
        Case {
            // Without an end of the stream, which Linux may read before the reset.
            ours: Script { reset_after: Some(10_000), shutdown: false, ..Script::bulk(20_000) },
            theirs: Script::bulk(0),
            ..case("reset by us")
        },
        Case { ours: Script::bulk(100_000), they_reset: true, ..case("reset by Linux") },
        Case { ours: bulk(), mtu: 1_280, ..case("send, path MTU 1280 told by ICMP") },
        Case { theirs: bulk(), mtu: 1_280, ..case("receive, path MTU 1280 told by ICMP") },
        Case { ours: bulk(), theirs: bulk(), mtu: 1_280, v6: true, ..case("both ways, path MTU 1280, IPv6") },
        Case { ours: some(), marks: 0.01, delay: MS, ..case("send, 1 % marked, 2 ms (BBR)") },
        Case { ours: some(), marks: 0.01, delay: MS, cubic: true, ..case("send, 1 % marked, 2 ms (CUBIC)") },
        Case {
            theirs: some(),
            marks: 0.01,
            delay: MS,
            we_connect: false,
            v6: true,
            ..case("receive, 1 % marked, 2 ms, IPv6, Linux connects")
        },
        Case {
            theirs: Script::bulk(20_000_001),
            loss: 0.01,
            delay: 10 * MS,
            ..case("receive, 1 % loss, 20 ms (Linux BBR)")
        },
    ]
}

/// Gives this thread, and those that it starts, a network of its own with a TUN device.
pub(crate) fn network() -> Outcome<File> {
    // SAFETY: no pointers; the flag changes the network of the calling thread only.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
        let error = std::io::Error::last_os_error();
        return Err(format!("cannot make a network namespace, which needs root: {error}").into());
    }
    let tun = open_tun("warren0").map_err(|error| format!("cannot open /dev/net/tun: {error}"))?;
    for command in [
        "link set lo up",
        "link set warren0 mtu 1500 txqueuelen 10000 up",
        "addr add 10.100.0.2/24 dev warren0",
        "-6 addr add fd00::2/64 dev warren0 nodad",
    ] {
        let status = Command::new("ip").args(command.split(' ')).status()?;
        if !status.success() {
            return Err(format!("ip {command}: {status}").into());
        }
    }
    Ok(tun)
}

fn open_tun(name: &str) -> Outcome<File> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = [0_u8; 40];
    request[..name.len()].copy_from_slice(name.as_bytes());
    let flags = (libc::IFF_TUN | libc::IFF_NO_PI) as u16;
    request[16..18].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: `request` is as large as `struct ifreq` and lives through the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, request.as_mut_ptr()) };
    if result < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(file)
}

/// Plays a case to its end; what was seen.
pub(crate) fn run(tun: &mut File, case: &Case) -> Outcome<String> {
    let pattern = Arc::new(Pattern::default());
    let ours: Vec<IpAddr> = vec![
        IpAddr::V4(Ipv4Addr::new(10, 100, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)),
    ];
    let theirs: [IpAddr; 2] =
        [IpAddr::V4(Ipv4Addr::new(10, 100, 0, 2)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2))];
    let family = usize::from(case.v6);
    let mut seed = [7; 32];
    seed[..16].copy_from_slice(&Instant::now().elapsed().as_nanos().to_le_bytes());
    fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    let mut config = Config::new(ours.clone(), seed);
    config.mtu = 1_500;
    if case.marks > 0.0 && case.we_connect {
        config.ecn = Ecn::Ask;
    }
    // As the kernel has it, or asking.
    let asks = if case.marks > 0.0 && !case.we_connect { "1" } else { "2" };
    fs::write("/proc/sys/net/ipv4/tcp_ecn", asks)?;
    if case.cubic {
        config.congestion = Congestion::Cubic;
    }
    let mut stack = Stack::new(config);
    let mut end = End::new(case.ours.clone(), OURS, THEIRS);
    let origin = Instant::now();
    let peer = if case.we_connect {
        let listener = TcpListener::bind(SocketAddr::new(theirs[family], PORT))?;
        let (script, pattern, reset) = (case.theirs.clone(), pattern.clone(), case.they_reset);
        let handle = thread::spawn(move || linux(&listener.accept()?.0, &script, &pattern, reset));
        end.id = Some(stack.connect(Duration::ZERO, SocketAddr::new(theirs[family], PORT))?);
        handle
    } else {
        stack.listen(Listen::port(PORT)).ok_or("listens")?;
        let (script, pattern, reset) = (case.theirs.clone(), pattern.clone(), case.they_reset);
        let remote = SocketAddr::new(ours[family], PORT);
        thread::spawn(move || linux(&TcpStream::connect(remote)?, &script, &pattern, reset))
    };
    let mut path =
        Path { rng: Rng(5), queues: Default::default(), case: case.clone(), seen: Default::default() };
    let mut batch = Batch::new(1_500);
    let mut buffer = vec![0; 2_000];
    let mut quiet: Option<Instant> = None;
    loop {
        let now = origin.elapsed();
        let time = now.as_nanos() as u64;
        if time > 60 * SEC {
            let info = end.id.and_then(|id| stack.info(id));
            return Err(
                format!("no end in sight: received {} sent {} {info:?}", end.received, end.sent).into()
            );
        }
        while let Ok(length) = tun.read(&mut buffer) {
            path.push(0, time, &buffer[..length]);
        }
        while let Some(packet) = path.pop(0, time) {
            stack.input(now, &packet);
        }
        while let Some(event) = stack.poll_event() {
            match event {
                Event::Acceptable(listener) => end.id = stack.accept(listener),
                Event::Readable(_) => end.can_read = true,
                Event::Writable(_) => end.can_write = true,
                Event::Closed(_, reason) => {
                    end.closed = Some(reason);
                    end.can_read = true;
                }
                _ => {}
            }
        }
        end.step(time, &mut stack, &pattern);
        loop {
            batch.clear();
            stack.poll(now, &mut batch);
            for packet in batch.iter() {
                path.push(1, time, packet);
            }
            if !batch.is_full() {
                break;
            }
        }
        while let Some(packet) = path.pop(1, time) {
            // The device refuses what it has no room for: a lost packet.
            let _ = tun.write(&packet);
        }
        if end.done() && peer.is_finished() {
            // The last acknowledgements.
            let since = *quiet.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_millis(50) + Duration::from_nanos(2 * case.delay) {
                break;
            }
        }
        wait(
            tun,
            path.next().into_iter().chain(stack.next_timeout().map(|at| at.as_nanos() as u64)).min(),
            time,
        );
    }
    let (sent, received, how) = peer.join().map_err(|_| "the Linux side panicked")??;
    let info = end.id.and_then(|id| stack.info(id));
    let again = info.map_or(0, |info| info.retransmitted);
    if case.they_reset || case.ours.reset_after.is_some() {
        let seen = format!("we saw {:?}, Linux saw {how}", end.closed);
        let right = if case.they_reset { seen.contains("Reset") } else { how == "ConnectionReset" };
        return if right { Ok(seen) } else { Err(seen.into()) };
    }
    if (end.received, received) != (sent, case.ours.total) || sent != case.theirs.total || !end.eof {
        return Err(format!(
            "received {} of {sent}, Linux received {received} of {}",
            end.received, case.ours.total
        )
        .into());
    }
    let seen = signals(case, &path, info.as_ref())?;
    Ok(format!("{how}, {again} retransmitted, MSS {}{seen}", info.map_or(0, |info| info.mss)))
}

/// What the path has seen of ECN. Where it marks packets, every sender must have told its reductions, and its receiver the marks.
fn signals(case: &Case, path: &Path, info: Option<&StreamInfo>) -> Outcome<String> {
    let [theirs, ours] = &path.seen;
    let (sender, receiver) = if case.ours.total > 0 { (ours, theirs) } else { (theirs, ours) };
    let seen =
        format!(", {} marked, {} echoes, {} reductions", sender.marked, receiver.echoes, sender.reductions);
    let answered = sender.marked > 0 && receiver.echoes > 0 && sender.reductions > 0;
    let agreed = info.is_none_or(|info| info.ecn)
        && (case.ours.total == 0 || info.is_some_and(|info| info.marked > 0));
    if case.marks > 0.0 {
        return if answered && agreed { Ok(seen) } else { Err(format!("{info:?}{seen}").into()) };
    }
    let silent = [theirs, ours].iter().all(|one| (one.capable, one.echoes, one.reductions) == (0, 0, 0));
    if silent { Ok(String::new()) } else { Err(format!("ECN that nobody asked for{seen}").into()) }
}

/// Linux fills every window of streams that nobody reads, with few retransmissions until it gives up. Then all are read.
pub(crate) fn stalled(tun: &mut File, case: Stalled) -> Outcome<String> {
    let Stalled { readers, each, pause, retries, budget } = case;
    descriptors()?;
    fs::write("/proc/sys/net/ipv4/tcp_retries2", retries.to_string())?;
    let mut seed = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut seed)?;
    let mut config = Config::new(vec![IpAddr::V4(Ipv4Addr::new(10, 100, 0, 1))], seed);
    config.mtu = 1_500;
    config.budget_bytes = budget;
    let mut stack = Stack::new(config);
    let listener = stack.listen(Listen::port(PORT)).ok_or("listens")?;
    let peer = thread::spawn(move || fill(readers, each, 4 * pause));
    let origin = Instant::now();
    let (mut batch, mut buffer, mut sink) = (Batch::new(1_500), vec![0; 2_000], vec![0; 65_536]);
    let (mut ids, mut begun, mut received) = (Vec::new(), None, 0);
    let (mut readable, mut stopped) = (Vec::new(), true);
    // What Linux still has when it is done writing must arrive, too.
    while !peer.is_finished() || (received < readers * each && origin.elapsed() < 5 * pause) {
        let now = origin.elapsed();
        // Answers must not wait until thousands are silent.
        for _ in 0..256 {
            let Ok(length) = tun.read(&mut buffer) else { break };
            stack.input(now, &buffer[..length]);
        }
        while let Some(event) = stack.poll_event() {
            if let Event::Readable(id) = event {
                readable.push(id);
            }
        }
        ids.extend(std::iter::from_fn(|| stack.accept(listener)));
        if ids.len() == readers && begun.get_or_insert_with(Instant::now).elapsed() > pause {
            if std::mem::take(&mut stopped) {
                readable.clone_from(&ids);
            }
            for id in readable.drain(..) {
                while let Ok(count @ 1..) = stack.recv(id, &mut sink) {
                    received += count;
                }
            }
        }
        batch.clear();
        stack.poll(now, &mut batch);
        for packet in batch.iter() {
            // The device refuses what it has no room for: a lost packet.
            let _ = tun.write(packet);
        }
        if !batch.is_full() {
            let next = stack.next_timeout().map(|at| at.as_nanos() as u64);
            wait(tun, next, now.as_nanos() as u64);
        }
    }
    let died = peer.join().map_err(|_| "the Linux side panicked")??;
    let discarded = stack.stats().discarded;
    if died > 0 || received != readers * each || discarded > 0 {
        return Err(format!("{died} died, {received} bytes received, {discarded} discarded").into());
    }
    Ok(format!("none died, {received} bytes, {:?}", stack.memory()))
}

/// The Linux side: how many of its connections ended with an error.
fn fill(readers: usize, each: usize, limit: Duration) -> Outcome<usize> {
    let remote = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 100, 0, 1)), PORT);
    let mut streams = Vec::new();
    for _ in 0..readers {
        let stream = TcpStream::connect(remote)?;
        stream.set_nonblocking(true)?;
        option(&stream, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER.to_ne_bytes())?;
        streams.push((stream, 0));
    }
    let (data, begun, mut died) = (vec![7; each], Instant::now(), 0);
    while !streams.is_empty() {
        if begun.elapsed() > limit {
            return Err(format!("{} connections do not move", streams.len()).into());
        }
        streams.retain_mut(|(stream, sent)| match stream.write(&data[*sent..]) {
            Ok(count) => {
                *sent += count;
                *sent < each
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => true,
            Err(_) => {
                died += 1;
                false
            }
        });
        thread::sleep(Duration::from_millis(5));
    }
    Ok(died)
}

fn option(stream: &TcpStream, level: libc::c_int, name: libc::c_int, value: &[u8]) -> Outcome<()> {
    // SAFETY: pointer and length describe `value`.
    let set = unsafe {
        libc::setsockopt(stream.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as u32)
    };
    if set < 0 { Err(std::io::Error::last_os_error().into()) } else { Ok(()) }
}

/// As many file descriptors as this process may have.
fn descriptors() -> Outcome<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the pointer is valid.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(())
}

/// Waits for a packet or the time.
fn wait(tun: &File, until: Option<u64>, now: u64) {
    let milliseconds = until.map_or(5, |until| (until.saturating_sub(now) / MS).min(5));
    if milliseconds == 0 {
        return;
    }
    let mut poll = libc::pollfd { fd: tun.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds as i32) };
}

/// Packets of one sender that concern ECN.
#[derive(Default)]
struct Signals {
    /// Those that take marks, and those of them that were marked.
    capable: u64,
    marked: u64,
    echoes: u64,
    reductions: u64,
}

struct Path {
    rng: Rng,
    queues: [VecDeque<(u64, Vec<u8>)>; 2],
    case: Case,
    seen: [Signals; 2],
}

impl Path {
    fn push(&mut self, way: usize, now: u64, packet: &[u8]) {
        if packet.len() > self.case.mtu {
            let error = warren_netstack_sim::too_big(packet, self.case.mtu);
            self.put(1 - way, now + self.case.delay, error);
        } else if !self.rng.chance(self.case.loss) {
            let late = if self.rng.chance(self.case.reorder) { self.rng.below(5 * MS) } else { 0 };
            let mut packet = packet.to_vec();
            self.look(way, &mut packet);
            self.put(way, now + self.case.delay + late, packet);
        }
    }

    /// Marks some of the packets that take marks, and counts what both ends say of ECN.
    fn look(&mut self, way: usize, packet: &mut [u8]) {
        let seen = &mut self.seen[way];
        let (header, protocol) = if packet[0] >> 4 == 4 { (20, packet[9]) } else { (40, packet[6]) };
        let Some(flags) = packet.get(header + 13).filter(|_| protocol == 6) else { return };
        if flags & 2 == 0 {
            seen.echoes += u64::from(flags & 64 != 0);
            seen.reductions += u64::from(flags & 128 != 0);
        }
        if ecn(packet) != 0 {
            seen.capable += 1;
            if self.rng.chance(self.case.marks) {
                seen.marked += 1;
                mark(packet);
            }
        }
    }

    /// Behind those that arrive before it or at the same time.
    fn put(&mut self, way: usize, at: u64, packet: Vec<u8>) {
        let queue = &mut self.queues[way];
        let place = queue.partition_point(|(other, _)| *other <= at);
        queue.insert(place, (at, packet));
    }

    fn pop(&mut self, way: usize, now: u64) -> Option<Vec<u8>> {
        if self.queues[way].front()?.0 > now {
            return None;
        }
        self.queues[way].pop_front().map(|(_, packet)| packet)
    }

    fn next(&self) -> Option<u64> {
        self.queues.iter().filter_map(|queue| queue.front()).map(|(at, _)| *at).min()
    }
}

/// The Linux end: a reader and a writer, as the script says. Bytes sent, bytes received, how it ended.
fn linux(
    stream: &TcpStream,
    script: &Script,
    pattern: &Arc<Pattern>,
    reset: bool,
) -> Outcome<(u64, u64, String)> {
    stream.set_nodelay(true)?;
    // An odd total marks the case of a Linux sender with BBR.
    let control: &[u8] = if script.total % 2 == 1 { b"bbr" } else { b"cubic" };
    option(stream, libc::IPPROTO_TCP, libc::TCP_CONGESTION, control)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    if reset {
        // Dropped with unread data: the kernel resets. Without, it would end the stream first.
        stream.peek(&mut [0])?;
        return Ok((0, 0, "its own reset".into()));
    }
    let reader = {
        let (mut stream, script, pattern) = (stream.try_clone()?, script.clone(), pattern.clone());
        thread::spawn(move || -> Outcome<(u64, String)> {
            let mut received = 0;
            let mut buffer = vec![0; script.read.min(65_536)];
            loop {
                if script.read_every > 0 {
                    thread::sleep(Duration::from_nanos(script.read_every));
                }
                match stream.read(&mut buffer) {
                    Ok(0) => return Ok((received, "end of stream".into())),
                    Ok(length) => {
                        if buffer[..length] != *pattern.at(OURS, received, length) {
                            return Err(format!("wrong bytes at {received}").into());
                        }
                        received += length as u64;
                    }
                    Err(error) => return Ok((received, format!("{:?}", error.kind()))),
                }
            }
        })
    };
    let join =
        |reader: thread::JoinHandle<Outcome<(u64, String)>>| reader.join().map_err(|_| "reader panicked")?;
    let mut early = None;
    let reader = if script.after_eof {
        early = Some(join(reader)?);
        None
    } else {
        Some(reader)
    };
    let mut sent = 0;
    let mut writer = stream;
    while sent < script.total {
        let want = (script.total - sent).min(script.write as u64) as usize;
        writer.write_all(pattern.at(THEIRS, sent, want))?;
        sent += want as u64;
        if script.write_every > 0 {
            thread::sleep(Duration::from_nanos(script.write_every));
        }
    }
    // Refused after a reset by the other side, which the reader reports.
    let _ = stream.shutdown(Shutdown::Write);
    let (received, how) = match reader {
        Some(reader) => join(reader)?,
        None => early.ok_or("no reader")?,
    };
    Ok((sent, received, how))
}
