//! libFuzzer on `targets::answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem::targets::answer(bytes));
