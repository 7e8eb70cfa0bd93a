//! `reload`.

use super::print;
use crate::runtime::{host::InterfaceName, problem::Result, uapi};

/// Makes a running agent reload its file, and prints what changed.
///
/// # Errors
/// When there is no agent, or the file is invalid; the agent then keeps its configuration.
pub fn reload(interface: Option<&InterfaceName>) -> Result<()> {
    let interface = match interface {
        Some(name) => name.clone(),
        None => uapi::only_running("warren-tunnel reload INTERFACE")?,
    };
    let lines = uapi::exchange(&interface, "warren_reload=1")?;
    let said = lines.iter().find(|(key, _)| key == "reload").map_or("", |(_, text)| text.as_str());
    print(&format!("{interface}: {said}\n"))
}
