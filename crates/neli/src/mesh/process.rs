//! The process of a member. Two processes may bear the name of one life by mistake, and the death
//! of one is not that of the other.

use std::fmt;

use crate::Statement;
use tandem_facts::ids::Life;

/// One process of one life.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Its name and incarnation.
    pub life: Life,
    /// A number drawn at random.
    pub number: u64,
}

impl Process {
    /// The process that stated this.
    #[must_use]
    pub fn of(statement: &Statement) -> Self {
        Self { life: statement.life.clone(), number: statement.process }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.life, f)
    }
}
