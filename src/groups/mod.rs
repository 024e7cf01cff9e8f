//! groups.
