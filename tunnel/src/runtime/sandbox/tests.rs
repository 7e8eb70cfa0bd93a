use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc;

use rustix::net::{AddressFamily, SocketType, socket};

use super::*;

/// Confinement binds a thread for its life, so each test has one of its own.
fn alone<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let confined = move || {
        set_no_new_privs(true).unwrap();
        body()
    };
    std::thread::spawn(confined).join().unwrap()
}

const NEEDED: &str = "these tests need a kernel with Landlock and seccomp, in a container that permits both";

#[test]
fn this_kernel_offers_both() {
    let (landlock, seccomp) = offered().unwrap();
    assert!(landlock.expect(NEEDED) >= 1);
    seccomp.expect(NEEDED);
    assert!(fs::read_to_string("/proc/thread-self/status").unwrap().contains("Seccomp:\t0"));
}

#[test]
fn only_named_files_are_within_reach() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    for folder in ["config", "state", "secret"] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("file"), "before").unwrap();
    }
    let (config, state, secret) = (at("config"), at("state"), at("secret"));
    alone(move || {
        let mut files = Files::default();
        files.read(&config.join("file"));
        files.folder(&state);
        assert!(files::restrict(&files).expect(NEEDED) >= 1);

        assert_eq!(fs::read_to_string(config.join("file")).unwrap(), "before");
        let refused = |error: std::io::Error| assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        refused(fs::read_to_string(secret.join("file")).unwrap_err());
        refused(fs::read_dir(&secret).unwrap_err());
        refused(fs::write(config.join("file"), "mine").unwrap_err());
        refused(fs::write(secret.join("new"), "mine").unwrap_err());
        refused(fs::remove_file(secret.join("file")).unwrap_err());
        refused(fs::write("/proc/self/comm", "mine").unwrap_err());
        refused(fs::read_dir("/root").unwrap_err());
        refused(fs::read_dir("/var/lib").unwrap_err());

        fs::write(state.join("new"), "mine").unwrap();
        fs::rename(state.join("new"), state.join("file")).unwrap();
        assert_eq!(fs::read_to_string(state.join("file")).unwrap(), "mine");
        fs::remove_file(state.join("file")).unwrap();
        // No link out of the permitted folders helps.
        std::os::unix::fs::symlink(secret.join("file"), state.join("link")).unwrap();
        refused(fs::read_to_string(state.join("link")).unwrap_err());
    });
}

#[test]
fn a_file_that_another_process_replaces_stays_within_reach() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config");
    fs::create_dir(&config).unwrap();
    fs::write(config.join("file"), "before").unwrap();
    let (restricted, (replaced, read)) = (mpsc::channel(), mpsc::channel());
    let file = config.join("file");
    let confined = std::thread::spawn(move || {
        set_no_new_privs(true).unwrap();
        let mut files = Files::default();
        files.read(&file);
        files::restrict(&files).expect(NEEDED);
        restricted.0.send(()).unwrap();
        read.recv().unwrap();
        fs::read_to_string(&file).unwrap()
    });
    restricted.1.recv().expect(NEEDED);
    fs::write(config.join("next"), "after").unwrap();
    fs::rename(config.join("next"), config.join("file")).unwrap();
    replaced.send(()).unwrap();
    assert_eq!(confined.join().unwrap(), "after");
}

#[test]
fn a_process_without_programs_starts_none_and_keeps_its_network() {
    alone(|| {
        system_calls::filter(false, false).expect(NEEDED);
        let refused = Command::new("true").spawn().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        let packet = socket(AddressFamily::PACKET, SocketType::RAW, None).unwrap_err();
        assert_eq!(packet, rustix::io::Errno::PERM);
        let file = fs::File::open("/proc/self/ns/net").unwrap();
        let entered = rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), None);
        assert_eq!(entered.unwrap_err(), rustix::io::Errno::PERM);

        assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        UdpSocket::bind("127.0.0.1:0").unwrap();
        UnixStream::pair().unwrap();
        assert!(("localhost", 1).to_socket_addrs().unwrap().count() > 0);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(async { tokio::task::spawn_blocking(|| 8).await.unwrap() }), 8);
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    });
}

/// Makes the calls with arguments that no call accepts, and prints the errors.
const CALLER: &str = "
import ctypes, errno, mmap, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode.get(ctypes.get_errno(), 'none')
for number in sys.argv[1:]:
    print(number, call(int(number), -1, -1, -1, -1, -1, -1))
try:
    mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)
    print('code none')
except PermissionError:
    print('code EPERM')
";

#[test]
fn no_program_that_it_starts_makes_a_refused_call() {
    let numbers = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_mount,
        libc::SYS_pivot_root,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_finit_module,
        libc::SYS_keyctl,
        libc::SYS_open_by_handle_at,
        libc::SYS_kexec_load,
    ];
    let arguments = numbers.map(|number| number.to_string());
    let call = move || {
        let output = Command::new("python3").arg("-c").arg(CALLER).args(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let free = call();
    assert!(free.contains("code none"), "{free}");
    assert!(free.lines().filter(|line| line.ends_with("EPERM")).count() < numbers.len() / 2, "{free}");
    let confined = alone(move || {
        system_calls::filter(true, false).expect(NEEDED);
        call()
    });
    assert!(confined.lines().all(|line| line.ends_with(" EPERM")), "{confined}");
}

#[test]
fn only_needed_capabilities_stay() {
    let before = privileges::held();
    let (some, none) = alone(|| {
        privileges::keep(&[Capability::NetAdmin, Capability::BindService]).unwrap();
        let some = privileges::held();
        privileges::keep(&[]).unwrap();
        (some, privileges::held())
    });
    let needed = ["CAP_NET_BIND_SERVICE", "CAP_NET_ADMIN"].map(str::to_owned);
    let expected: Vec<String> = before.iter().filter(|held| needed.contains(held)).cloned().collect();
    assert_eq!(some, expected);
    assert_eq!(none, Vec::<String>::new());
    assert_eq!(privileges::held(), before, "of this thread");
}

#[test]
fn what_the_sandbox_refuses_is_explained_only_within_one() {
    let problem = Problem::new("x: Permission denied (os error 13)").hint("y");
    assert_eq!(explain(problem.clone()), problem);
}
