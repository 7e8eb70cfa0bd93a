//! What the command's connections have left to do when it has ended. The kernel sends the rest of their data after that, as on
//! any machine, but only while there is a tunnel.

use std::{
    fs,
    time::{Duration, Instant},
};

use super::child::Signals;

/// The longest wait for data that was not acknowledged.
const SENDING: Duration = Duration::from_secs(10);
/// The longest wait for the other ends to close too. A gateway that forwards by sockets has acknowledged the data, but the other pod may
/// not have it yet. The gateway drops the rest when the lease ends.
const CLOSING: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);

/// Waits until connections without a program are closed at both ends, in the network of a process. A signal ends the wait.
pub(super) fn wait(process: u32, signals: &Signals) {
    let begun = Instant::now();
    let mut sent = None;
    loop {
        let of = |table: &str| fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        let left = Left::of(&(of("tcp") + &of("tcp6")));
        let enough = match left {
            Left { sending: 0, closing: 0 } => return,
            Left { sending: 0, .. } => sent.get_or_insert_with(Instant::now).elapsed() > CLOSING,
            _ => begun.elapsed() > SENDING,
        };
        if enough {
            tracing::debug!(left.sending, left.closing, "connections of the command end with the tunnel");
            return;
        }
        if signals.next(POLL).is_some() {
            return;
        }
    }
}

/// Numbers of connections without a program.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    /// With data or a FIN that was not acknowledged.
    sending: usize,
    /// Whose other end has not closed.
    closing: usize,
}

impl Left {
    /// Counts in the kernel's table (proc_pid_net(5)): the fourth field is the state, and the tenth the inode, which a connection
    /// without a program lacks.
    fn of(table: &str) -> Self {
        let states = table.lines().filter_map(|line| {
            let mut fields = line.split_whitespace();
            let state = fields.nth(3)?;
            (fields.nth(5)? == "0").then_some(state)
        });
        let mut left = Self { sending: 0, closing: 0 };
        for state in states {
            match state {
                // FIN-WAIT-1, LAST-ACK, CLOSING.
                "04" | "09" | "0B" => left.sending += 1,
                // FIN-WAIT-2.
                "05" => left.closing += 1,
                _ => {}
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_without_a_program_are_counted_by_what_they_wait_for() {
        let line = |state: &str, inode: &str| {
            format!(
                "   0: 0564000A:C350 0664000A:733C {state} 00000010:00000000 01:00000014 00000000 65534        0 {inode} 2 0000000000000000\n"
            )
        };
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let table = [line("04", "0"), line("05", "0"), line("0B", "0"), line("09", "0")].concat();
        assert_eq!(Left::of(&(head.to_owned() + &table)), Left { sending: 3, closing: 1 });
        // Of programs that run, listening, and in TIME-WAIT.
        let table = [line("01", "4711"), line("04", "4711"), line("0A", "0"), line("06", "0")].concat();
        assert_eq!(Left::of(&table), Left { sending: 0, closing: 0 });
    }
}
