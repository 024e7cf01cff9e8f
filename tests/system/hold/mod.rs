//! `tandem hold` as a user starts it: the command runs while the role is led, and is gone before
//! another runs, also if `tandem hold`, its keeper or the brokers fail.

mod ends;
mod kept_up;
mod observed;
mod refused;
mod runs;
mod scheduler;
mod sidecar;
