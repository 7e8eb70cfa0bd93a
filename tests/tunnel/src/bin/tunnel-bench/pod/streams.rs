//! Many streams at once: what they cost while they say little, and what they hold when nobody reads.

use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::net::listen;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use warren_tunnel_tests::Daemon;

use super::{HOLDING, Lab, PORT, Plan, Program, Way};
use crate::figures::megabytes;
use crate::sheet::Sheet;

/// Idle streams beside a bulk one.
const IDLE: [usize; 3] = [1, 1_000, 5_000];
/// Each idle stream says one byte in this time.
const BEAT: Duration = Duration::from_secs(10);
/// Streams that nobody reads from.
const UNREAD: usize = 5_000;
/// What each of their ends has to say.
const SAY: usize = 256 << 10;
/// The kernel's part of it is kept small: the pod's is measured.
const SOCKET: usize = 32 << 10;
/// How long all streams may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Both ends of each stream.
struct Streams {
    near: Vec<TcpStream>,
    far: Vec<TcpStream>,
}

pub(super) fn idle(lab: &Lab, program: &Program, plan: &Plan, sheet: &mut Sheet) {
    for count in IDLE {
        sheet.case(program.name(), &format!("{count} idle streams, bulk down"), || {
            let (pod, _) = lab.start(program, &Way::Udp(PORT))?;
            let Streams { mut near, far } = open(lab, &pod, count)?;
            let before = pod.cpu()?;
            beat(&mut near, Duration::from_secs(2))?;
            let idle = (pod.cpu()? - before) / 2.0 * 100.0;
            let memory = megabytes(pod.memory()?);
            let seconds = plan.seconds;
            let beating =
                std::thread::spawn(move || beat(&mut near, Duration::from_secs(seconds)).map(|()| near));
            let mut figures = lab.transfer(&pod, plan, &["--reverse"])?;
            drop(beating.join().map_err(|_| anyhow::anyhow!("the idle streams panicked"))??);
            drop(far);
            figures.extend([("CPU % before it", idle), ("memory before it, MB", memory)]);
            Ok(figures)
        });
    }
}

/// Both ends of all streams say what they have, and neither listens.
pub(super) fn unread(lab: &Lab, program: &Program, sheet: &mut Sheet) {
    sheet.case(program.name(), &format!("{UNREAD} unread streams"), || {
        let (pod, _streams) = say_unheard(lab, program)?;
        let [own, files] = pod.own_and_file_memory()?.map(megabytes);
        let peak = megabytes(pod.peak_memory()?);
        Ok(vec![("peak memory, MB", peak), ("own memory, MB", own), ("pages of files, MB", files)])
    });
}

fn say_unheard(lab: &Lab, program: &Program) -> Result<(Daemon, Streams)> {
    let (pod, _) = lab.start(program, &Way::Udp(PORT))?;
    let streams = open(lab, &pod, UNREAD)?;
    for stream in streams.near.iter().chain(&streams.far) {
        stream.set_nonblocking(true)?;
        set_socket_send_buffer_size(stream, SOCKET)?;
        set_socket_recv_buffer_size(stream, SOCKET)?;
    }
    let mut left: Vec<(&TcpStream, usize)> =
        streams.near.iter().chain(&streams.far).map(|stream| (stream, SAY)).collect();
    let block = vec![7; 16 << 10];
    let mut progress = Instant::now();
    while !left.is_empty() && progress.elapsed() < Duration::from_secs(2) {
        for (stream, left) in &mut left {
            match stream.write(&block[..block.len().min(*left)]) {
                Ok(written) => {
                    *left -= written;
                    progress = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).with_context(|| pod.log()),
            }
        }
        left.retain(|(_, left)| *left > 0);
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(left);
    Ok((pod, streams))
}

/// Opens streams through the pod one after another.
fn open(lab: &Lab, pod: &Daemon, count: usize) -> Result<Streams> {
    let at = lab.gateway_at_inner(HOLDING);
    let listener = lab.hosts[1].inside(move || Ok(TcpListener::bind(at)?))?;
    // A burst that finds the queue of 128 full would lose streams for good: they are up at the pod's end, where nobody has
    // anything to say that would tell it.
    listen(&listener, 4_096)?;
    listener.set_nonblocking(true)?;
    let holder = std::thread::spawn(move || -> Result<Vec<TcpStream>> {
        let begun = Instant::now();
        let mut held = Vec::with_capacity(count);
        while held.len() < count {
            match listener.accept() {
                Ok((stream, _)) => held.push(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let all = held.len();
                    ensure!(begun.elapsed() < PATIENCE, "{all} of {count} streams came up in {PATIENCE:?}");
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(held)
    });
    let near = lab.hosts[0].inside(move || {
        let to = (Ipv4Addr::LOCALHOST, HOLDING);
        (0..count).map(|_| Ok(TcpStream::connect(to)?)).collect::<Result<Vec<_>>>()
    })?;
    let far = holder.join().map_err(|_| anyhow::anyhow!("the holder of streams panicked"))?;
    let far = far.with_context(|| pod.log())?;
    for stream in &far {
        stream.set_nonblocking(false)?;
    }
    Ok(Streams { near, far })
}

/// Each stream in turn says a byte.
fn beat(streams: &mut [TcpStream], time: Duration) -> Result<()> {
    let begun = Instant::now();
    let pause = BEAT / u32::try_from(streams.len().max(1))?;
    let mut next = 0;
    while begun.elapsed() < time {
        if let Some(stream) = streams.get_mut(next) {
            stream.write_all(&[1])?;
        }
        next = (next + 1) % streams.len().max(1);
        std::thread::sleep(pause.min(time.saturating_sub(begun.elapsed())));
    }
    Ok(())
}
