//! `tandem hold` as a user starts it: the command runs while the role is led, and is gone before
//! another runs, also if `tandem hold`, its keeper or the brokers fail.

mod departed;
mod ends;
mod gone;
mod kept_up;
mod linked;
mod observed;
mod observed_late;
mod ordered;
mod ordered_apart;
mod ordered_cuts;
mod promised;
mod refused;
mod runs;
mod scheduler;
mod sidecar;
mod unhealthy;
mod unkillable;
mod versions;
