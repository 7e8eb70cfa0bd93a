//! What is sent through a tunnel, and what arrives.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ring::digest::{Context, SHA256};

use crate::Namespace;
use crate::namespace::finish;

/// How long a stream or an echo may stand still before it has failed.
const PATIENCE: Duration = Duration::from_secs(25);

/// A stream of bytes under way from one host to another.
#[derive(Debug)]
pub struct Stream {
    sender: JoinHandle<Result<Vec<u8>>>,
    receiver: JoinHandle<Result<Vec<u8>>>,
    arrived: Arc<AtomicU64>,
    length: u64,
    begun: Instant,
}

impl Stream {
    /// Sends `length` bytes that no compression helps with over TCP to `to` (an address of `receiver`).
    ///
    /// # Errors
    /// A host is gone, or the address is not on `receiver`.
    pub fn start(sender: &Namespace, receiver: &Namespace, to: IpAddr, length: u64) -> Result<Stream> {
        let listener = receiver.inside(move || Ok(TcpListener::bind((to, 0))?))?;
        let target = listener.local_addr()?;
        Stream::between((sender, target), (receiver, listener), length, true)
    }

    /// Sends `length` bytes from a client that connects to `target` to a server that listens at `at`: whatever lies between
    /// must lead from the one to the other.
    ///
    /// # Errors
    /// A host is gone, or the address is not on the server.
    pub fn upload(
        (client, target): (&Namespace, SocketAddr),
        (server, at): (&Namespace, SocketAddr),
        length: u64,
    ) -> Result<Stream> {
        let listener = server.inside(move || bind(at))?;
        Stream::between((client, target), (server, listener), length, true)
    }

    /// The same, but the server sends.
    ///
    /// # Errors
    /// As [`Stream::upload`].
    pub fn download(
        (client, target): (&Namespace, SocketAddr),
        (server, at): (&Namespace, SocketAddr),
        length: u64,
    ) -> Result<Stream> {
        let listener = server.inside(move || bind(at))?;
        Stream::between((client, target), (server, listener), length, false)
    }

    fn between(
        (client, target): (&Namespace, SocketAddr),
        (server, listener): (&Namespace, TcpListener),
        length: u64,
        up: bool,
    ) -> Result<Stream> {
        let arrived = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&arrived);
        let (sender, receiver) = if up {
            let receiver = server.thread(move || receive(accept(&listener)?, &count))?;
            (client.thread(move || send(connect(target)?, length))?, receiver)
        } else {
            let sender = server.thread(move || send(accept(&listener)?, length))?;
            (sender, client.thread(move || receive(connect(target)?, &count))?)
        };
        Ok(Stream { sender, receiver, arrived, length, begun: Instant::now() })
    }

    /// Bytes received so far.
    pub fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Relaxed)
    }

    /// Waits until a share of the bytes, between 0 and 1, has arrived.
    ///
    /// # Errors
    /// The stream stands still.
    pub fn reached(&self, share: f64) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "a rough share")]
        crate::wait_for(PATIENCE, "progress of the stream", || {
            Ok((self.arrived() as f64 >= share * self.length as f64).then_some(()))
        })
    }

    /// Waits for the end, proves that all bytes arrived as they were sent, and returns the seconds it took.
    ///
    /// # Errors
    /// The stream stood still, was cut, or changed on its way.
    pub fn finish(self) -> Result<f64> {
        let sent = finish(self.sender);
        let received = finish(self.receiver).with_context(|| format!("sender: {:?}", sent.as_ref().err()))?;
        let length = self.arrived.load(Ordering::Relaxed);
        ensure!(length == self.length, "{length} of {} bytes arrived", self.length);
        ensure!(sent? == received, "the bytes changed on their way");
        Ok(self.begun.elapsed().as_secs_f64())
    }
}

