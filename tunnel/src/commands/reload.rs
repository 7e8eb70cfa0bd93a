//! `reload`.

use super::print;
use crate::{
    name::InterfaceName,
    problem::{Problem, Result},
    uapi,
};

/// Has a running agent read its file again, and tells what changed.
///
/// # Errors
/// When there is no agent, or what the agent found wrong with the file; it goes on as before then.
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
        0 => Err(Problem::new("no agent is running").hint("start one: warren-tunnel agent --config FILE")),
        _ => {
            let names: Vec<&str> = running.iter().map(InterfaceName::as_str).collect();
            Err(Problem::new(format!("several agents are running: {}", names.join(", ")))
                .hint("name one: warren-tunnel reload INTERFACE"))
        }
    }
}
