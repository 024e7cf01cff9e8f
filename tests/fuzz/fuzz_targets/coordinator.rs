//! libFuzzer on `targets::coordinator`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem::targets::coordinator(bytes));
