//! The code that seals and opens data messages: selected once, before the process confines itself.

use std::sync::OnceLock;

use clap::ValueEnum;
use warren_cipher::Suite;

use super::problem::{Problem, Result};
use super::status::Cipher;

/// Which code the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Demand {
    /// ipsec-mb if the machine has it and the processor makes it faster, else ring
    #[default]
    Auto,
    /// The built-in one
    Ring,
    /// Intel's Multi-Buffer Crypto library; without it the process does not start
    IpsecMb,
}

/// The selected cipher.
#[derive(Debug, Clone)]
struct Selected {
    suite: Suite,
    /// Why it is not the faster one.
    why: Option<String>,
}

static SELECTED: OnceLock<Selected> = OnceLock::new();

/// Selects the cipher of this process. A second call changes nothing.
///
/// # Errors
/// The library was required, and is not available.
pub fn select(demand: Demand) -> Result<()> {
    if SELECTED.get().is_none() {
        let selected = find(demand)?;
        tracing::info!("cipher: {}", Cipher::from(&selected).text());
        _ = SELECTED.set(selected);
    }
    Ok(())
}

/// The selected cipher; ring before [`select`].
pub fn suite() -> Suite {
    SELECTED.get().map_or(Suite::RING, |selected| selected.suite)
}

/// The cipher of an engine, and the reason if it is not the library.
pub fn report(suite: Suite) -> Cipher {
    let why = SELECTED.get().and_then(|selected| selected.why.clone());
    Cipher { name: suite.name(), why: why.filter(|_| suite.is_ring()) }
}

/// The cipher that `--cipher auto` selects on this machine.
pub fn preview() -> Cipher {
    Cipher::from(&library().unwrap_or_else(ring))
}

fn find(demand: Demand) -> Result<Selected> {
    match demand {
        Demand::Ring => Ok(ring("selected by --cipher".to_owned())),
        Demand::Auto => Ok(library().unwrap_or_else(ring)),
        Demand::IpsecMb => library().map_err(|why| {
            Problem::new(format!("the cipher ipsec-mb is required, but not available: {why}")).hint(
                "install libipsec-mb1 (Debian 12, Ubuntu) or libipsec-mb2 (Debian 13), or use --cipher auto",
            )
        }),
    }
}

fn library() -> std::result::Result<Selected, String> {
    let suite = warren_cipher::load().map_err(|why| why.to_string())?;
    Ok(Selected { suite, why: None })
}

fn ring(why: String) -> Selected {
    Selected { suite: Suite::RING, why: Some(why) }
}

impl From<&Selected> for Cipher {
    fn from(selected: &Selected) -> Self {
        Self { name: selected.suite.name(), why: selected.why.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_is_used_on_request_and_where_nothing_else_is_available() {
        assert!(find(Demand::Ring).unwrap().suite.is_ring());
        let (auto, required) = (find(Demand::Auto).unwrap(), find(Demand::IpsecMb));
        assert_eq!(auto.suite.is_ring(), required.is_err());
        assert_eq!(auto.suite.is_ring(), auto.why.is_some());
        assert_eq!(preview(), Cipher::from(&auto));
    }
}
