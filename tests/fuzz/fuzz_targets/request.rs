//! libFuzzer on `targets::request`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem::targets::request(bytes));
