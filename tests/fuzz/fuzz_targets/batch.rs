//! libFuzzer on `targets::batch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem::targets::batch(bytes));
