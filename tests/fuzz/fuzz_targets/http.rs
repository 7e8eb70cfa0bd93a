//! See `warren_proxy::fuzz::http`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| warren_proxy::fuzz::http(bytes));
