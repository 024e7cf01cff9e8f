//! What `deploy/schema` says of the files that Tandem writes: its schemas accept them, and its page
//! is enough to compute the figures of a run again. Needs Python with venv.

mod hindered;
mod live;
mod oracle;
pub(crate) mod python;
mod schemas;
