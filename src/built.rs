//! The commit that this program was built from, found by `build.rs`. Results contain it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many digits of the commit are shown, enough for git.
const SHOWN: usize = 12;

/// What `tandem --version` prints after the name.
pub(crate) const VERSION: &str = match (env!("TANDEM_COMMIT").is_empty(), DIRTY) {
    (true, _) => concat!(env!("CARGO_PKG_VERSION"), " (commit unknown)"),
    (false, false) => {
        concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("TANDEM_COMMIT"), ")")
    }
    (false, true) => {
        concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("TANDEM_COMMIT"), ", dirty)")
    }
};

/// Whether the sources differ from the commit.
const DIRTY: bool = matches!(env!("TANDEM_DIRTY").as_bytes(), b"true");

/// The commit of a build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Built {
    /// The full hash.
    pub commit: String,
    /// Whether the sources differed from the commit.
    pub dirty: bool,
}

impl Built {
    /// The commit of this program; `None` if it was built from sources without git.
    #[must_use]
    pub fn this() -> Option<Self> {
        let commit = env!("TANDEM_COMMIT");
        (!commit.is_empty()).then(|| Self { commit: commit.to_owned(), dirty: DIRTY })
    }
}

impl std::fmt::Display for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dirty = if self.dirty { ", dirty" } else { "" };
        write!(f, "{}{dirty}", self.commit.get(..SHOWN).unwrap_or(&self.commit))
    }
}
