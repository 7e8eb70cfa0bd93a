//! The data path with one peer and nothing else: what is measured when the data path is measured.
//!
//! `datapath INTERFACE KEY_FILE PORT PEER_KEY ALLOWED [--endpoint ADDRESS] [--no-tun-offload]
//! [--no-udp-offload] [--queues N]`; addresses and routes are the caller's. Runs until its standard input
//! ends, then prints its counters.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use warren_device::tun::Tun;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_transport::tls::Streams;
use warren_transport::udp::{Udp, UdpOptions};
use warren_tunnel::runtime::datapath::{Clock, Control, Datapath, DatapathConfig, Device, control_channel};
use warren_wire::{PrivateKey, PublicKey};

struct Args {
    positional: Vec<String>,
    endpoint: Option<String>,
    tun_offload: bool,
    udp_offload: bool,
    queues: usize,
}

fn args() -> Result<Args, Box<dyn Error>> {
    let mut parsed =
        Args { positional: Vec::new(), endpoint: None, tun_offload: true, udp_offload: true, queues: 1 };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--endpoint" => parsed.endpoint = args.next(),
            "--no-tun-offload" => parsed.tun_offload = false,
            "--no-udp-offload" => parsed.udp_offload = false,
            "--queues" => parsed.queues = args.next().ok_or("--queues needs a number")?.parse()?,
            _ => parsed.positional.push(arg),
        }
    }
    Ok(parsed)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = args()?;
    let [interface, key_file, port, peer_key, allowed] = args.positional.as_slice() else {
        return Err("usage: datapath INTERFACE KEY_FILE PORT PEER_KEY ALLOWED [OPTIONS]".into());
    };
    let private_key = PrivateKey::from_base64(std::fs::read_to_string(key_file)?.trim())?;
    let mut seed = [0u8; 32];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut seed)?;
    let clock = Clock;
    let mut engine = Engine::new(EngineConfig::new(private_key), seed);
    let mut peer = PeerConfig::new(PublicKey::from_base64(peer_key)?);
    peer.allowed_ips = allowed.split(',').map(str::parse).collect::<Result<_, _>>()?;
    peer.endpoint = args.endpoint.as_deref().map(str::parse).transpose()?;
    engine.upsert_peer(clock.now(), peer);
    let plane = engine.plane();

    let tun = Tun::new(interface).queues(args.queues).offload(args.tun_offload).create()?;
    let offload = tun[0].offload();
    let udp = Arc::new(Udp::open(UdpOptions {
        port: port.parse()?,
        offload: args.udp_offload,
        queues: args.queues,
        ..UdpOptions::default()
    })?);
    println!("{offload:?} {:?}", udp.capabilities());
    let (sender, mut receiver) = control_channel(1024)?;
    let datapath = Datapath::start(DatapathConfig {
        plane: Arc::clone(&plane),
        device: Device::Tun(tun),
        udp: Arc::clone(&udp),
        streams: Streams::new(|| Clock.mono(), Box::new(|| {}))?,
        control: sender,
        clock,
        mtu: 1420,
    })?;
    let stdin = std::io::stdin();
    loop {
        let due = engine.poll_timeout().map(|at| at.saturating_sub(clock.mono()));
        let due = due.map(|due| Timespec {
            tv_sec: i64::try_from(due.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(due.subsec_nanos()),
        });
        let (readable, stop) = {
            let mut fds = [
                PollFd::new(&receiver, PollFlags::IN),
                PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            ];
            poll(&mut fds, due.as_ref())?;
            (!fds[0].revents().is_empty(), !fds[1].revents().is_empty())
        };
        if stop {
            break;
        }
        if readable {
            receiver.acknowledge();
            while let Some(message) = receiver.next() {
                match message {
                    Control::Datagram { from, mut bytes } => engine.handle(clock.now(), from, &mut bytes),
                    Control::Wakeup => engine.serve_wakeups(clock.now()),
                }
            }
        }
        engine.handle_timeout(clock.now());
        while let Some(output) = engine.poll_output() {
            match output {
                Output::Transmit { to, bytes, .. } => {
                    let _ = udp.send_one(&to, &bytes);
                }
                Output::Flush(id) => {
                    if let Some(peer) = plane.peer(id) {
                        datapath.flush(&peer);
                    }
                }
                Output::Established(_) | Output::Arrived(_) | Output::Expired(_) => {}
            }
        }
    }
    println!("{:?}", datapath.stats());
    println!("dropped: {:?}", plane.drops().list());
    for peer in engine.peers(clock.now()) {
        println!("{:?} dropped: {:?}", peer.traffic, peer.drops);
    }
    let started = std::time::Instant::now();
    datapath.stop();
    println!("stopped in {:?}", started.elapsed());
    Ok(())
}
