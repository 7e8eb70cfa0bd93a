//! `reload`.

use super::print;
use crate::runtime::{
    host::InterfaceName,
    problem::{Problem, Result},
    uapi,
};

/// Makes a running agent reload its file, and prints what changed.
///
/// # Errors
/// When there is no agent, or the file is invalid; the agent then keeps its configuration.
pub fn reload(interface: Option<&InterfaceName>) -> Result<()> {
    let interface = match interface {
        Some(name) => name.clone(),
        None => only()?,
    };
    let lines = uapi::exchange(&interface, "warren_reload=1")?;
    let said = lines.iter().find(|(key, _)| key == "reload").map_or("", |(_, text)| text.as_str());
    print(&format!("{interface}: {said}\n"))
}

fn only() -> Result<InterfaceName> {
    let mut running = uapi::running();
    match running.len() {
        1 => Ok(running.remove(0)),
        0 => Err(Problem::new("no agent is running for this user")
            .hint("start one with `warren-tunnel agent --config FILE`, or use sudo if it runs as root")),
        _ => {
            let names: Vec<&str> = running.iter().map(InterfaceName::as_str).collect();
            Err(Problem::new(format!("several agents are running: {}", names.join(", ")))
                .hint("choose one: `warren-tunnel reload INTERFACE`"))
        }
    }
}
