//! What the kernel of this machine says: who holds the other end of a connection, whose a file is,
//! how many descriptors a process may open.

mod callers;
mod descriptors;
mod owner;
mod peer;

pub use callers::{Callers, Refusal, user};
pub use descriptors::{Descriptors, descriptors, raise_descriptors};
pub use owner::is_ours_alone;
pub use peer::holder;
