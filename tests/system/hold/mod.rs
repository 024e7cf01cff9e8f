//! `tandem hold` as a user starts it: the command runs while the role is led, and is gone before
//! another runs, whatever happens to `tandem hold`, to its keeper and to the brokers.

mod ends;
mod kept_up;
mod refused;
mod runs;
mod scheduler;
mod sidecar;
