//! The mesh: transcripts, and random deaths in networks of meshes.

mod random;
mod transcripts;
