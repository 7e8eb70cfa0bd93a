//! What ends, is killed and starts again: streams end cleanly, new ones work, and nothing is in the way.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::{Device, Implementation, wait_for};

use crate::lab::{DEVICES, Lab, accept};

/// Of the netstack's: the kernel's streams wait for their timers as long as the outage lasted, which is longer than this test waits.
#[test]
fn a_stream_outlives_a_restart_of_the_gateway() {
    for gateway in [Implementation::WarrenTunnel, Implementation::WireguardGo] {
        let mut lab = Lab::new(&gateway, "auto");
        let stream = Stream::upload(lab.client(7001), lab.server(7001), 60_000_000).unwrap();
        stream.reached(0.05).unwrap();
        lab.gateway = None;
        lab.gateway = Some(Device::start(&gateway, &lab.hosts[1], &lab.interfaces[1]).unwrap());
        stream.finish().unwrap();
    }
}

#[test]
fn a_pod_that_is_asked_to_end_leaves_nothing() {
    for device in DEVICES {
        let mut lab = Lab::new(&Implementation::WarrenTunnel, device);
        let listener = lab.listen(7001);
        let mut near = lab.connect(7001);
        near.write_all(b"hello").unwrap();
        let mut far = accept(&listener);
        far.read_exact(&mut [0; 5]).unwrap();
        let helpers = children(lab.pod.daemon().id());
        let begun = Instant::now();
        let status = lab.pod.daemon().terminate().unwrap();
        assert!(status.success(), "{status}: {}", lab.pod.log());
        assert!(begun.elapsed() < Duration::from_secs(5));
        // The far end is told; it need not find out.
        assert_eq!(far.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let left: Vec<_> =
            fs::read_dir(lab.pod.runtime()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert!(helpers.iter().all(|helper| !alive(*helper)), "{helpers:?}");
        lab.pod.restart().unwrap();
    }
}

#[test]
fn a_pod_that_was_killed_starts_again_in_its_own_folder() {
    for device in DEVICES {
        let mut lab = Lab::new(&Implementation::WireguardGo, device);
        let listener = lab.listen(7001);
        let mut near = lab.connect(7001);
        near.write_all(b"hello").unwrap();
        let mut far = accept(&listener);
        far.read_exact(&mut [0; 5]).unwrap();
        drop(listener);
        let helpers = children(lab.pod.daemon().id());
        assert_eq!(helpers.len(), usize::from(device == "userns"), "{helpers:?}");

        lab.pod.daemon().kill().unwrap();
        // What was open ends at once for the pod's programs.
        assert!(matches!(near.read(&mut [0; 9]), Ok(0) | Err(_)), "the stream goes on");
        wait_for(Duration::from_secs(5), "end of the helper", || {
            Ok(helpers.iter().all(|helper| !alive(*helper)).then_some(()))
        })
        .unwrap();
        let left = fs::read_dir(lab.pod.runtime()).unwrap().count();
        assert!(left > 0, "the test is to start over what was left");

        lab.pod.restart().unwrap();
        assert!(!lab.pod.log().contains("WARN"), "{}", lab.pod.log());
        Stream::upload(lab.client(7001), lab.server(7001), 5_000_000).unwrap().finish().unwrap();
        Stream::download(lab.client(7001), lab.server(7001), 5_000_000).unwrap().finish().unwrap();
        // The far end of the old stream hears that nobody knows it any more, as soon as it says something.
        far.write_all(b"anybody?").unwrap();
        assert_eq!(far.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let said = lab.pod.run(&["reload"]).unwrap();
        assert!(said.contains("no changes"), "{said}");
        assert!(lab.pod.daemon().terminate().unwrap().success());
        assert_eq!(fs::read_dir(lab.pod.runtime()).unwrap().count(), 0);
    }
}

/// Processes that a process has started.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    let of = |task: &Path| fs::read_to_string(task.join("children")).unwrap_or_default();
    let all: String = tasks.map(|task| of(&task.unwrap().path())).collect();
    all.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

fn alive(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}
