//! `tandem hold` on a quiet host: how soon a command ends, how long orders hold, and what observers
//! count while it goes on.

mod ends;
mod gone;
mod observed;
mod observed_late;
mod ordered;
mod ordered_apart;
mod ordered_cuts;
mod promised;
mod unkillable;
