//! Errors of the socket and of the device, with what to do about them.

use crate::runtime::problem::Problem;

pub(super) fn port_problem(port: u16, error: &std::io::Error) -> Problem {
    let problem = Problem::new(format!("UDP port {port}: {error}"));
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => problem.hint(format!(
            "find the process that uses it with `ss -lunp sport = :{port}`, or choose another port with --listen-port or ListenPort"
        )),
        Some(libc::EPERM) => problem.hint("setting FwMark needs CAP_NET_ADMIN"),
        _ => problem,
    }
}

/// Splits the device's error into problem and hint.
pub(super) fn device_problem(error: &warren_device::tun::OpenError) -> Problem {
    let text = error.to_string();
    match text.split_once("; ") {
        Some((what, hint)) => Problem::new(what).hint(hint),
        None => Problem::new(text),
    }
}
