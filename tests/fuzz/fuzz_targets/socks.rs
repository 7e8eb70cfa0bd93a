//! See `warren_proxy::fuzz::socks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warren_proxy::fuzz::socks(bytes));
