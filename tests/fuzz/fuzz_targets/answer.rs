//! libFuzzer on `targets::answer`.

#![no_main]
#![allow(dead_code, unused_imports, reason = "each target uses its own")]

#[path = "../targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::answer(bytes));
