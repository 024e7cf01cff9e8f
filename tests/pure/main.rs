//! The pure rooms: values in, values out. No process, no cluster, no clock.

mod accidents;
mod bounds;
mod claims;
mod coordinator;
mod coordinator_random;
mod disturbed;
mod fold;
mod health;
mod journal;
mod limits;
mod live;
mod live_view;
mod membership;
mod neli;
mod paper;
mod plan;
mod planted;
mod rolling;
mod schedule;
mod standing;
mod statistics;
mod terms;
mod timeline;
mod verdict;
mod windows;
mod wire;
