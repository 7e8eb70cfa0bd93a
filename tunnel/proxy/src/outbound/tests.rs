use std::{
    io,
    sync::{Arc, Mutex},
};

use tokio::time::Instant;

use super::*;
use crate::net::{SystemDatagrams, SystemStream};

/// A network in which each address fails in its way, after its time.
struct Failing(Arc<Mutex<Vec<(SocketAddr, Duration)>>>, Instant);

impl Dial for Failing {
    type Stream = SystemStream;
    type Datagrams = SystemDatagrams;

    async fn connect(&self, to: SocketAddr) -> Result<SystemStream, DialError> {
        self.0.lock().unwrap().push((to, self.1.elapsed()));
        match to.ip().to_string().as_str() {
            "10.0.0.1" => {
                sleep(Duration::from_secs(1)).await;
                Err(DialError::Refused)
            }
            "10.0.0.9" => std::future::pending().await,
            _ => Err(DialError::NoRoute),
        }
    }

    async fn bind_udp(&self, _: bool) -> io::Result<SystemDatagrams> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

struct Fixed(Vec<IpAddr>);

impl Resolve for Fixed {
    async fn resolve(&self, _: &Name) -> Result<Vec<IpAddr>, NameError> {
        if self.0.is_empty() { Err(NameError::Unknown) } else { Ok(self.0.clone()) }
    }
}

async fn connect(addresses: &[&str], asker: Asker) -> (Unreached, Vec<(String, u128)>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let dial = Failing(Arc::clone(&log), Instant::now());
    let names = Fixed(addresses.iter().map(|text| text.parse().unwrap()).collect());
    let outbound = Outbound::new(dial, names, Duration::from_secs(20));
    let error = outbound.connect(&"name:80".parse().unwrap(), asker).await.unwrap_err();
    let log = log.lock().unwrap().iter().map(|(to, at)| (to.ip().to_string(), at.as_millis())).collect();
    (error, log)
}

#[tokio::test(start_paused = true)]
async fn families_take_turns_and_the_telling_error_wins() {
    let (error, log) = connect(&["fd00::1", "fd00::2", "10.0.0.1", "10.0.0.2"], Asker::Configuration).await;
    assert_eq!(error, DialError::Refused.into());
    let expected = [("fd00::1", 0), ("10.0.0.1", 0), ("fd00::2", 250), ("10.0.0.2", 250)];
    assert_eq!(log, expected.map(|(address, at)| (address.to_owned(), at)));
}

#[tokio::test(start_paused = true)]
async fn an_address_that_never_answers_ends_in_time() {
    let (error, log) = connect(&["10.0.0.9"], Asker::Configuration).await;
    assert_eq!((error, log.len()), (DialError::TimedOut.into(), 1));
}

#[tokio::test(start_paused = true)]
async fn names_without_addresses_are_told_apart_from_forbidden_ones() {
    let far = Asker::Client("192.0.2.1".parse().unwrap());
    assert_eq!(connect(&[], far).await.0, NameError::Unknown.into());
    for local in ["127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "::ffff:127.0.0.1"] {
        let (error, log) = connect(&[local], far).await;
        assert_eq!((error, log.len()), (DialError::NotPermitted.into(), 0), "{local}");
    }
    let near = Asker::Client("127.0.0.1".parse().unwrap());
    assert_eq!(connect(&["127.0.0.1"], near).await.0, DialError::NoRoute.into());
}
