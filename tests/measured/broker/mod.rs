//! The embedded broker and its clients: how soon claims end and roles move, in real time.

mod fast;
mod promises;
mod reading;
