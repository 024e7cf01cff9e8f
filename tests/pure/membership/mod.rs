//! The member's side of a consumer group: transcripts, assignors, and whole groups in virtual time
//! against the coordinator of the embedded broker.

mod assignors;
mod bytes;
mod checks;
mod faults;
mod fence_lives;
mod fences;
mod groups;
mod leaders;
mod network;
mod rules;
mod silence;
mod starved;
mod transcripts;
mod world;
