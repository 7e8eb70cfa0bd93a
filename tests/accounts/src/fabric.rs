//! The fabric of a run: what marks its objects, and when it began.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the fabric of every run begins with.
pub const PREFIX: &str = "warren-acc-";

/// `warren-acc-SECONDS-RANDOM`. Few objects of a cloud say when they were created, so the name says when the run began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fabric {
    name: String,
    began: u64,
}

impl Fabric {
    /// The fabric of a run that begins now.
    pub fn new(now: SystemTime, random: u32) -> Fabric {
        let began = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Fabric { name: format!("{PREFIX}{began}-{random:08x}"), began }
    }

    /// The fabric of this name, if it is that of a run. Others are never touched.
    pub fn parse(name: &str) -> Option<Fabric> {
        let (began, random) = name.strip_prefix(PREFIX)?.split_once('-')?;
        let hex = random.len() == 8 && random.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let began = began.parse().ok().filter(|_| hex)?;
        Some(Fabric { name: name.to_owned(), began })
    }

    /// The name, which is a tag of every object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long ago the run began.
    pub fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(UNIX_EPOCH + Duration::from_secs(self.began)).unwrap_or_default()
    }
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_says_when_its_run_began_and_others_are_none() {
        let then = UNIX_EPOCH + Duration::from_secs(1_795_410_618);
        let fabric = Fabric::new(then, 0xab);
        assert_eq!(fabric.name(), "warren-acc-1795410618-000000ab");
        assert_eq!(Fabric::parse(fabric.name()).as_ref(), Some(&fabric));
        assert_eq!(fabric.age(then + Duration::from_secs(90)), Duration::from_secs(90));
        assert_eq!(fabric.age(UNIX_EPOCH), Duration::ZERO, "a clock that runs behind");
        for other in [
            "llm-training",
            "warren-acc-",
            "warren-acc-prod",
            "warren-acc-1795410618-prod",
            "warren-acc-x-000000ab",
            "my-warren-acc-1795410618-000000ab",
        ] {
            assert_eq!(Fabric::parse(other), None, "{other}");
        }
    }
}
