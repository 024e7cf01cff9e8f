//! The embedded broker and its clients: how soon claims end and roles move, and what the
//! coordinator answers in real time.

mod fast;
mod parity;
mod promises;
mod reading;
