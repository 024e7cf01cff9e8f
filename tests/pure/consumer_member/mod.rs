//! The member's side of the newer group protocol (KIP-848): transcripts, and whole groups in
//! virtual time against the coordinator of the embedded broker.

mod faults;
mod silence;
mod transcripts;
mod world;
mod worlds;
