//! The socket on which a run that goes on is asked how it stands, and both ends of it.
//!
//! ```text
//!  tandem up ---> Desk ----- picture, events ----> Source
//!                  ^
//!                  |  one line asks, lines answer; JSON
//!  tandem status, events ---> Door
//! ```
//!
//! The socket stands in `$XDG_STATE_HOME/tandem/up`, in a folder that only its owner may enter, and
//! takes no word from another user. Who asks sends one line, `{"tandem":1,"ask":"status"}` or
//! `{"tandem":1,"ask":"events","follow":true}`, of [`ASK_MAX`] bytes at most. Each line of the
//! answer is an object with `tandem`, the version, and one key more: `status`, `event`, `end` (all
//! was said), `dropped` (who asks is too slow, and is told no more) or `refused`. The answer to
//! `events` begins with a `status`.
//!
//! Everything is bounded: how many ask at once, what one may send, how far one may be behind, and
//! how long one may take to read. Who does not read disturbs nobody.

mod ask;
mod desk;
mod door;
mod error;
mod serve;
mod words;

pub use ask::Answers;
pub use desk::Desk;
pub use door::{Door, doors, folder};
pub use error::InquiryError;
pub use serve::{Feed, Source};
pub use words::{ANSWER_MAX, ASK_MAX, Ask, Request, Said, VERSION};