/// A child that is just being started holds the sockets of this process for a moment, also one that was closed meanwhile.
fn bind(at: SocketAddr) -> Result<TcpListener> {
    crate::wait_for(PATIENCE, "port", || match TcpListener::bind(at) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Ok(None),
        bound => Ok(Some(bound?)),
    })
}

fn connect(target: SocketAddr) -> Result<TcpStream> {
    patient(TcpStream::connect_timeout(&target, PATIENCE)?)
}

fn accept(listener: &TcpListener) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let stream = crate::wait_for(PATIENCE, "connection", || match listener.accept() {
        Ok((stream, _)) => Ok(Some(stream)),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error.into()),
    })?;
    stream.set_nonblocking(false)?;
    patient(stream)
}

fn patient(stream: TcpStream) -> Result<TcpStream> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn send(mut stream: TcpStream, length: u64) -> Result<Vec<u8>> {
    let mut digest = Context::new(&SHA256);
    let mut block = vec![0; 256 * 1024];
    let (mut left, mut state) = (length, 0x9e37_79b9_7f4a_7c15);
    while left > 0 {
        fill(&mut block, &mut state);
        let part = &block[..usize::try_from(left).unwrap_or(usize::MAX).min(block.len())];
        digest.update(part);
        stream.write_all(part).context("the sender")?;
        left -= part.len() as u64;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    // The end of the other side tells that it has everything.
    stream.read_to_end(&mut Vec::new()).context("the sender waits for the receiver's end")?;
    Ok(digest.finish().as_ref().to_vec())
}

fn receive(mut stream: TcpStream, arrived: &AtomicU64) -> Result<Vec<u8>> {
    let mut digest = Context::new(&SHA256);
    let mut block = vec![0; 256 * 1024];
    loop {
        let length = stream.read(&mut block).context("the receiver")?;
        if length == 0 {
            return Ok(digest.finish().as_ref().to_vec());
        }
        digest.update(&block[..length]);
        arrived.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// Fills `block` with the next numbers of a xorshift generator.
fn fill(block: &mut [u8], state: &mut u64) {
    for chunk in block.chunks_exact_mut(8) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        chunk.copy_from_slice(&state.to_le_bytes());
    }
}

/// A host that sends every datagram back.
#[derive(Debug)]
pub struct Echo {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Echo {
    /// Listens on `at`, an address of `host`.
    ///
    /// # Errors
    /// The address is not on `host`.
    pub fn start(host: &Namespace, at: IpAddr) -> Result<Echo> {
        let socket = host.inside(move || Ok(UdpSocket::bind((at, 0))?))?;
        let address = socket.local_addr()?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = host.thread(move || {
            let mut buffer = vec![0; 65536];
            while !told.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&buffer[..length], from);
                }
            }
            Ok(())
        })?;
        Ok(Echo { address, stop, thread: Some(thread) })
    }

    /// Sends datagrams of `length` bytes from `host`, one after another, and returns the times of the answers.
    ///
    /// A datagram without an answer after three seconds is lost; an answer must be equal to what was sent.
    ///
    /// # Errors
    /// An answer differs, or the host is gone.
    pub fn ask(&self, host: &Namespace, length: usize, count: usize) -> Result<Vec<Duration>> {
        let target = self.address;
        host.inside(move || {
            let any: IpAddr = if target.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
            let socket = UdpSocket::bind((any, 0))?;
            socket.connect(target)?;
            socket.set_read_timeout(Some(Duration::from_secs(3)))?;
            let (mut packet, mut answer) = (vec![0; length], vec![0; 65536]);
            let mut state = 0x2545_f491_4f6c_dd1d;
            let mut times = Vec::new();
            for _ in 0..count {
                fill(&mut packet, &mut state);
                let begun = Instant::now();
                socket.send(&packet)?;
                if let Ok(received) = socket.recv(&mut answer) {
                    ensure!(
                        answer[..received] == packet[..],
                        "a datagram of {length} bytes changed on its way"
                    );
                    times.push(begun.elapsed());
                }
            }
            Ok(times)
        })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
