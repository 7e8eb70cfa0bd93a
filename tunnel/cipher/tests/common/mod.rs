//! What the tests compare.

use std::sync::OnceLock;

use warren_cipher::{Suite, load_from};

/// ring, and the library of Debian's package, which is unpacked into the cache if the machine does not have it.
pub(crate) fn suites() -> [Suite; 2] {
    static LIBRARY: OnceLock<Suite> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let path = "usr/lib/x86_64-linux-gnu/libIPSec_MB.so.1";
        let file = warren_programs::unpacked("libipsec-mb1", path).unwrap();
        load_from(&file).unwrap()
    });
    [Suite::RING, *library]
}
