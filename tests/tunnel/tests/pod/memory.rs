//! Memory while nobody reads.

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::listen;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::Value;
use warren_tunnel_tests::Implementation;

use crate::lab::{Lab, accept};

const STREAMS: usize = 5_000;
/// What each end has to say: together it is many times the budget.
const SAY: usize = 256 << 10;
/// How often each end tries to say more.
const ROUNDS: usize = 60;
/// The kernel's part of it is kept small.
const SOCKET: usize = 16 << 10;
/// The netstack's buffers, the proxies' own, and what 5,000 streams and their tasks are. Pages of files do not count: those of
/// a build for tests are many.
const OWN: u64 = 72 << 20;

#[test]
fn thousands_of_streams_that_nobody_reads_stay_under_the_budget() {
    let mut limit = getrlimit(Resource::Nofile);
    assert!(limit.maximum.is_none_or(|most| most > 3 * STREAMS as u64), "raise `ulimit -Hn`");
    limit.current = limit.maximum.map(|most| most.min(1 << 20));
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut lab = Lab::new(&Implementation::WarrenTunnel, "auto");
    let listener = lab.listen(7001);
    listen(&listener, 4_096).unwrap();
    let mut ends: Vec<TcpStream> = Vec::new();
    let (host, to) = lab.client(7001);
    for _ in 0..STREAMS / 100 {
        let near = host
            .inside(move || Ok((0..100).map(|_| TcpStream::connect(to)).collect::<Result<Vec<_>, _>>()?));
        ends.extend(near.unwrap());
        ends.extend((0..100).map(|_| accept(&listener)));
    }
    for stream in &ends {
        stream.set_nonblocking(true).unwrap();
        set_socket_send_buffer_size(stream, SOCKET).unwrap();
        set_socket_recv_buffer_size(stream, SOCKET).unwrap();
    }
    let block = vec![7; 16 << 10];
    let mut left: Vec<(&TcpStream, usize)> = ends.iter().map(|stream| (stream, SAY)).collect();
    for _ in 0..ROUNDS {
        for (stream, left) in &mut left {
            match (&mut &**stream).write(&block[..block.len().min(*left)]) {
                Ok(written) => *left -= written,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{}", lab.pod.log()),
            }
        }
        left.retain(|(_, left)| *left > 0);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(left.len() > STREAMS / 2, "only {} ends were held back", left.len());
    let status = lab.pod.run(&["status", "--json", "--interval", "0"]).unwrap();
    let status: Value = serde_json::from_str(&status).unwrap();
    let status = if status.is_array() { &status[0] } else { &status };
    let buffers = |name: &str| status["services"]["buffers"][name].as_u64().unwrap();
    let [own, files] = lab.pod.daemon().own_and_file_memory().unwrap();
    println!(
        "buffers {} kB, at most {} of {}; own memory {} kB, pages of files {} kB",
        buffers("bytes") >> 10,
        buffers("peak_bytes") >> 10,
        buffers("limit_bytes") >> 10,
        own >> 10,
        files >> 10
    );
    assert_eq!(status["services"]["streams"]["tcp_forward"]["open"], STREAMS, "{status}");
    assert!(
        buffers("peak_bytes") <= buffers("limit_bytes") && buffers("limit_bytes") == 32 << 20,
        "{status}"
    );
    // What is promised to streams is not in it.
    assert!(buffers("peak_bytes") > 12 << 20, "nothing waited: {status}");
    assert!(own < OWN, "{own} bytes");
}
