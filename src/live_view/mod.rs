//! What is shown of a topology that is kept up: who leads what now, what happened, and what is left
//! of the objective; as values, as lines, and on a terminal.
//!
//! ```text
//!   facts, and what the live fold tells of them --> Table --> Happening --> lines, sockets
//!                                                     |
//!                    how it stands: the live fold --> +-----> Picture ----> status, Screen
//! ```
//!
//! Nothing is decided or judged here.

mod event;
mod flow;
mod happening;
mod lines;
mod open;
mod paint;
mod picture;
mod reasons;
mod roles;
mod screen;
mod table;

pub use event::{Event, Happening, ROLES_MAX};
pub use lines::{clock, farewell, line, summary};
pub use picture::{
    BrokerPicture, Counts, GroupPicture, JournalPicture, Level, MemberPicture, Picture, Promise,
    RolePicture, Run,
};
pub use reasons::{LostPicture, ReasonsPicture, StallsPicture, UnconnectedPicture};
pub use screen::{Screen, Stroke};
pub use table::{Moment, Table};
