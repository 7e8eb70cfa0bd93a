//! See `warren_proxy::fuzz::dns`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warren_proxy::fuzz::dns(bytes));
