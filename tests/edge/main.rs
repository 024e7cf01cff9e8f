//! The fault proxy.

mod proxy;
