//! `tandem hold` as a user starts it: the command runs while the role is led, and is gone before
//! another runs, also if `tandem hold`, its keeper or the brokers fail.

mod apart;
mod departed;
mod ends;
mod inherited;
mod kept_up;
mod linked;
mod observed;
mod ordered;
mod promised;
mod referee;
mod refused;
mod runs;
mod scheduler;
mod sidecar;
mod unhealthy;
mod unkillable;
mod upgraded;
mod versions;
