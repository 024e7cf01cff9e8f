//! The live view of a topology that is kept up: current leaders, events, and the state of the
//! objective. Available as values, as lines of text, and as a page on a terminal.
//!
//! ```text
//!   facts, and events of the live fold --> Table --> Happening --> lines, status socket
//!                                            |
//!                            live fold ----> +-----> Picture ----> status, Screen
//! ```
//!
//! This room only presents; it decides and judges nothing.

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
pub use reasons::{LostPicture, ReasonsPicture, RefusedPicture, StallsPicture, UnconnectedPicture};
pub use screen::{KeyAction, Screen};
pub use table::{Moment, Table};
