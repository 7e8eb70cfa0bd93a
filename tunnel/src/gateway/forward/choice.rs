//! The choice of the forwarding mode: as in the file, otherwise the kernel if it is available.

use ipnet::IpNet;
use warren_wire::gateway::{Forwarding, GatewayConfig};

use super::kernel;
use crate::runtime::problem::{Problem, Result};

/// The forwarding mode, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// The kernel. If it is not `required`, sockets are the fallback.
    Kernel { reason: String, required: bool },
    /// Sockets of this process.
    User(String),
}

/// Chooses the forwarding mode.
///
/// # Errors
/// The file requires the kernel, which cannot forward here.
pub(super) fn choose(config: &GatewayConfig) -> Result<Chosen> {
    decide(config.forwarding, || {
        kernel::check_routes(config)?;
        let nets = kernel::tunnel_ranges(config);
        let has = |v4: bool| nets.iter().any(|net| matches!(net, IpNet::V4(_)) == v4);
        kernel::check_machine(has(true), has(false))
    })
}

fn decide(asked: Forwarding, possible: impl FnOnce() -> Result<()>) -> Result<Chosen> {
    let asked_for = || "set in the file".to_owned();
    match asked {
        Forwarding::User => Ok(Chosen::User(asked_for())),
        Forwarding::Kernel => match possible() {
            Ok(()) => Ok(Chosen::Kernel { reason: asked_for(), required: true }),
            Err(problem) => {
                let refused = Problem::new(format!("kernel forwarding is not available: {}", problem.what()));
                let hint = problem.advice().unwrap_or("run `warren-tunnel doctor`");
                Err(refused.hint(format!("{hint}; or set forwarding = \"user\", which needs no privileges")))
            }
        },
        Forwarding::Auto => Ok(match possible() {
            Ok(()) => Chosen::Kernel { reason: CAN.into(), required: false },
            Err(problem) => Chosen::User(problem.what().to_owned()),
        }),
    }
}

const CAN: &str = "CAP_NET_ADMIN, a TUN device and nft are available";

/// The mode that a gateway would choose on this machine, the reason, and a hint; for `doctor`.
pub(crate) fn preview() -> (&'static str, String, Option<String>) {
    match kernel::check_machine(true, false) {
        Ok(()) => ("kernel", CAN.into(), None),
        Err(problem) => ("user", problem.what().to_owned(), problem.advice().map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_taken_where_it_may_be_had() {
        let no = || Err(Problem::new("CAP_NET_ADMIN is missing").hint("run as root"));
        let kernel = decide(Forwarding::Auto, || Ok(())).unwrap();
        assert_eq!(kernel, Chosen::Kernel { reason: CAN.into(), required: false });
        assert_eq!(decide(Forwarding::Auto, no).unwrap(), Chosen::User("CAP_NET_ADMIN is missing".into()));
        assert_eq!(decide(Forwarding::User, || Ok(())).unwrap(), Chosen::User("set in the file".into()));
        insta::assert_snapshot!(decide(Forwarding::Kernel, no).unwrap_err());
    }
}
